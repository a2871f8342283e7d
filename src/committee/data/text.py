"""Messages to users: names, numbers, amounts and notes; warnings at the user's line, errors of wrong arguments."""

from __future__ import annotations

import inspect
import re
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import wraps
from numbers import Real
from typing import Any, TypeVar, cast

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # format characters that words of some languages need

MOST_NAMED = 12

_UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def check_names(wanted: Iterable[str], known: Sequence[str], where: str) -> tuple[str, ...]:
    if isinstance(wanted, str):
        raise TypeError(f"{where} must be a list of names, got the string {wanted!r}; write [{wanted!r}]")
    names = tuple(wanted)
    present = set(known)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{where} must hold names (str), got {name!r} of type {type(name).__name__}")
        if name not in present:
            raise ValueError(f"{where} names {name!r}, which is not there; {suggest_names(name, known)}")
    return names


def suggest_names(name: str, known: Sequence[str]) -> str:
    folded = {other.strip().casefold(): other for other in known if isinstance(other, str)}  # pandas has others
    close = [folded[key] for key in get_close_matches(name.strip().casefold(), list(folded), n=3)]
    if close:
        return f"did you mean {' or '.join(map(repr, close))}?"
    return f"there are {quoted(known)}"


def quoted(values: Iterable[object], limit: int = 20) -> str:
    shown = list(values)
    text = ", ".join(map(repr, shown[:limit]))
    return text if len(shown) <= limit else f"{text} and {len(shown) - limit} more"


def is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # JSON can spell half a surrogate pair
        return False
    return True


def printable(text: str) -> str:
    return "\n".join(line if line.isprintable() else "".join(map(_shown, line)) for line in text.split("\n"))


def _shown(character: str) -> str:
    hidden = character not in _JOINERS and unicodedata.category(character) in _HIDDEN
    return repr(character)[1:-1] if hidden else character


_OF_COLUMN = re.compile(r"column ('[^']*'|\"[^\"]*\")")
_OPTION_VALUE = re.compile(r"(--[a-z-]+) ('[^']*'|[^\s;,]+)")
_VALUES = re.compile(r"'[^']*'|\"[^\"]*\"|\d[\d,.]*\d|\d")


def merge_alike(notes: Iterable[str]) -> list[str]:
    alike: dict[str, list[str]] = {}
    for note in dict.fromkeys(notes):
        template = note
        if _OF_COLUMN.match(note):
            template = re.sub(r"\?[?,() ]*", "?", _VALUES.sub("?", _OPTION_VALUE.sub(r"\1 ?", note)))
        alike.setdefault(template, []).append(note)
    merged = []
    for same in alike.values():
        if len(same) < 3:
            merged += same
            continue
        names = [found[1] for each in same[1:] if (found := _OF_COLUMN.match(each))]
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        merged.append(f"{same[0]}; and similarly for the columns {', '.join(names[:MOST_NAMED])}{more}")
    return merged


def shortened(text: str, most: int = 28) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def brief_repr(value: object) -> str:
    return shortened(" ".join(repr(value).split()), 80)


def pluralize(n: float, one: str, several: str = "") -> str:
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def parse_bytes(limit: float | str, name: str = "memory_limit") -> float:
    if isinstance(limit, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([a-z]*)\s*", limit.lower())
        amount = float(found[1]) * _UNITS.get(found[2], 0) if found else 0.0
    else:
        amount = float(limit) if isinstance(limit, Real) and not isinstance(limit, bool) else 0.0
    if not amount > 0.0:
        raise ValueError(f"{name}={limit!r} is no number of bytes; give bytes, or text such as '3 GB' or '500 MiB'.")
    return amount


def byte_text(amount: float) -> str:
    """Return bytes as text, rounded up: ``3 GB``, ``1.24 MB``."""
    power = max(1, next((k for k in range(1, 5) if amount <= 999.0 * 1000.0**k), 4))
    scaled, unit = amount / 1000.0**power, ("kB", "MB", "GB", "TB")[power - 1]
    digits = 0 if scaled > 99.0 else 1 if scaled > 9.9 else 2
    rounded = -(-round(scaled * 10**digits, 9) // 1) / 10**digits
    return f"{rounded:.{digits}f}".rstrip("0").rstrip(".") + f" {unit}" if digits else f"{rounded:.0f} {unit}"


_OWN = ("committee", "sklearn", "contextlib", "joblib")  # packages whose frames are skipped


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost frame outside the library and the packages that call it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OWN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def reworded_errors(words: Callable[[str], str]) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        if (text := words(str(error))) == str(error):
            raise
        raise ValueError(text) from error


Method = TypeVar("Method", bound=Callable[..., Any])


class NamedCalls:
    """Base of classes whose errors of wrong arguments name the class of the object."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(cls, name, named_call(value))

    @classmethod
    def _keyword_hint(cls, method: str, keyword: str) -> str:
        return ""


def named_call(method: Method) -> Method:
    @wraps(method)
    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        try:
            return method(self, *args, **keywords)
        except TypeError:
            if (message := _refusal(method, self, args, keywords)) is None:
                raise
        raise TypeError(message)

    return cast("Method", call)


def _refusal(method: Any, self: Any, args: tuple[Any, ...], keywords: dict[str, Any]) -> str | None:
    # None if the arguments fit, so that the error was raised within the method
    signature = inspect.signature(method)
    try:
        signature.bind(self, *args, **keywords)
    except TypeError as error:
        reason = str(error)
    else:
        return None
    _, *known = signature.parameters.values()
    kind, name = type(self), method.__name__
    called = kind.__name__ if name == "__init__" else f"{kind.__name__}.{name}"
    if any(each.kind is each.VAR_KEYWORD for each in known):
        return f"{called}(): {reason}."
    if (unknown := next((each for each in keywords if each not in signature.parameters), None)) is not None:
        hint = kind._keyword_hint(name, unknown) if isinstance(self, NamedCalls) else ""
        hint = hint or (f"there are {quoted(each.name for each in known)}" if known else "it has none")
        return f"{called}() got an unexpected keyword argument {unknown!r}; {hint}{'.' * (hint[-1] != '?')}"
    if reason == "too many positional arguments":
        by_place = [each.name for each in known if each.kind is each.POSITIONAL_OR_KEYWORD]
        only = f"only {', '.join(by_place)} may have no name" if by_place else "all need names"
        return f"{called}() got {len(args)} arguments without names; {only}."
    return f"{called}(): {reason}."
