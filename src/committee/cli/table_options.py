"""The options by which every command that reads tables is told how they are written and which columns to take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import typer

from committee.cli.standard_input import standard_input_as_file
from committee.cli.terminal import errors_in_one_line
from committee.data.readers.file_format import DATE_ORDERS, FileFormat

Separator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        help="Between the cells of text files, such as ';' or tab; by default found out.",
        show_default=False,
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar=".|,", help="Decimal mark of text files; by default found out.", show_default=False),
]
Encoding = Annotated[
    str | None,
    typer.Option(help="Encoding of text files, such as cp1252; by default UTF-8.", show_default=False),
]
Sheet = Annotated[
    str | None,
    typer.Option(help="Sheet of a spreadsheet, by name or number; by default the first.", show_default=False),
]
Missing = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B",
        help="Cells that mean missing, such as '?,n/a,-999', besides empty ones, NA, NaN and null. A model remembers"
        " those that it was fitted with.",
        show_default=False,
    ),
]
Dates = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(DATE_ORDERS),
        help="How 01/02/2024 is read; by default as other cells of the column, or the model, settle it. iso: only what"
        " begins with the year is a date.",
        show_default=False,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="A,B", help="Columns to learn from though they look like identifiers of rows.", show_default=False
    ),
]
FILES = "CSV, TSV, JSON lines (these also .gz), Parquet, Feather, .xlsx or .ods, or one of them in a .zip"
"""Kinds of files, for the help."""

Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns to leave out; '' is one without a name.", show_default=False),
]


@dataclass(frozen=True)
class TableOptions:
    """What is said on the command line of tables; None where nothing is."""

    sep: Separator = None
    decimal: Decimal = None
    encoding: Encoding = None
    sheet: Sheet = None
    missing: Missing = None
    dates: Dates = None
    drop: Drop = None

    @property
    def form(self) -> FileFormat:
        """How files are written; ``ValueError`` for what no file can be."""
        return FileFormat.of_words(
            self.sep, self.decimal, self.encoding, self.sheet, split_names(self.missing), self.dates
        )

    @property
    def dropped(self) -> tuple[str, ...]:
        """Columns to leave out."""
        return split_names(self.drop)


@dataclass(frozen=True)
class TrainingOptions(TableOptions):
    """The same of a table that is learned from."""

    keep: Keep = None

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns that are learned from, whatever they look like."""
        return split_names(self.keep)


def takes_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command these options, in the place of its parameter ``table``; its `data` may be ``-``.

    The parameter is annotated as `TableOptions`, or `TrainingOptions` where the table is learned from.

    Examples
    --------
    >>> @takes_table_options
    ... def show(data: str, table: TableOptions) -> None:
    ...     print(data, table.dropped)
    >>> show("a.csv", drop=["x,y"])
    a.csv ('x', 'y')
    """
    signature = inspect.signature(command, eval_str=True)
    kind: type[TableOptions] = signature.parameters["table"].annotation
    names = [field.name for field in fields(kind)]

    @functools.wraps(command)
    def with_options(*arguments: Any, **options: Any) -> None:
        of_table = {name: options.pop(name) for name in names if name in options}
        given = options.get("data")
        if given is None:
            command(*arguments, table=kind(**of_table), **options)
            return
        several = isinstance(given, list)
        named = given if several else [given]
        with errors_in_one_line(options.get("debug", False)), standard_input_as_file(named) as data:
            options["data"] = data if several else data[0]
            command(*arguments, table=kind(**of_table), **options)

    own = inspect.signature(kind, eval_str=True).parameters
    given: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        added = own.values() if name == "table" else [parameter]
        given += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in added]
    with_options.__signature__ = signature.replace(parameters=given)  # type: ignore[attr-defined]
    return with_options


def split_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Turn ``--drop a,b --drop c`` into names; an empty value is the column without a name.

    Examples
    --------
    >>> split_names(["a,b", "c"]), split_names([""]), split_names(None)
    (('a', 'b', 'c'), ('',), ())
    """
    found: list[str] = []
    for value in values or ():
        names = [name.strip() for name in value.split(",")]
        found += names if names == [""] else [name for name in names if name]
    return tuple(found)
