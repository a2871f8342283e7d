"""Typed JSON: parameters, class labels and attributes in a model file, with their Python types and those of arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

NUMERIC = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in ("bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
}
MAX_TEXT = 2**26  # characters of an array of text, whose elements are all as wide as the widest
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(value: object, name: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"float": str(value)}
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return {type(value).__name__: [encode(item, name) for item in value]}
    if type(value) is dict:
        return {"dict": [[encode(key, name), encode(item, name)] for key, item in value.items()]}
    if isinstance(value, np.ndarray):
        return {"array": encode_array(value, name)}
    if isinstance(value, (np.random.RandomState, np.random.Generator)):
        return None  # its state is no setting
    raise TypeError(
        f"{name} is a {type(value).__module__}.{type(value).__qualname__}, which a model file cannot hold; "
        f"set {name} to plain values (numbers, text, lists, arrays), or use skops.io.dump or joblib.dump."
    )


def decode(document: object) -> Any:
    if document is None or type(document) in (bool, int, str):
        return document
    if type(document) is float and math.isfinite(document):
        return document
    if isinstance(document, dict) and len(document) == 1:
        ((kind, content),) = document.items()
        if kind == "float" and isinstance(content, str) and content in _SPECIAL:
            return _SPECIAL[content]
        if kind == "list" and isinstance(content, list):
            return [decode(item) for item in content]
        if kind == "tuple" and isinstance(content, list):
            return tuple(decode(item) for item in content)
        if kind == "array" and isinstance(content, dict):
            return decode_array(content)
        if kind == "dict" and isinstance(content, list):
            for item in content:
                if not isinstance(item, list) or len(item) != 2 or isinstance(item[0], (dict, list)):
                    raise ValueError("a dict holds something that is no pair of key and value")
            return {decode(key): decode(item) for key, item in content}
    raise ValueError(f"{str(document)[:60]!r} stands for no value")


def encode_array(array: NDArray[Any], name: str) -> dict[str, Any]:
    kind = "str" if array.dtype.kind == "U" else array.dtype.name
    if array.ndim != 1 or (kind not in NUMERIC and kind not in ("str", "object")):
        raise TypeError(
            f"{name} is an array of {array.dtype} and shape {array.shape}; a model file holds vectors of "
            "booleans, numbers or text. Give lists of these instead."
        )
    for item in array.tolist():
        if isinstance(item, (list, tuple, dict, np.ndarray)):
            raise TypeError(
                f"{name} holds a {type(item).__name__}; an array in a model file holds booleans, numbers or text. Use "
                "skops.io.dump or joblib.dump."
            )
    values = [encode(item, name) for item in array.tolist()]
    if kind == "str":
        _check_width(values, name)
    return {"dtype": kind, "values": values}


def _check_width(values: list[str], name: str) -> None:
    if (characters := len(values) * max(map(len, values), default=0)) > MAX_TEXT:
        raise ValueError(f"{name} takes {characters:,} characters as an array; at most {MAX_TEXT:,} are stored.")


def decode_array(document: dict[str, Any]) -> NDArray[Any]:
    kind = field(document, "dtype", str)
    values = [decode(item) for item in field(document, "values", list)]
    allowed: tuple[type, ...]
    if kind == "object":
        dtype, allowed = np.dtype(object), (bool, int, float, str, type(None))
    elif kind == "str":
        dtype, allowed = np.dtype(str), (str,)
    elif kind in NUMERIC:
        dtype = NUMERIC[kind]
        allowed = ({"b": bool, "f": float}.get(dtype.kind, int),)
    else:
        raise ValueError(f"an array has the unknown type {kind!r}")
    for value in values:
        if type(value) not in allowed:
            raise ValueError(f"an array of {kind} holds {str(value)[:60]!r}")
    if kind == "str":
        _check_width(values, "an array of text")
    try:
        return np.array(values, dtype=dtype)
    except OverflowError as error:
        raise ValueError(f"an array of {kind} holds a number out of range") from error


def field(document: dict[str, Any], name: str, *types: type | None) -> Any:
    if name not in document:
        raise ValueError(f"{name!r} is absent")
    value = document[name]
    if type(value) not in [type(None) if kind is None else kind for kind in types]:
        wanted = " or ".join("null" if kind is None else kind.__name__ for kind in types)
        raise ValueError(f"{name!r} is a {type(value).__name__}; it must be {wanted}")
    return value


class NamedParameters:
    """Base of dataclasses, such as links and losses, that a file stores by name and parameters."""

    name: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Return the name and the parameters as JSON values."""
        return {"name": self.name, **asdict(self)}  # type: ignore[call-overload]  # subclasses are dataclasses


T = TypeVar("T", bound=NamedParameters)


def as_float(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise ValueError(f"{name} is {value!r}; it must be a number.")
    try:
        return float(value)
    except OverflowError:  # an integer
        return math.inf


def read_named_parameters(stored: object, table: Mapping[str, type[T]], kind: str) -> T:
    if not isinstance(stored, dict):
        raise ValueError(f"{kind} is {type(stored).__name__}; it must be an object with a name.")
    name = stored.get("name")
    if not isinstance(name, str) or name not in table:
        raise ValueError(f"{kind} name is {name!r}; it must be one of {', '.join(table)}.")
    numbers = {key: value for key, value in stored.items() if key != "name"}
    known = {field.name for field in fields(table[name])}  # type: ignore[arg-type]  # all of them are dataclasses
    if unknown := numbers.keys() - known:
        raise ValueError(
            f"{kind} {name!r} has no {min(unknown, key=repr)!r}; it has {sorted(known) or 'nothing else'}."
        )
    try:
        return table[name](**numbers)
    except TypeError as error:  # text or a list where a number must be
        raise ValueError(f"{kind} {name!r} cannot have {numbers}: {error}") from error
