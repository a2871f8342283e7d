"""``committee fit``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from committee import MODELS
from committee.cli.columns import Categorical, Drop, look_at_columns, split_names
from committee.cli.files import check_writable
from committee.cli.terminal import Debug, errors_in_one_line, notes_on_warnings, say
from committee.report.models import PEERS


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
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="File from which the same command goes on if it is killed; removed when MODEL is saved."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Fit a learner on a table and save it."""
    with errors_in_one_line(debug):
        import time

        from committee.data.read import read_table, split_target
        from committee.report.inspection import describe_margins

        check_writable(output, checkpoint, read=[data])
        learner = _learner(model, parameter or [], seed)
        frame = read_table(data, categorical=split_names(categorical) or (), drop=split_names(drop) or ())
        X, y = split_target(frame, target)
        look_at_columns(X)
        if checkpoint is not None and checkpoint.exists():
            say(f"note: going on from {checkpoint}")
        start = time.perf_counter()
        with notes_on_warnings():
            learner.fit(X, y, checkpoint=checkpoint)
        seconds = time.perf_counter() - start
        try:
            learner.save(output)
        except TypeError as error:
            raise ValueError(str(error)) from error
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
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
