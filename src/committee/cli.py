"""The command line: ``committee compare``, ``fit``, ``predict``, ``inspect`` and ``papers``.

Whatever a command needs is imported inside it, so that ``committee --help`` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee import MODELS
from committee.peers import PEERS
from committee.terminal import (
    errors_in_one_line,
    note,
    notes_on_warnings,
    print_comparison,
    print_grids,
    progress_hook,
    say,
)

if TYPE_CHECKING:
    import polars as pl

    from committee.comparison import Comparison

__all__ = ["app", "main"]

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Voting ensembles for tabular data: compare, fit, predict, inspect; papers rebuilt.",
)
papers = typer.Typer(no_args_is_help=True, help="Rebuild the tables and figures of the source documents.")
app.add_typer(papers, name="papers")

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Target = Annotated[str | None, typer.Option("--target", "-t", help="Column that holds the labels.")]
Categorical = Annotated[
    list[str] | None,
    typer.Option(metavar="A,B", help="Columns of numbers that are categories.", show_default=False),
]
Drop = Annotated[list[str] | None, typer.Option(metavar="A,B", help="Columns to leave out.", show_default=False)]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"committee {version('committee')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


@app.command()
def compare(
    data: Annotated[
        Path | None,
        typer.Argument(help="Table: CSV, TSV (also .gz), Parquet or Feather.", show_default=False),
    ] = None,
    target: Target = None,
    example: Annotated[str | None, typer.Option(help="Instead of DATA: breast_cancer, digits, iris or wine.")] = None,
    models: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B", help=f"Out of {', '.join([*MODELS, *PEERS])}; by default all but abstaining_stump."
        ),
    ] = None,
    folds: Annotated[int, typer.Option(help="Stratified folds.")] = 10,
    repeats: Annotated[int, typer.Option(help="Times that folds are drawn anew.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the folds and of every model.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; more than one disturb the measured times a little.")] = 1,
    rank_by: Annotated[str, typer.Option(help="Places and tests by accuracy or log_loss.")] = "accuracy",
    categorical: Categorical = None,
    drop: Drop = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report here.")] = None,
    json: Annotated[Path | None, typer.Option(help="Write every figure as JSON here.")] = None,
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="By default if stderr is a terminal.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Compare models on the same stratified folds of a table, and say which differences mean something."""
    with errors_in_one_line(debug):
        from committee.comparison import candidates
        from committee.comparison import compare as run
        from committee.data.read import split_target

        _check_writable(report, json)
        chosen = _split(models)
        candidates(chosen)  # a mistyped name must not wait for the table to be read
        frame, target, name = _table_to_compare(data, example, target, _split(categorical), _split(drop))
        X, y = split_target(frame, target)
        notes = _look_at_columns(X)
        with notes_on_warnings(), progress_hook(progress) as hook:
            result = run(
                X,
                y,
                chosen,
                folds=folds,
                repeats=repeats,
                seed=seed,
                jobs=jobs,
                rank_by=rank_by,  # type: ignore[arg-type]
                name=name,
                target=target,
                progress=hook,
            )
        print_comparison(result)
        _write_comparison(result, json=json, report=report, notes=notes)
        if all(model.error is not None for model in result.models):
            raise ValueError("every model failed; see their errors above")


