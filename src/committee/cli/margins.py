"""``committee margins``."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.files import (
    FIGURES,
    PREDICTIONS,
    check_ending,
    check_model_file,
    check_writable,
    copy_metadata,
    load_learner,
    require_classes,
    save_model,
    write_picture,
    write_predictions,
)
from committee.cli.options import (
    LabelColumn,
    LabelledOptions,
    ModelFile,
    RowsAre,
    check_choice,
    set_parameters,
    takes_options,
)
from committee.cli.row_columns import Weight
from committee.cli.terminal import Debug, error_lines, info, note, notes_on_warnings, print_tables
from committee.data.text import pluralize

if TYPE_CHECKING:
    import polars as pl

    from committee.cli.model_rows import LabelledRows
    from committee.report.page import Grid
    from committee.vote.margin_distribution import MarginDistribution

OBJECTIVES = (
    "soft_margin", "doom", "min_margin", "variance", "mincq", "tandem", "uniform", "rank", "percentile", "range",
)  # fmt: skip
"""Names of the objectives, for the help."""

FEW = 0.05
"""A note is printed if a smaller share of the voters keeps a weight."""


@dataclass(frozen=True)
class MarginsOptions:
    target: LabelColumn = None
    weight: Weight = None
    on: RowsAre = "validation"
    objective: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"Fit new voter weights by an objective: {', '.join(OBJECTIVES)}."),
    ] = None
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the objective, as nu=0.3; repeat for more."
        ),
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --objective: file of the reweighted model.")
    ] = None
    rows: Annotated[Path | None, typer.Option(help="File of the margin of every row: .csv, .parquet or .feather.")] = (
        None
    )
    picture: Annotated[Path | None, typer.Option(help="File of a picture: .svg, .png or .pdf.")] = None

    def check(self) -> None:
        check_choice("--on", self.on, ("oob", "validation", "train"))
        if self.objective is not None:
            check_choice("--objective", self.objective, OBJECTIVES)
        else:
            for option, value in (("--output", self.output), ("--parameter", self.parameter)):
                if value:
                    raise ValueError(f"{option} is for new weights; add --objective, or leave out {option}")
        check_ending(self.picture, "a picture", FIGURES)
        check_ending(self.rows, "a table of margins", PREDICTIONS)


@takes_options
def margins(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Labelled rows.")],
    table: LabelledOptions,
    options: MarginsOptions,
    debug: Debug = False,
) -> None:
    """Show the margins of rows: the votes for the true class minus those for the strongest other class.

    Margins are shares of all votes, from -1 to 1, and at most 0 where the model is wrong. --objective fits new voter
    weights to the margins of these rows, and drops voters of weight 0.

    Example: committee margins forest.safetensors patients.csv --on oob --objective soft_margin -o clearer.safetensors
    """
    output, rows, picture = options.output, options.rows, options.picture
    with error_lines(debug, output, rows, picture):
        from committee.cli.bare_committee import require_draws
        from committee.cli.model_rows import out_of_bag_advice, read_labelled_rows
        from committee.report.provenance import known_rows, learned_from

        options.check()
        check_writable(output, rows, picture, read=[model, data])
        check_model_file(output)
        learner = load_learner(model)
        instead = "use committee evaluate to measure errors, and --report to see on which rows"
        require_classes(learner, model, "examined by margins", instead)
        require_draws(learner, model, options.on)
        given = read_labelled_rows(learner, data, options.target, table, weight=options.weight)
        if options.on == "validation" and (known := learned_from(learner, known_rows(learner, given.X))):
            advice = out_of_bag_advice(learner, checked=False)
            note(f"{known}; margins of new rows may be smaller: give rows not used in training{advice}")
        voting = _voting(learner, given, options.on)
        before = _distribution(learner, given, voting)
        after: MarginDistribution | None = None
        found: Any = None
        if options.objective is not None:
            found = _reweighted(learner, given, options.objective, options.parameter or [], options.on)
            copy_metadata(learner, found)
            after = _distribution(found, given, None if voting is None else voting[:, found.voters_])
        print_tables(_tables(before, after, learner, found))
        if found is not None:
            note(
                "the new weights were fitted to these rows, whose margins after are optimistic; evaluate on other rows"
            )
            if doubts := _doubts(before, after, learner, found, options.on):
                note(doubts)
        if rows is not None:
            write_predictions(_row_frame(learner, given, before, after), rows)
            info(f"margins of {pluralize(before.n_rows, 'row')} written to {rows}")
        if picture is not None:
            write_picture(_figure(before, after), picture)
        if found is not None:
            save_model(found, output)


def _voting(learner: Any, given: LabelledRows, on: str) -> Any:
    # which voters vote on which rows, `None` if all vote on all
    if on != "oob":
        return None
    from committee.learners.trained_ensembles.out_of_bag import checked_out_of_bag_mask

    return checked_out_of_bag_mask(learner, learner.committee_, given.X, given.y, given.weights)


def _distribution(learner: Any, given: LabelledRows, voting: Any) -> MarginDistribution:
    from committee.vote.margin_distribution import MarginDistribution

    return MarginDistribution.of(learner, given.X, given.y, given.weights, asked=voting)


def _reweighted(learner: Any, given: LabelledRows, objective: str, settings: list[str], on: str) -> Any:
    from committee import MarginReweighter

    found = MarginReweighter(learner, objective, on=on)  # type: ignore[arg-type]  # checked
    set_parameters(found, "margins", settings)
    with notes_on_warnings():
        try:
            return found.fit(given.X, given.y, given.weights)
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"--objective {objective} found no weights: {error}") from error


def _tables(before: MarginDistribution, after: MarginDistribution | None, learner: Any, found: Any) -> list[Grid]:
    from committee.report.page import Grid

    # ln|H| of the equilibrium margin: the voters and, as weights may be negative, their opposites
    vote = learner.committee_
    n_voters = vote.n_voters + (vote.intercept is not None)  # which margins count as a voter
    ln_size = log(2 * max(1, n_voters)) if vote.n_classes == 2 else None
    columns = [_statistics(each, ln_size) for each in (before, after) if each is not None]
    rows = [(name, *(column[name] for column in columns), _REMARKS.get(name, "")) for name in columns[0]]
    headings = ("", "", "") if after is None else ("", "before", "after", "")
    title = f"Margins of {pluralize(before.n_rows, 'row')}"
    grids = [Grid(title, headings, tuple(rows), f"l{'r' * len(columns)}l")]
    if found is not None:
        old, new = learner.committee_, found.committee_
        better = "larger" if found.objective_.maximises else "smaller"
        value = f"objective ({found.objective_.name}, {better} is better)"
        sizes = (
            ("voters", f"{old.n_voters:,}", f"{new.n_voters:,}"),
            ("nodes", f"{old.n_nodes:,}", f"{new.n_nodes:,}"),
            (value, f"{found.value_before_:.4g}", f"{found.value_:.4g}"),
        )
        grids.append(Grid("Model", ("", "before", "after"), sizes, "lrr"))
    return grids


_REMARKS = {"equilibrium margin": "balances size and rows below it"}


def _statistics(margins: MarginDistribution, ln_size: float | None) -> dict[str, str]:
    from committee.bounds import equilibrium_margin

    figures = {
        "mean": margins.mean,
        "median": margins.median,
        "standard deviation": margins.variance**0.5,
        "minimum": margins.minimum,
    }
    if ln_size is not None:
        figures["equilibrium margin"] = equilibrium_margin(margins.margins, ln_size).terms["equilibrium_margin"]
    figures |= {f"{q:.0%} quantile": float(margins.quantile(q)) for q in (0.05, 0.25, 0.75)}
    shares = {f"rows at or below {theta:g}": float(margins.nu(theta)) for theta in (0.0, 0.1, 0.25, 0.5)}
    shares["error of the vote"] = margins.error
    if margins.voter_margins is not None:
        shares["error of a voter drawn by weight"] = margins.gibbs_risk
    return {name: f"{round(value, 3) + 0.0:.3f}" for name, value in figures.items()} | {
        name: f"{share:.1%}" for name, share in shares.items()
    }


def _doubts(before: MarginDistribution, after: MarginDistribution | None, learner: Any, found: Any, on: str) -> str:
    old, new = learner.committee_.n_voters, found.committee_.n_voters
    doubts = []
    if new < FEW * old and old > 1:
        doubts.append(f"only {pluralize(new, 'voter')} of {old:,} {'keeps' if new == 1 else 'keep'} a weight")
    if after is not None and after.error > before.error:
        doubts.append(f"the error on these rows rises from {before.error:.1%} to {after.error:.1%}")
    if doubts and on == "train":
        doubts.append(
            "margins of training rows are optimistic; rows not used in training (--on validation), or for a forest"
            " --on oob, give better weights"
        )
    elif doubts:
        doubts.append("more rows or another --objective may give better weights")
    return "; ".join(doubts)


def _row_frame(
    learner: Any, given: LabelledRows, before: MarginDistribution, after: MarginDistribution | None
) -> pl.DataFrame:
    import polars as pl

    at, predicted = before.rows, learner.predict(given.X)
    cells = {"row": at, "class": given.y[at], "predicted": predicted[at], "margin": before.margins}
    frame = pl.DataFrame(cells)
    if after is not None:
        new = pl.DataFrame({"row": after.rows, "margin_after": after.margins})
        frame = frame.join(new, on="row", how="left", maintain_order="left")
    return frame.sort("margin", maintain_order=True)


def _figure(before: MarginDistribution, after: MarginDistribution | None) -> Any:
    import numpy as np

    from committee.report.displays.margins import MarginChangeDisplay, MarginDisplay

    if after is None:
        return MarginDisplay({"margins": before}).plot().figure_
    if np.array_equal(before.rows, after.rows):
        return MarginChangeDisplay(before, after).plot().figure_
    # rows whose only out-of-bag voters have lost their weight have no margin after
    return MarginDisplay({"before": before, "after": after}).plot().figure_
