"""``committee convert``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from committee.cli.files import check_writable
from committee.cli.table_options import split_names
from committee.cli.terminal import Debug, errors_in_one_line, say
from committee.data.text import pluralize


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            help="Model of scikit-learn (.skops, or a pickle), XGBoost (.json, .ubj), LightGBM (.txt) or CatBoost"
            " (.json, .cbm), of classes or of a number."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the committee, customarily .safetensors.")],
    classes: Annotated[
        list[str] | None,
        typer.Option(
            metavar="A,B",
            help="Names of the classes in the order of their numbers, which boosters keep alone.",
            show_default=False,
        ),
    ] = None,
    trust_pickle: Annotated[
        bool, typer.Option("--trust-pickle", help="Open a pickle, which can run any code: only of people you trust.")
    ] = False,
    debug: Debug = False,
) -> None:
    """Make a saved model of another library a committee, which all commands take; its predictions stay.

    Example: committee convert booster.json --classes no,yes -o booster.safetensors
    """
    with errors_in_one_line(debug, output):
        from committee.cli.foreign_models import foreign_committee

        check_writable(output, read=[source])
        model = foreign_committee(source, trust_pickle=trust_pickle)
        names = split_names(classes)
        if names:
            model = _with_classes(model, names)
        try:
            model.save(output)
        except TypeError as error:
            raise ValueError(f"{source} cannot be converted: {error}") from error
        say(_words(getattr(model, "committee_", model)))
        say(f"saved to {output} ({output.stat().st_size:,} bytes)")


def _with_classes(model: Any, names: tuple[str, ...]) -> Any:
    """A committee whose classes have other names: whole numbers if all are such."""
    import numpy as np

    if hasattr(model, "committee_"):
        raise ValueError("--classes is for models of other libraries; this one knows its own")
    if not hasattr(model, "classes"):
        raise ValueError("--classes is for models of classes; this one predicts numbers")
    whole = all(name.lstrip("-").isdigit() for name in names)
    labels: list[Any] = [int(name) for name in names] if whole else list(names)
    for name, label in zip(names, labels, strict=True):
        if labels.count(label) > 1:
            raise ValueError(f"--classes has {name!r} {labels.count(label)} times; give each class a name of its own")
    if len(names) != model.n_classes:
        classes = pluralize(model.n_classes, "class", "classes")
        raise ValueError(f"--classes has {pluralize(len(names), 'name')}; the model votes for {classes}")
    return replace(model, classes=np.array(labels))


def _words(committee: Any) -> str:
    """What has been read."""
    from committee.data.text import quoted

    table = committee.table
    n = None if table is None else table.n_features
    columns = "columns that the voters read themselves" if n is None else pluralize(n, "column")
    named = "" if table is None or table.names is not None else " without names, taken by their place"
    labels = getattr(committee, "classes", None)
    votes = "predicts a number" if labels is None else f"votes for the classes {quoted(labels.tolist(), 8)}"
    size = f"{pluralize(committee.n_voters, 'voter')} with {pluralize(committee.n_nodes, 'node')}"
    return f"{size} on {columns}{named}; {votes}"
