"""Errors of calls whose arguments do not fit: they name the user's class, and the parameter that was meant."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from committee.data.text import quoted

Method = TypeVar("Method", bound=Callable[..., Any])


class NamedCalls:
    """Base of public classes, whose errors of wrong arguments name the class of the object, and none of its bases."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for name, value in list(vars(cls).items()):
            if inspect.isfunction(value) and not name.startswith("_"):
                setattr(cls, name, named_call(value))

    @classmethod
    def _keyword_hint(cls, method: str, keyword: str) -> str:
        """Return the remedy for an unknown keyword of a method, or an empty text."""
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
