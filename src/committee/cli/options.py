"""Options that several commands share, and parameters of models given by ``-p``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from committee import MODELS
from committee.cli.files import standard_input_as_file
from committee.cli.terminal import error_lines
from committee.data.readers.file_format import DATE_ORDERS, FileFormat
from committee.data.text import suggest_names

FILES = "CSV, TSV, JSON lines (these also .gz), Parquet, Feather, .xlsx or .ods, or one of them in a .zip"

Categorical = Annotated[
    list[str] | None, typer.Option(metavar="A,B", help="Columns of numbers or text to learn as categories.")
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        metavar="classes|numbers",
        help="Default: classes for text, integers of few values and models of classes only, else numbers.",
    ),
]
Scratch = Annotated[
    Path | None, typer.Option(help="Folder for temporary files of a fit in chunks. Default: that of the system.")
]
ModelFile = Annotated[Path, typer.Argument(help="Model file written by fit, prune, margins or convert.")]
LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        help="Column of the labels. Default: the target of the model, or the only column that it does not use.",
    ),
]
RowsAre = Annotated[
    str,
    typer.Option(
        "--on",
        metavar="oob|validation|train",
        help="Relation of the rows to the model. oob: training rows, each predicted by its out-of-bag voters;"
        " validation: rows not used in training; train: training rows, predicted by all voters.",
    ),
]
Threshold = Annotated[
    float | None,
    typer.Option(
        help="Two classes: predict the second in order where its probability is at least this (0 to 1). Default: the"
        " class with the larger probability."
    ),
]
Progress = Annotated[
    bool | None, typer.Option("--progress/--no-progress", help="Show progress. Default: if stderr is a terminal.")
]


@dataclass(frozen=True)
class TableOptions:
    sep: Annotated[
        str | None,
        typer.Option(metavar="CHARACTER", help="Separator of text files, such as ';' or tab. Default: detected."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option(metavar=".|,", help="Decimal mark of text files. Default: detected.")
    ] = None
    encoding: Annotated[str | None, typer.Option(help="Encoding of text files, such as cp1252. Default: UTF-8.")] = None
    sheet: Annotated[
        str | None, typer.Option(help="Sheet of a spreadsheet, by name or number. Default: the first.")
    ] = None
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Cells that mean missing, such as '?,n/a,-999', besides empty ones, NA, NaN and null; 'inf' means both"
            " infinities. A model stores those that it was fitted with.",
        ),
    ] = None
    dates: Annotated[
        str | None,
        typer.Option(
            metavar="|".join(DATE_ORDERS),
            help="Order of day and month in dates such as 01/02/2024. Default: that of the model, or of other cells of"
            " the column, else day-first. iso: only dates that begin with the year.",
        ),
    ] = None
    drop: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Columns to leave out; '' is a column without a name.")
    ] = None
    skip_lines: Annotated[
        int | None, typer.Option(metavar="N", help="Lines of text files before the column names. Default: detected.")
    ] = None
    comment: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Start of lines of text files that are left out, such as '#'.")
    ] = None
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="The first line of text files is data; columns are column_1, column_2, ..."),
    ] = False

    @property
    def form(self) -> FileFormat:
        return FileFormat.of_words(
            self.sep,
            decimal=self.decimal,
            encoding=self.encoding,
            sheet=self.sheet,
            missing=split_names(self.missing),
            dates=self.dates,
            skip_lines=self.skip_lines,
            comment=self.comment,
            header=not self.no_header,
        )

    @property
    def reader_settings(self) -> dict[str, Any]:
        form = self.form
        return {field.name: getattr(form, field.name) for field in fields(form)}

    @property
    def dropped(self) -> tuple[str, ...]:
        return split_names(self.drop)


@dataclass(frozen=True)
class LabelledOptions(TableOptions):
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse rows without a target. Default: they are left out, with a note.")
    ] = False


@dataclass(frozen=True)
class TrainingOptions(LabelledOptions):
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Columns to learn from although they look like row identifiers."),
    ] = None

    @property
    def kept(self) -> tuple[str, ...]:
        return split_names(self.keep)


def takes_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of the dataclasses among its parameters as options."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        name: each.annotation for name, each in signature.parameters.items() if is_dataclass(each.annotation)
    }

    @functools.wraps(command)
    def with_options(*arguments: Any, **options: Any) -> None:
        for name, kind in groups.items():
            given = {field.name: options.pop(field.name) for field in fields(kind) if field.name in options}
            options[name] = kind(**given)
        data = options.get("data")
        if data is None:
            command(*arguments, **options)
            return
        paths = data if isinstance(data, list) else [data]
        with error_lines(options.get("debug", False)), standard_input_as_file(paths) as files:
            command(*arguments, **options | {"data": files if isinstance(data, list) else files[0]})

    parameters: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        own = inspect.signature(groups[name], eval_str=True).parameters.values() if name in groups else [parameter]
        parameters += [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_options


def split_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Split ``--drop a,b --drop c`` into names."""
    found: list[str] = []
    for value in values or ():
        names = [name.strip() for name in value.split(",")]
        # an empty value is the column without a name
        found += names if names == [""] else [name for name in names if name]
    return tuple(found)


def check_choice(option: str, given: str, known: Sequence[str]) -> None:
    if given not in known:
        raise ValueError(f"{option} {given!r} is unknown; {suggest_names(given, list(known))}")


def check_task(task: str | None) -> None:
    if task is not None:
        check_choice("--task", task, ("classes", "numbers"))


def check_time_limit(seconds: float | None) -> None:
    if seconds is not None and not seconds > 0.0:
        raise ValueError(f"--time-limit {seconds:g} must be a number of seconds above 0")


def set_parameters(learner: Any, name: str, settings: Sequence[str]) -> None:
    for setting in settings:
        parameter, equals, text = setting.partition("=")
        parameter = parameter.strip()
        if not equals or not parameter:
            raise ValueError(f"-p {setting!r} must read NAME=VALUE, as in -p n_estimators=200")
        known = learner.get_params()
        if parameter not in known:
            raise ValueError(f"{name} has no parameter {parameter!r}; {suggest_names(parameter, list(known))}")
        learner.set_params(**{parameter: parameter_value(text)})


def parameters_of_models(settings: Iterable[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        model, colon, parameter = (part.strip() for part in name.rpartition(":"))
        if not (equals and colon and model and parameter):
            raise ValueError(f"-p {setting!r} must read MODEL:NAME=VALUE, as in -p random_forest:n_estimators=200")
        found.setdefault(model, {})[parameter] = parameter_value(text)
    return found


def parameter_value(text: str) -> Any:
    import ast

    from committee import model as new_model

    if text in MODELS:
        return new_model(text)
    constants = {"true": True, "false": False, "none": None}
    if (word := text.strip().lower()) in constants:
        return constants[word]
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text
