"""Messages about tables in the words of Python: parameters in place of options of the command line."""

from __future__ import annotations

import re

_OPTIONS = {"sep": "separator", "skip-lines": "skip_lines", "no-header": "header=False", "strict": "strict=True"}
_COLUMN = re.compile(r"--(keep|drop|categorical) ('[^']*'|\S+?)(?= learns| takes| makes|,| when)")
_CHOICE = re.compile(r"--(dates|missing|encoding) (day-first|month-first|iso|inf|cp1252)\b")


def in_parameters(text: str) -> str:
    """Replace options of the command line in a message by parameters of `TableReader`."""
    text = _COLUMN.sub(lambda found: f"{found[1]}={[found[2].strip(chr(39))]!r}", text)
    text = _CHOICE.sub(lambda found: f"{found[1]}={[found[2]] if found[1] == 'missing' else found[2]!r}", text)
    return re.sub(
        r"--(sep|skip-lines|no-header|strict|keep|drop|categorical|dates|missing|encoding|decimal|sheet)\b",
        lambda found: _OPTIONS.get(found[1], found[1]),
        text,
    )