@app.command()
def fit(
    data: Annotated[Path, typer.Argument(help="Table: CSV, TSV (also .gz), Parquet or Feather.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Model file, customarily .safetensors.")],
    target: Annotated[str, typer.Option("--target", "-t", help="Column that holds the labels.")],
    model: Annotated[str, typer.Option("--model", "-m", help=f"Out of {', '.join(MODELS)}.")] = "adaboost",
    parameter: Annotated[
        list[str] | None,
        typer.Option("--parameter", "-p", metavar="NAME=VALUE", help="Set a parameter; repeat for more."),
    ] = None,
    seed: Annotated[int, typer.Option(help="random_state, unless -p sets it.")] = 0,
    categorical: Categorical = None,
    drop: Drop = None,
    debug: Debug = False,
) -> None:
    """Fit a learner on a table and save it."""
    with errors_in_one_line(debug):
        import time

        from committee.data.read import read_table, split_target
        from committee.report.inspection import describe_margins

        _check_writable(output)
        learner = _learner(model, parameter or [], seed)
        frame = read_table(data, categorical=_split(categorical) or (), drop=_split(drop) or ())
        X, y = split_target(frame, target)
        _look_at_columns(X)
        start = time.perf_counter()
        with notes_on_warnings():
            learner.fit(X, y)
        seconds = time.perf_counter() - start
        try:
            learner.save(output)
        except TypeError as error:
            raise ValueError(str(error)) from error
        committee = learner.committee_
        margins = dict(describe_margins(committee.margins(X, y)))
        say(
            f"{model}: {committee.n_voters:,} voters with {committee.n_nodes:,} nodes, learned from"
            f" {frame.height:,} rows x {X.width:,} columns in {seconds:.2f} s"
        )
        say(
            f"training accuracy {(learner.predict(X) == y).mean():.4f};"
            f" training margins: mean {margins['mean']}, minimum {margins['minimum']}"
        )
        say(f"saved to {output} ({output.stat().st_size:,} bytes)")


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="File that fit wrote.")],
    data: Annotated[Path, typer.Argument(help="Table with the columns the model learned from.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="CSV, Parquet or Feather by ending; CSV to the screen if left out."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of every class.")] = False,
    drop: Drop = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table.

    Columns are matched by name, in any order. One that the model does not know is an error, unless it is the
    only one and holds nothing but classes of the model: then it is taken for the labels and set aside.
    """
    with errors_in_one_line(debug):
        import polars as pl

        from committee import load

        _check_writable(output)
        if output is not None:
            _writer(output)  # refuses an unknown ending before any work is done
        learner: Any = load(model)
        X = _columns_of(learner, data, _split(drop) or [])
        result = pl.DataFrame({"prediction": learner.predict(X)})
        if proba:
            chances = learner.predict_proba(X)
            names = [f"probability:{label}" for label in learner.classes_]
            result = result.with_columns(pl.Series(n, chances[:, k]) for k, n in enumerate(names))
        if output is None:
            sys.stdout.write(result.write_csv())
            sys.stdout.flush()
        else:
            _write_beside(output, lambda path: _writer(output)(result, path))
            say(f"{result.height:,} predictions written to {output}")


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="File that fit wrote.")],
    data: Annotated[Path | None, typer.Option(help="Table to measure margins on.")] = None,
    target: Target = None,
    drop: Drop = None,
    report: Annotated[Path | None, typer.Option(help="HTML page of the same, with pictures.")] = None,
    debug: Debug = False,
) -> None:
    """Show what a saved model is: parameters, size, voters, margins, most used features."""
    with errors_in_one_line(debug):
        from committee import load
        from committee.report.inspection import inspection

        if (data is None) != (target is None):
            raise ValueError("--data and --target go together: margins need rows and their labels")
        learner: Any = load(model)
        X = margins = None
        if data is not None and target is not None:
            from committee.data.read import read_table, split_target

            _, y = split_target(read_table(data), target)
            X = _columns_of(learner, data, [*(_split(drop) or []), target])
            margins = learner.committee_.margins(X, _like_classes(y, learner.classes_))
        size = model.stat().st_size
        print_grids(inspection(learner, file_bytes=size, margins=margins))
        if report is not None:
            from committee.report.model_page import render_model

            page = render_model(learner, X, name=model.name, file_bytes=size, margins=margins)
            _write_beside(report, lambda path: path.write_text(page, "utf-8"))
            say(f"report written to {report}")


@papers.command("sbpmt")
def papers_sbpmt(
    data: Annotated[
        Path | None,
        typer.Option(envvar="COMMITTEE_DATA", help="Folder of tables with a catalogue.json; without, OpenML."),
    ] = None,
    tables: Annotated[list[str] | None, typer.Option(metavar="A,B", help="Tables; by default all 22.")] = None,
    figure: Annotated[int | None, typer.Option(help="Only Figure 2 (the simulation), 3 or 4.")] = None,
    settings: Annotated[str, typer.Option(help="Parameters: document or default.")] = "default",
    repeats: Annotated[int, typer.Option(help="Times that folds, or the simulation, are drawn anew.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for CSV, PNG and finished cells.")] = Path("papers-sbpmt"),
    progress: Annotated[
        bool | None, typer.Option("--progress/--no-progress", help="By default if stderr is a terminal.")
    ] = None,
    debug: Debug = False,
) -> None:
    """SBPMT (Qin and Huang): Table 2 with Figures 3 and 4, or Figure 2, beside the document's numbers.

    Broken off, the same command goes on where it stopped.
    """
    with errors_in_one_line(debug), notes_on_warnings(), progress_hook(progress) as hook:
        from committee.papers.rebuild import rebuild_sbpmt

        grids = rebuild_sbpmt(
            data,
            out,
            figure=figure,
            settings=settings,
            tables=_split(tables),
            repeats=repeats,
            seed=seed,
            jobs=jobs,
            progress=hook,
        )
    print_grids(grids)
    say(f"written to {out}")


def main() -> None:
    """Run the command line."""
    app()


# --- options ---------------------------------------------------------------------------------------------


def _split(values: list[str] | None) -> list[str] | None:
    """Turn ``--drop a,b --drop c`` into names; None where the option was not given."""
    if values is None:
        return None
    return [name.strip() for value in values for name in value.split(",") if name.strip()]


def _learner(name: str, settings: list[str], seed: int) -> Any:
    """Unfitted learner with its parameters set."""
    from committee import model as new_model
    from committee.data.names import hint_of_names

    if name not in MODELS:
        if name in PEERS:
            raise ValueError(f"{name} is a peer, to compare with, not to fit; choose out of {', '.join(MODELS)}")
        raise ValueError(f"there is no model {name!r}; {hint_of_names(name, list(MODELS))}")
    model = new_model(name)
    for setting in settings:
        parameter, equals, text = setting.partition("=")
        parameter = parameter.strip()
        if not equals or not parameter:
            raise ValueError(f"-p {setting!r} must read NAME=VALUE, as in -p n_estimators=200")
        known = model.get_params()
        if parameter not in known:
            raise ValueError(f"{name} has no parameter {parameter!r}; {hint_of_names(parameter, list(known))}")
        model.set_params(**{parameter: _value(text)})
    if model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    return model


def _value(text: str) -> Any:
    """Value of a parameter: a Python literal, the name of a learner (for a voter), or else text."""
    import ast

    from committee import model as new_model

    if text in MODELS:
        return new_model(text)
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        return text


# --- tables in -------------------------------------------------------------------------------------------


def _table_to_compare(
    data: Path | None,
    example: str | None,
    target: str | None,
    categorical: list[str] | None,
    drop: list[str] | None,
) -> tuple[pl.DataFrame, str, str]:
    """Frame, name of its label column, and name of the table."""
    from committee.data.examples import load_example
    from committee.data.names import known_names
    from committee.data.read import read_table

    if (data is None) == (example is None):
        raise ValueError("give a table: either DATA or --example, and not both")
    if example is not None:
        frame = load_example(example)
        for option, names in (("--categorical", categorical), ("--drop", drop)):
            known_names(names or (), frame.columns, option)
        import polars as pl

        frame = frame.with_columns(pl.col(categorical or []).cast(pl.String)).drop(drop or [])
        return frame, target or "target", example
    assert data is not None
    if target is None:
        raise ValueError("--target is missing: name the column that holds the labels")
    frame = read_table(data, categorical=categorical or (), drop=drop or ())
    return frame, target, data.name.partition(".")[0]


def _look_at_columns(frame: pl.DataFrame) -> list[str]:
    """Point out columns that look like identifiers, or like numbers spoilt by a few words."""
    from committee.data.read import id_like_columns, nearly_numeric_columns

    notes = [
        f"column {column.name!r} looks like an identifier ({column.reason}); drop it with --drop {column.name}"
        for column in id_like_columns(frame)
    ]
    for nearly in nearly_numeric_columns(frame):
        values = ", ".join(map(repr, nearly.values))
        notes.append(
            f"column {nearly.name!r} is read as text because {nearly.count} cell(s) are no numbers"
            f" ({values}); if they mean missing, leave them empty in the file"
        )
    for text in notes:
        note(text)
    return notes


def _columns_of(learner: Any, data: Path, drop: list[str]) -> Any:
    """Columns that the model learned from, in its order, with its types."""
    from committee.data.names import listing
    from committee.data.read import read_table

    frame = read_table(data, drop=drop)
    names, categories = learner.table_.names, learner.table_.categories
    if names is None:
        # Learned from an array: columns are matched by place.
        return frame.to_numpy()
    missing = [name for name in names if name not in frame.columns]
    extra = [name for name in frame.columns if name not in names]
    if missing:
        raise ValueError(f"{data} lacks the column(s) {listing(missing)} that the model learned from")
    if len(extra) == 1 and _holds_only(frame[extra[0]], learner.classes_):
        note(f"column {extra[0]!r} holds classes of the model: taken for the labels and set aside")
    elif extra:
        raise ValueError(
            f"{data} has the column(s) {listing(extra)} that the model does not know;"
            f" leave them out with --drop {','.join(extra)}"
        )
    # Categories of text may look like numbers in this file: then read them once more as text.
    text = [n for n, c in zip(names, categories, strict=True) if c and isinstance(c[0], str)]
    import polars as pl

    if any(frame.schema[name] not in (pl.String, pl.Categorical, pl.Enum) for name in text):
        frame = read_table(data, categorical=text, drop=drop)
    return frame.select(names)


def _holds_only(column: pl.Series, classes: Any) -> bool:
    known = {str(label) for label in classes}
    return all(str(value) in known for value in column.drop_nulls().unique().to_list())


def _like_classes(y: Any, classes: Any) -> Any:
    """Labels as the model spells them: a file may hold as numbers what was learned as text."""
    spelled = {str(label): label for label in classes}
    import numpy as np

    return np.array([spelled.get(str(label), label) for label in y.tolist()])


# --- files out -------------------------------------------------------------------------------------------


def _check_writable(*paths: Path | None) -> None:
    """Refuse a place that cannot be written before the work that would be lost."""
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise ValueError(f"{path} is a folder; give the name of a file")
        folder = path.parent
        if not folder.is_dir():
            raise ValueError(f"{path} cannot be written: there is no folder {folder}")
        if not os.access(folder, os.W_OK):
            raise ValueError(f"{path} cannot be written: no permission in {folder}")


def _write_beside(path: Path, write: Callable[[Path], object]) -> None:
    """Write to a file beside ``path`` and move it into place: nobody ever sees half a file."""
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(beside)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _write_comparison(result: Comparison, *, json: Path | None, report: Path | None, notes: list[str]) -> None:
    if json is not None:
        from json import dumps

        text = dumps(result.to_json(), indent=1, allow_nan=False) + "\n"
        _write_beside(json, lambda path: path.write_text(text, "utf-8"))
        say(f"figures written to {json}")
    if report is not None:
        from committee.report.html import render_report

        page = render_report(result, notes=notes)
        _write_beside(report, lambda path: path.write_text(page, "utf-8"))
        say(f"report written to {report}")


def _writer(path: Path) -> Callable[[pl.DataFrame, Path], object]:
    """How to write a frame, by the ending of the file."""
    import gzip

    name = path.name.lower()
    if name.endswith(".csv"):
        return lambda frame, place: frame.write_csv(place)
    if name.endswith(".csv.gz"):
        return lambda frame, place: place.write_bytes(gzip.compress(frame.write_csv().encode(), mtime=0))
    if name.endswith(".parquet"):
        return lambda frame, place: frame.write_parquet(place)
    if name.endswith((".feather", ".arrow", ".ipc")):
        return lambda frame, place: frame.write_ipc(place)
    raise ValueError(f"{path} has an unknown ending; write .csv, .csv.gz, .parquet or .feather")
