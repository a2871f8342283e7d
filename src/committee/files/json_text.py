"""JSON of a model file, measured before it is taken apart."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from committee.files.tensors import Document

MAX_VALUES = 2**22
"""Values of a document or a header, counted by the marks between them. Each becomes an object of up to 80 bytes,
however few bytes it has in the file."""


def parse(text: str, what: str) -> Document:
    """Take an object in JSON apart; errors call it `what`.

    Raises
    ------
    ValueError
        If it is no JSON, no object, or holds more than `MAX_VALUES` values.

    Examples
    --------
    >>> from committee.files.json_text import parse
    >>> parse('{"n_features": 3}', "document")
    {'n_features': 3}
    """
    if (n_values := _count_values(text)) > MAX_VALUES:
        raise ValueError(f"its {what} holds up to {n_values:,} values; at most {MAX_VALUES:,} are read")
    try:
        parsed = json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise ValueError(f"its {what} is no JSON, so it is no safetensors file or damaged ({error})") from error
    if type(parsed) is not dict:
        raise ValueError(f"its {what} is no JSON object")
    return parsed


def _count_values(text: str) -> int:
    """A bound on the number of values: marks outside of strings."""
    if len(text) <= MAX_VALUES:
        return 0
    without_escapes = text.replace("\\\\", "").replace('\\"', "")
    marks = re.sub('"[^"]*"', "", without_escapes)
    return sum(map(marks.count, "[{,:"))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
