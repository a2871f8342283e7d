"""Small frozen objects - links, losses - that a file stores by their name and their numbers."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from math import inf
from typing import Any, ClassVar, TypeVar

import numpy as np


class Named:
    """An object with a `name`, and otherwise only the fields of a frozen dataclass."""

    name: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Name and numbers, as JSON can hold them; `from_json` reads them back."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]  # subclasses are dataclasses


T = TypeVar("T", bound=Named)


def float_of(name: str, value: object) -> float:
    """A number as a float, infinite beyond all floats; anything else is refused by its name."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} is {value!r}; it must be a number.")
    try:
        return float(value)
    except OverflowError:  # an integer
        return inf


def read_named(stored: object, table: Mapping[str, type[T]], kind: str) -> T:
    """The object that `Named.to_json` wrote, ``{"name": ..., ...}``; a number left out has its default.

    The table has every class that may be named; `kind` is what errors call it.

    Raises
    ------
    ValueError
        If `stored` is no dictionary, names what is not in the table, has a key that the class does not know or
        a value it refuses.
    """
    if not isinstance(stored, dict):
        raise ValueError(f"{kind} is {type(stored).__name__}; it must be an object with a name.")
    name = stored.get("name")
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"{kind} name is {name!r}; known are {', '.join(table)}.")
    numbers = {key: value for key, value in stored.items() if key != "name"}
    known = {field.name for field in fields(table[name])}  # type: ignore[arg-type]  # all of them are dataclasses
    if unknown := numbers.keys() - known:
        raise ValueError(
            f"{kind} {name!r} has no {min(unknown, key=repr)!r}; it knows {sorted(known) or 'nothing else'}."
        )
    try:
        return table[name](**numbers)
    except TypeError as error:  # text or a list where a number must be
        raise ValueError(f"{kind} {name!r} cannot have {numbers}: {error}") from error
