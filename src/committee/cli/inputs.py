"""Tables that commands are given: one file that is read whole, or files, folders and patterns read in pieces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from committee.cli.table_options import TableOptions

if TYPE_CHECKING:
    import polars as pl

    from committee.data.out_of_core.scan import Pieces
    from committee.data.out_of_core.sources import Piece
    from committee.data.readers.file_format import FileFormat

LARGE = 2**28
"""Bytes of a file whose predictions are made in pieces, without being asked for."""

Scratch = Annotated[
    Path | None,
    typer.Option(
        help="Folder for files that a fit in pieces needs for a while; by default the system's.", show_default=False
    ),
]


def are_in_pieces(data: Sequence[Path], memory_limit: str | None = None, scratch: Path | None = None) -> bool:
    """Say whether tables are read in pieces: several files, a folder, a pattern, or with an option that asks for it.

    Examples
    --------
    >>> are_in_pieces([Path("a.csv")]), are_in_pieces([Path("a.csv"), Path("b.csv")]), are_in_pieces([Path("*.csv")])
    (False, True, True)
    """
    from committee.data.out_of_core.found_files import ENDINGS

    if len(data) > 1 or scratch is not None:
        return True
    if memory_limit is not None and data[0].name.lower().endswith(ENDINGS):
        return True
    return data[0].is_dir() or (has_magic(str(data[0])) and not data[0].exists())


def is_large(file: Path) -> bool:
    """Say whether a file is better predicted in pieces: larger than `LARGE`, and of a kind that can be read so."""
    from committee.data.out_of_core.found_files import ENDINGS

    return file.name.lower().endswith(ENDINGS) and file.is_file() and file.stat().st_size > LARGE


def paths_of(pieces: Pieces) -> list[Path]:
    """The files that are read."""
    return [path for path, *_ in pieces.files.states]


def words_of(pieces: Pieces) -> str:
    """Say how many files are read in pieces."""
    n = len(paths_of(pieces))
    return f"{n:,} file{'s' if n > 1 else ''}, read in pieces"


def scanned(
    data: Sequence[Path],
    table: TableOptions,
    *,
    text: Sequence[str] = (),
    form: FileFormat | None = None,
    memory_limit: str | None = None,
    scratch: Path | None = None,
) -> Pieces:
    """Open files to be read in pieces, as the options or `form` say, and with the columns of `text` as text.

    Raises
    ------
    FileNotFoundError
        If there is none.
    ValueError
        If they are of several kinds, of none that is read in pieces, or an option names a column that is not there.
    """
    from committee.data.out_of_core.file_sources import TextFiles, columns_as_text
    from committee.data.out_of_core.scan import scan
    from committee.data.text import check_names

    try:
        pieces = scan([str(path) for path in data], memory_limit=memory_limit, scratch=scratch)
    except ImportError as error:
        raise ValueError(str(error)) from error
    if isinstance(pieces.source, TextFiles):
        pieces = replace(pieces, source=replace(pieces.source, form=form or table.form))
    names = list(pieces.source.names or ())
    left_out = set(check_names(table.dropped, names, "--drop"))
    source = columns_as_text(pieces.source, check_names(text, names, "--categorical"))
    return replace(pieces, source=source, columns=tuple(name for name in names if name not in left_out))


def frame_of(piece: Piece) -> pl.DataFrame:
    """Rows of a piece of files."""
    import polars as pl

    return pl.DataFrame(piece.X)


def name_of_data(data: Sequence[Path]) -> str:
    """Call a table by the files that were named, without their folders.

    Examples
    --------
    >>> name_of_data([Path("here/a.csv")]), name_of_data([Path("a.csv"), Path("b.csv"), Path("c.csv")])
    ('a.csv', 'a.csv and 2 more')
    """
    first = data[0].name or data[0].resolve().name
    return first if len(data) == 1 else f"{first} and {len(data) - 1:,} more"


def table_name(files: Sequence[Path]) -> str:
    """Name a table by its file; if there are several by their folder, or what they are called in this one.

    Examples
    --------
    >>> table_name([Path("big.csv")]), table_name([Path("big/a.csv"), Path("big/b.csv")])
    ('big', 'big')
    >>> table_name([Path("part-0.csv"), Path("part-1.csv")])
    'part'
    """
    if len(files) == 1:
        return files[0].name.partition(".")[0]
    folder = files[0].resolve().parent
    in_common = os.path.commonprefix([file.name for file in files])  # noqa: RUF071  of characters, as it says
    in_common = in_common.partition(".")[0].rstrip("-_0123456789")
    return in_common if in_common and folder == Path.cwd() else folder.name
