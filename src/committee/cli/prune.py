"""``committee prune``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.files import (
    check_model_file,
    check_writable,
    copy_metadata,
    is_safetensors,
    load_learner,
    save_model,
    store_formats,
)
from committee.cli.margins import OBJECTIVES
from committee.cli.options import RowsAre, TrainingOptions, check_choice, takes_options
from committee.cli.row_columns import RowColumns, Weight, fitted_exposure
from committee.cli.terminal import Debug, error_lines, info, note, notes_on_warnings, print_tables
from committee.data.text import pluralize

if TYPE_CHECKING:
    from committee.cli.model_rows import LabelledRows
    from committee.report.page import Grid

BLEND_SHARE = 0.33
"""Share of the nodes that a committee of ensembles keeps by default."""

LEVELS = ("leaf", "subtree", "depth", "tree", "voter")


@dataclass(frozen=True)
class PruneOptions:
    target: Annotated[str | None, typer.Option("--target", "-t", help="Column of the labels or numbers.")] = None
    weight: Weight = None
    output: Annotated[Path | None, typer.Option("--output", "-o", help="File of the pruned model.")] = None
    level: Annotated[
        str,
        typer.Option(
            metavar="|".join(LEVELS),
            help="leaf: drop trees or subtrees, whichever is best; subtree, depth, tree: drop only subtrees, lowest"
            " levels or trees. Leaf values are fitted anew. voter: drop whole voters, and fit new weights.",
        ),
    ] = "leaf"
    max_nodes: Annotated[
        str | None,
        typer.Option(
            metavar="SHARE|NUMBER",
            help="Nodes to keep: a share such as 0.05, or a number such as 500. Default: 0.1; with --max-loss a third,"
            f" with --max-voters all; of a committee of ensembles {BLEND_SHARE}.",
        ),
    ] = None
    max_voters: Annotated[int | None, typer.Option(help="Voters to keep, with --level voter.")] = None
    min_gain: Annotated[
        float | None,
        typer.Option(
            help="Take the smallest model whose accuracy, or R2, is less than this below the best; without --level"
            " voter, standard errors are subtracted first."
        ),
    ] = None
    max_loss: Annotated[
        float | None,
        typer.Option(
            help="Take the smallest model that loses, plus one standard error, at most this much of --metric."
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Metric of --max-loss: accuracy (default), log_loss or brier; for numbers squared_error,"
            " absolute_error or pinball, as a share of the loss of the whole model. Or a score of scikit-learn:"
            " roc_auc, f1, balanced_accuracy, r2 and others.",
        ),
    ] = None
    quantile: Annotated[
        float | None, typer.Option(help="Quantile that the model predicts, if the model does not specify it.")
    ] = None
    objective: Annotated[
        str,
        typer.Option(metavar="NAME", help="Objective of the new weights, with --level voter; see committee margins."),
    ] = "doom"
    on: RowsAre = "oob"
    trees: Annotated[int, typer.Option(min=1, help="With a table: trees of the forest.")] = 300
    seed: Annotated[int, typer.Option(help="With a table: seed of the forest.")] = 0
    test: Annotated[Path | None, typer.Option(help="Labelled table of further rows, to evaluate both models on.")] = (
        None
    )

    def check(self) -> None:
        check_choice("--level", self.level, LEVELS)
        check_choice("--objective", self.objective, OBJECTIVES)
        check_choice("--on", self.on, ("oob", "validation", "train"))
        if self.max_loss is not None and not 0.0 <= self.max_loss < float("inf"):
            raise ValueError(f"--max-loss {self.max_loss:g} must be a finite number of at least 0")

    @property
    def limits(self) -> dict[str, Any]:
        text = self.max_nodes
        try:
            max_nodes = None if text is None else int(text) if text.strip().isdigit() else float(text)
        except ValueError:
            raise ValueError(
                f"--max-nodes {text!r} is not a number; give a share such as 0.05, or a number such as 500"
            ) from None
        names = ("max_voters", "min_gain", "max_loss", "metric")
        return {"max_nodes": max_nodes} | {name: getattr(self, name) for name in names}


@takes_options
def prune(
    source: Annotated[
        Path,
        typer.Argument(metavar="MODEL|TABLE", help="Model to prune; or a table, on which a forest is fitted first."),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            help="With a model: labelled rows to prune by, see --on. Committees of ensembles: only for --level voter."
        ),
    ] = None,
    *,
    table: TrainingOptions,
    options: PruneOptions,
    debug: Debug = False,
) -> None:
    """Prune a fitted model, by default to a tenth of its nodes, and fit its leaf values anew.

    A committee of ensembles keeps 0.33 of its nodes by default, and its leaf values.

    Out-of-bag rows, see --on, need a model whose samples are stored or can be drawn again, such as a forest.

    Example: committee prune forest.safetensors patients.csv --target outcome --max-nodes 0.05 -o small.safetensors
    """
    with error_lines(debug, options.output):
        from committee.cli.bare_committee import require_draws
        from committee.cli.model_rows import read_labelled_rows
        from committee.report.prediction_sets import is_conformal
        from committee.report.provenance import known_rows, learned_from

        options.check()
        limits, target = options.limits, options.target
        check_writable(options.output, read=[source, data, options.test])
        check_model_file(options.output)
        if not source.exists():
            raise FileNotFoundError(f"there is no file {str(source)!r}")
        rows: LabelledRows | None
        if is_safetensors(source):
            if table.kept:
                raise ValueError("--keep is for a table on which a forest is fitted; leave it out with a model")
            before, on = load_learner(source), options.on
            if is_conformal(before):
                raise ValueError(
                    f"{source} has prediction sets or intervals, which pruning would lose; fit without --conformal,"
                    f" prune that model, and give it to {type(before).__name__} in Python, with rows not used in"
                    " training"
                )
            if data is not None and fitted_exposure(before, None) is not None:
                raise ValueError(
                    f"{source} was fitted with --exposure, which pruning by rows does not take; fit a smaller model,"
                    " such as by -p n_estimators=50; or, of a committee of ensembles, leave out DATA"
                )
            if data is not None:
                require_draws(before, source, on)
            rows = None if data is None else read_labelled_rows(before, data, target, table, weight=options.weight)
            if options.weight is not None and rows is None and options.test is None:
                raise ValueError("--weight names a column of DATA or --test; add one of them, or leave out --weight")
        else:
            if data is not None:
                raise ValueError(
                    f"{source} is not a model, and {data} is given too; name a model and its rows, or one table"
                )
            before, rows = _forest(source, table, options)
            on = "oob"
        _check_metric(options.metric, classes=hasattr(before, "classes_"))
        if rows is not None and on == "validation" and (known := learned_from(before, known_rows(before, rows.X))):
            note(f"{known}; use --on train, or for a forest --on oob")
        after = _pruned(before, rows, str(source), replace(options, on=on), limits)
        copy_metadata(before, after)
        test_rows = None
        if options.test is not None:
            test_rows = read_labelled_rows(before, options.test, target, table, weight=options.weight)
        print_tables([_sizes(before, after, test_rows, options.test)])
        for sentence in _scores(before, after, rows, on, options.max_loss):
            info(sentence)
        save_model(after, options.output)


def _check_metric(metric: str | None, *, classes: bool) -> None:
    from committee.learners.reweighting.pruning_metrics import CLASS_LOSSES, NUMBER_LOSSES, is_scorer_of

    if metric is not None and not is_scorer_of(metric, regression=not classes):
        check_choice(
            "--metric", metric, (*(CLASS_LOSSES if classes else NUMBER_LOSSES), "roc_auc" if classes else "r2")
        )


def _forest(source: Path, table: TrainingOptions, options: PruneOptions) -> tuple[Any, LabelledRows]:
    from committee import RandomForestClassifier, RandomForestRegressor
    from committee.cli.model_rows import LabelledRows
    from committee.cli.training_table import whole_table
    from committee.data.labels import infer_task
    from committee.report.provenance import provenance_of

    target = options.target
    if target is None:
        raise ValueError("--target is missing: name the column of the labels or numbers")
    columns = RowColumns(weight=options.weight)
    columns.check(target, table.dropped)
    read = whole_table(source, target, table, (), columns=columns)
    kind = RandomForestRegressor if infer_task(read.y) == "numbers" else RandomForestClassifier
    with notes_on_warnings():
        forest: Any = kind(options.trees, oob_score=True, random_state=options.seed)
        forest.fit(read.X, read.y, **read.values.of_fit)
    store_formats(forest, read.forms, read.missing)
    made = provenance_of(forest, read.X, target=target, data=source.name)
    forest.provenance_ = replace(made, written=None if hasattr(forest, "classes_") else read.target_form)
    info(f"forest of {pluralize(options.trees, 'tree')}, fitted on {pluralize(len(read.y), 'row')}")
    return forest, LabelledRows(read.X, read.y, target, weights=read.values.weights)


def _pruned(model: Any, rows: LabelledRows | None, name: str, options: PruneOptions, limits: dict[str, Any]) -> Any:
    from committee import prune as run
    from committee.learners.blend.blend import Blend

    with notes_on_warnings():
        if isinstance(model, Blend) and (options.level != "voter" or rows is None or not hasattr(model, "classes_")):
            if any(limits[option] is not None for option in ("max_voters", "min_gain", "max_loss")):
                also = ", or --level voter with DATA" if hasattr(model, "classes_") else ""
                raise ValueError(f"{name} holds a committee of ensembles; give --max-nodes alone{also}")
            if rows is not None:
                note("a committee of ensembles is pruned without rows: each member keeps a share of its fits or trees")
            try:
                return model.prune(BLEND_SHARE if limits["max_nodes"] is None else limits["max_nodes"])
            except TypeError as error:
                raise ValueError(f"{name} cannot be pruned: {error}") from error
        if rows is None:
            raise ValueError(f"DATA is missing: {name} is pruned by labelled rows; name their table")
        if options.level == "voter" and not hasattr(model, "classes_"):
            raise ValueError(
                f"--level voter weighs voters by margins of votes for classes, and {name} predicts numbers; use --level"
                " tree, which drops whole trees"
            )
        if options.level != "voter" and limits["max_voters"] is not None:
            raise ValueError("--max-voters is for whole voters; add --level voter, or give --max-nodes")
        try:
            by = {name: getattr(options, name) for name in ("level", "on", "objective", "quantile")}
            return run(model, rows.X, rows.y, sample_weight=rows.weights, **by, **limits)
        except TypeError as error:
            raise ValueError(f"{name} cannot be pruned: {error}") from error


def _sizes(before: Any, after: Any, test_rows: LabelledRows | None, test: Path | None) -> Grid:
    from committee.report.evaluation import evaluate
    from committee.report.page import Grid

    old, new = before.committee_, after.committee_
    rows = [
        ("voters", f"{old.n_voters:,}", f"{new.n_voters:,}"),
        ("nodes", f"{old.n_nodes:,}", f"{new.n_nodes:,}"),
        ("memory (bytes)", f"{old.nbytes:,}", f"{new.nbytes:,}"),
    ]
    title = "Size"
    if test_rows is not None:
        given = test_rows.X, test_rows.y
        both = [evaluate(model, *given, sample_weight=test_rows.weights) for model in (before, after)]
        title = f"Size, and scores on {pluralize(len(test_rows.y), 'row')} of {test}"
        wanted = ("accuracy", "log_loss", "rmse", "r2")
        figures = [each for each in both[0].figures if each.name in wanted] or both[0].figures
        rows += [(each.heading, f"{each.value:.4f}", f"{both[1][each.name]:.4f}") for each in figures]
    return Grid(title, ("", "before", "after"), tuple(rows), "lrr")


def _scores(before: Any, after: Any, rows: LabelledRows | None, on: str, max_loss: float | None) -> list[str]:
    if rows is None or not hasattr(after, "voters_"):
        return []
    sentences = [_training_score(before, after, rows, on)] if hasattr(after, "classes_") else []
    path = getattr(after, "path_", None)
    if path is not None and on != "train":  # trees grown on these rows have seen those of all folds
        steps = [step for step in path.steps if step.cut.n_nodes == after.committee_.n_nodes]
        if steps:
            criterion, step = path.criterion, steps[0]
            figures = f"{_metric_words(criterion.score_name)} {step.score:.4f}"
            if criterion.loss_name != "loss":
                figures += f", {_metric_words(criterion.loss_name)} {step.loss:.4f}"
            sentences.append(f"cross-validated on these rows, with leaf values fitted on other folds: {figures}")
    if max_loss is not None and after.committee_.n_nodes < before.committee_.n_nodes:
        lost, error = after.lost_, after.lost_error_
        relative = path is not None and path.criterion.metric.in_shares
        amount = f"{lost:+.2%} ± {error:.2%} of its loss" if relative else f"{lost:+.4f} ± {error:.4f}"
        name = after.metric_name if path is not None else after.pruning_path_.metric
        sentences.append(f"cross-validated loss of {name} against the whole model: {amount}")
    return sentences


def _metric_words(name: str) -> str:
    words = {"r2": "R2", "d2_pinball": "D2 of the pinball loss"}
    return words.get(name, name.replace("_", " "))


def _training_score(before: Any, after: Any, rows: LabelledRows, on: str) -> str:
    from committee.learners.trained_ensembles.out_of_bag import checked_out_of_bag_mask
    from committee.vote.margin_distribution import MarginDistribution

    voting = None
    if on == "oob":
        voting = checked_out_of_bag_mask(before, before.committee_, rows.X, rows.y, rows.weights)[:, after.voters_]
    found = MarginDistribution.of(after, rows.X, rows.y, rows.weights, asked=voting)
    kind = {"oob": "out-of-bag ", "validation": "validation ", "train": "training "}[on]
    learned = "its trees were grown and pruned" if on == "train" else "the model was pruned"
    return (
        f"pruned model on {pluralize(found.n_rows, f'{kind}row')}: accuracy {1.0 - found.error:.4f}, which is "
        f"optimistic, as {learned} by these rows"
    )
