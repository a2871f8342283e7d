"""``committee prune``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.derived import keep_provenance
from committee.cli.files import check_writable, load_learner
from committee.cli.margins import OBJECTIVES
from committee.cli.model_options import RowsAre, check_choice
from committee.cli.remembered import remember, remember_as
from committee.cli.table_options import TrainingOptions, takes_table_options
from committee.cli.terminal import Debug, errors_in_one_line, note, notes_on_warnings, print_grids, say
from committee.data.text import pluralize

if TYPE_CHECKING:
    from committee.cli.labelled_rows import LabelledRows
    from committee.report.grid import Grid

OF_COMMITTEE = 0.33
"""Share of the nodes of a committee of ensembles that stays where no limit is given."""


@takes_table_options
def prune(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL|TABLE", help="Model to make smaller; or a table, on which a forest is trained first."
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(help="With a model: rows that choose what stays, see --on. Not of a committee of ensembles."),
    ] = None,
    *,
    table: TrainingOptions,
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column of the classes, or numbers.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File of the smaller model.")] = None,
    level: Annotated[
        str,
        typer.Option(
            metavar="leaf|subtree|depth|tree|voter",
            help="Drop trees and sub-trees, whichever does best; or sub-trees, the lowest levels of trees, or"
            " whole trees alone; and let leaves vote anew. Or drop whole voters, and give the others new weights.",
        ),
    ] = "leaf",
    max_nodes: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|NUMBER",
            help="Nodes that stay: 0.05 of them, or 500. By default a tenth.",
            show_default=False,
        ),
    ] = None,
    max_voters: Annotated[
        int | None, typer.Option(help="Voters that stay; with --level voter.", show_default=False)
    ] = None,
    min_gain: Annotated[
        float | None,
        typer.Option(
            help="The smallest model is taken that loses less accuracy, or R2, than this.", show_default=False
        ),
    ] = None,
    max_loss: Annotated[
        float | None,
        typer.Option(
            help="The smallest model is taken that loses at most this much of --metric against the whole one.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What --max-loss counts: accuracy (the default), log_loss or brier; of numbers squared_error,"
            " absolute_error or pinball, as a share of what the whole loses. Or a score of all rows: roc_auc, f1,"
            " balanced_accuracy, r2 and others of scikit-learn.",
            show_default=False,
        ),
    ] = None,
    quantile: Annotated[
        float | None,
        typer.Option(
            help="The quantile that a model of numbers predicts, where it does not say so itself.", show_default=False
        ),
    ] = None,
    objective: Annotated[
        str, typer.Option(metavar="NAME", help="With --level voter: what new weights suit, see committee margins.")
    ] = "doom",
    on: RowsAre = "oob",
    trees: Annotated[int, typer.Option(min=1, help="Of a table: trees of its forest.")] = 300,
    seed: Annotated[int, typer.Option(help="Of a table: seed of its forest.")] = 0,
    test: Annotated[
        Path | None, typer.Option(help="Table of further rows, on which both models are judged.", show_default=False)
    ] = None,
    debug: Debug = False,
) -> None:
    """Make a trained model smaller: a tenth of its nodes, whose leaves vote anew.

    Rows out of bag need a model that knows its draws, such as a forest fitted with -p oob_score=True.

    Example: committee prune forest.safetensors patients.csv --target outcome --max-nodes 0.05 -o small.safetensors
    """
    with errors_in_one_line(debug, output):
        from committee.cli.labelled_rows import labelled_rows
        from committee.report.known_rows import known_rows, learned_from

        check_choice("--level", level, ("leaf", "subtree", "depth", "tree", "voter"))
        check_choice("--objective", objective, OBJECTIVES)
        check_choice("--on", on, ("oob", "validation", "train"))
        if max_loss is not None and not 0.0 <= max_loss < float("inf"):
            raise ValueError(f"--max-loss {max_loss:g} must be a finite number that is not negative")
        check_writable(output, read=[source, data, test])
        limits: dict[str, Any] = {
            "max_nodes": _share_or_number(max_nodes),
            "max_voters": max_voters,
            "min_gain": min_gain,
            "max_loss": max_loss,
            "metric": metric,
        }
        rows: LabelledRows | None
        if not source.exists():
            raise FileNotFoundError(f"there is no file {str(source)!r}")
        if not _is_model(source):
            if data is not None:
                raise ValueError(f"{source} and {data} are both given; name a model and its rows, or one table")
            before, rows = _forest(source, target, table, trees, seed)
            on = "oob"
        else:
            if table.kept:
                raise ValueError(
                    f"--keep is of a table on which a forest is trained; {source} knows its columns, so leave it out"
                )
            before = load_learner(source)
            rows = None if data is None else labelled_rows(before, data, target, table)
        _check_metric(metric, classes=hasattr(before, "classes_"))
        if rows is not None and on == "validation" and (known := learned_from(before, known_rows(before, rows.X))):
            note(f"{known}; --on train, or of a forest --on oob, says so")
        after = _smaller(before, rows, str(source), level, {"on": on, "objective": objective}, limits, quantile)
        remember_as(before, after)
        judging = None if test is None else labelled_rows(before, test, target, table)
        print_grids([_sizes(before, after, judging, test)])
        for sentence in _accuracies(before, after, rows, on, max_loss):
            say(sentence)
        if output is None:
            note("the model is not kept; --output FILE keeps it")
        else:
            keep_provenance(after, before)
            after.save(output)
            say(f"saved to {output} ({output.stat().st_size:,} bytes)")


def _check_metric(metric: str | None, *, classes: bool) -> None:
    """Refuse a metric of the other kind of answers."""
    from committee.learners.reweighting.pruning_metrics import CLASS_LOSSES, NUMBER_LOSSES, is_scorer_of

    if metric is not None and not is_scorer_of(metric, regression=not classes):
        check_choice(
            "--metric", metric, (*(CLASS_LOSSES if classes else NUMBER_LOSSES), "roc_auc" if classes else "r2")
        )


def _is_model(source: Path) -> bool:
    """Whether a file begins as a model does: with the length of a JSON header, and this."""
    if not source.is_file():
        return False
    with source.open("rb") as file:
        begins = file.read(9)
    return begins[8:] == b"{" and int.from_bytes(begins[:8], "little") < source.stat().st_size


def _forest(
    source: Path, target: str | None, table: TrainingOptions, trees: int, seed: int
) -> tuple[Any, LabelledRows]:
    """Train a forest on a table, which remembers its draws."""
    from committee import RandomForestClassifier, RandomForestRegressor
    from committee.cli.labelled_rows import LabelledRows
    from committee.cli.training_table import whole_table
    from committee.data.labels import infer_task
    from committee.report.known_rows import provenance_of

    if target is None:
        raise ValueError("--target is missing: name the column that holds the classes or numbers")
    read = whole_table(source, target, table, ())
    kind = RandomForestRegressor if infer_task(read.y) == "numbers" else RandomForestClassifier
    with notes_on_warnings():
        forest: Any = kind(trees, oob_score=True, random_state=seed).fit(read.X, read.y)
    remember(forest, read.forms, read.missing)
    made = provenance_of(forest, read.X, target=target, data=source.name)
    forest.provenance_ = replace(made, written=None if hasattr(forest, "classes_") else read.target_form)
    say(f"forest of {pluralize(trees, 'tree')}, trained on {pluralize(len(read.y), 'row')}")
    return forest, LabelledRows(read.X, read.y, target)


def _smaller(
    model: Any,
    rows: LabelledRows | None,
    name: str,
    level: str,
    by: dict[str, str],
    limits: dict[str, Any],
    quantile: float | None,
) -> Any:
    """The smaller model."""
    from committee import prune as pruned
    from committee.learners.blend.blend import Blend

    with notes_on_warnings():
        if isinstance(model, Blend) and (level != "voter" or rows is None or not hasattr(model, "classes_")):
            if any(limits[name] is not None for name in ("max_voters", "min_gain", "max_loss")):
                raise ValueError(
                    f"{name} holds a committee of ensembles; give --max-nodes alone, or --level voter with DATA"
                )
            if rows is not None:
                note(
                    "a committee of ensembles is pruned without rows: of each member a share of the fits or trees stays"
                )
            return model.prune(OF_COMMITTEE if limits["max_nodes"] is None else limits["max_nodes"])
        if rows is None:
            raise ValueError(
                f"DATA is missing: {name} holds a {type(model).__name__}, and rows choose what stays of it"
            )
        if level != "voter" and limits["max_voters"] is not None:
            raise ValueError("--max-voters is of whole voters; add --level voter, or give --max-nodes")
        try:
            return pruned(model, rows.X, rows.y, level=level, quantile=quantile, **by, **limits)  # type: ignore[arg-type]  # checked
        except TypeError as error:
            raise ValueError(f"{name} cannot be pruned: {error}") from error


def _sizes(before: Any, after: Any, judging: LabelledRows | None, test: Path | None) -> Grid:
    """Both models: voters, nodes, memory, and how good they are on further rows."""
    from committee.report.evaluation import evaluate
    from committee.report.grid import Grid

    old, new = before.committee_, after.committee_
    rows = [
        ("voters", f"{old.n_voters:,}", f"{new.n_voters:,}"),
        ("nodes", f"{old.n_nodes:,}", f"{new.n_nodes:,}"),
        ("memory, bytes", f"{old.nbytes:,}", f"{new.nbytes:,}"),
    ]
    title = "Size"
    if judging is not None:
        both = [evaluate(model, judging.X, judging.y) for model in (before, after)]
        title = f"Size, and figures on {pluralize(len(judging.y), 'row')} of {test}"
        wanted = ("accuracy", "log_loss", "rmse", "r2")
        figures = [each for each in both[0].figures if each.name in wanted] or both[0].figures
        rows += [(each.heading, f"{each.value:.4f}", f"{both[1][each.name]:.4f}") for each in figures]
    return Grid(title, ("", "before", "after"), tuple(rows), "lrr")


def _accuracies(before: Any, after: Any, rows: LabelledRows | None, on: str, max_loss: float | None) -> list[str]:
    """How good the smaller model is on the rows that it was made by, and what folds of these say of one like it."""
    if rows is None or not hasattr(after, "voters_"):
        return []
    said = [_on_these_rows(before, after, rows, on)] if hasattr(after, "classes_") else []
    path = getattr(after, "path_", None)
    step = None
    if path is not None:
        step = next((step for step in path.steps if step.cut.n_nodes == after.committee_.n_nodes), None)
    if path is not None and step is not None:
        judge = path.criterion
        figures = f"{_spoken(judge.score_name)} {step.score:.4f}"
        if judge.loss_name != "loss":
            figures += f", {_spoken(judge.loss_name)} {step.loss:.4f}"
        said.append(f"by folds of these rows, on parts that have not chosen the votes: {figures}")
    if max_loss is not None and after.committee_.n_nodes < before.committee_.n_nodes:
        lost, error = after.lost_, after.lost_error_
        in_shares = path is not None and path.criterion.metric.in_shares
        amount = f"{lost:+.2%} ± {error:.2%} of its loss" if in_shares else f"{lost:+.4f} ± {error:.4f}"
        named = after.metric_name if path is not None else after.pruning_path_.metric
        said.append(f"{named} lost against the whole model, as these folds estimate it: {amount}")
    return said


def _spoken(name: str) -> str:
    """A figure's name in words."""
    return {"r2": "R2", "d2_pinball": "share of a constant's pinball loss that is saved"}.get(
        name, name.replace("_", " ")
    )


def _on_these_rows(before: Any, after: Any, rows: LabelledRows, on: str) -> str:
    """How often the smaller model is right on the rows that it was made by."""
    from committee.learners.trained_ensembles.out_of_bag import checked_out_of_bag_mask
    from committee.vote.margin_distribution import MarginDistribution

    asked = None
    if on == "oob":
        asked = checked_out_of_bag_mask(before, before.committee_, rows.X, rows.y, None)[:, after.voters_]
    found = MarginDistribution.of(after, rows.X, rows.y, asked=asked)
    by = {
        "oob": "out of bag, each judged by the voters that have not drawn it",
        "validation": "given",
        "train": "of the training",
    }[on]
    return (
        f"the smaller model on {pluralize(found.n_rows, 'row')} {by}: accuracy {1.0 - found.error:.4f}, which flatters,"
        " as they chose its votes"
    )


def _share_or_number(text: str | None) -> float | int | None:
    """``0.05`` is a share, ``500`` a number of nodes."""
    if text is None:
        return None
    try:
        return int(text) if text.strip().isdigit() else float(text)
    except ValueError:
        raise ValueError(
            f"--max-nodes {text!r} is no number; give a share such as 0.05, or a number such as 500"
        ) from None
