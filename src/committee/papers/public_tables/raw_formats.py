"""Rows of cells as text, from the formats that public tables come in."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from committee.papers.public_tables.compress import decompressed

WHITESPACE = " "
"""As a delimiter: any run of blanks and tabs."""


@dataclass(frozen=True)
class RawFormat:
    """How the rows stand in a file."""

    kind: str = "text"
    """"text": delimited lines; "matlab": the matrices ``X`` and ``Y`` of a .mat file, the label last."""
    delimiter: str = ","
    quote: str = '"'
    header_lines: int = 0
    """Lines before the first row."""
    after: str | None = None
    """The line, in any case, before the first row, such as an ARFF file's ``@data``."""
    compressed: bool = False
    """By UNIX ``compress`` (a file ``.Z``)."""

    def rows(self, content: bytes) -> list[list[str]]:
        """Return the cells of every row, stripped of blanks.

        Raises
        ------
        ValueError
            If the content is not of this format.

        Examples
        --------
        >>> from committee.papers.public_tables.raw_formats import RawFormat
        >>> RawFormat(after="@data", quote="'").rows(b"@relation r\\n@DATA\\n% a comment\\n1, 'a b'\\n")
        [['1', 'a b']]
        """
        if self.compressed:
            content = decompressed(content)
        return _matrices(content) if self.kind == "matlab" else list(self._lines(content))

    def _lines(self, content: bytes) -> Iterator[list[str]]:
        lines = iter(content.decode("utf-8-sig").splitlines())
        for _ in range(self.header_lines):
            next(lines, None)
        if self.after is not None and not any(line.strip().lower() == self.after for line in lines):
            raise ValueError(f"there is no line {self.after!r} before the rows")
        told = (line for line in lines if line.strip() and not line.startswith("%"))
        if self.delimiter == WHITESPACE:
            yield from (line.split() for line in told)
            return
        for cells in csv.reader(told, delimiter=self.delimiter, quotechar=self.quote, skipinitialspace=True):
            yield [cell.strip() for cell in cells]


def _matrices(content: bytes) -> list[list[str]]:
    """Whole numbers, which the only such file has."""
    from scipy.io import loadmat

    opened: Any = BytesIO(content)
    found = loadmat(opened)
    return [
        [str(int(value)) for value in (*row, *label)]
        for row, label in zip(found["X"].tolist(), found["Y"].tolist(), strict=True)
    ]
