"""``committee margins``."""

from __future__ import annotations

from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.classes_only import refuse_numbers
from committee.cli.derived import keep_provenance
from committee.cli.files import check_writable, load_learner
from committee.cli.model_options import AnswersColumn, ModelFile, RowsAre, check_choice
from committee.cli.pictures import check_picture, write_picture
from committee.cli.remembered import remember_as
from committee.cli.table_options import TableOptions, takes_table_options
from committee.cli.terminal import Debug, errors_in_one_line, note, notes_on_warnings, print_grids, say, say_notes
from committee.data.text import pluralize

if TYPE_CHECKING:
    import polars as pl

    from committee.cli.labelled_rows import LabelledRows
    from committee.vote.margin_distribution import MarginDistribution

OBJECTIVES = (
    "soft_margin", "doom", "min_margin", "variance", "mincq", "tandem", "uniform", "rank", "percentile", "range",
)  # fmt: skip
"""Names for the help; a test holds them against those that there are."""

FEW = 0.05
"""If a smaller share of the voters keeps a weight, that is said."""


@takes_table_options
def margins(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Rows whose margins are shown, with their classes.")],
    table: TableOptions,
    target: AnswersColumn = None,
    on: RowsAre = "validation",
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Find weights of the voters that suit these margins: {', '.join(OBJECTIVES)}."
        ),
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", metavar="NAME=VALUE", help="Of the objective, such as nu=0.3; repeat for more."
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="With --objective: file of the model with the new weights.")
    ] = None,
    rows: Annotated[Path | None, typer.Option(help="Margin of every row: .csv, .parquet or .feather.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Picture of the margins, .svg, .png or .pdf.")] = None,
    debug: Debug = False,
) -> None:
    """Show how clear a model's vote is: a row's margin is the votes for its class less those for the strongest other.

    Margins are shares of all votes, from -1 to 1; the model is wrong where they are negative. With --objective the
    voters get new weights, by the margins of these rows, and voters without weight go.

    Example: committee margins forest.safetensors patients.csv --on oob --objective soft_margin -o clearer.safetensors
    """
    with errors_in_one_line(debug, output, rows, picture):
        from committee.cli.labelled_rows import labelled_rows
        from committee.cli.predictions import check_ending, write_predictions
        from committee.report.known_rows import known_rows, learned_from

        check_choice("--on", on, ("oob", "validation", "train"))
        _check(objective, parameter, output)
        check_picture(picture)
        if rows is not None:
            check_ending(rows)
        check_writable(output, rows, picture, read=[model, data])
        learner = load_learner(model)
        refuse_numbers(learner, model, "asked for margins")
        given = labelled_rows(learner, data, target, table)
        if on == "validation" and (known := learned_from(learner, known_rows(learner, given.X))):
            note(f"{known}; of new rows margins are smaller. --on oob judges each by the voters that have not seen it")
        asked = _asked(learner, given, on)
        before = _distribution(learner, given, asked)
        after: MarginDistribution | None = None
        found: Any = None
        if objective is not None:
            found = _reweighted(learner, given, objective, parameter or [], on)
            remember_as(learner, found)
            after = _distribution(found, given, None if asked is None else asked[:, found.voters_])
        print_grids(margin_grids(before, after, learner, found))
        if found is not None:
            note("the new weights were chosen by these rows, whose margins after flatter; evaluate by others")
            say_notes(notes_of_loss(before, after, learner, found, on))
        if rows is not None:
            write_predictions(_every_row(learner, given, before, after), rows)
            say(f"margins of {pluralize(before.n_rows, 'row')} written to {rows}")
        if picture is not None:
            write_picture(_picture(before, after), picture)
            say(f"picture written to {picture}")
        if found is not None and output is None:
            note("the model is not kept; --output FILE keeps it")
        elif found is not None and output is not None:
            keep_provenance(found, learner)
            found.save(output)
            say(f"saved to {output} ({output.stat().st_size:,} bytes)")


def _check(objective: str | None, parameter: list[str] | None, output: Path | None) -> None:
    """Refuse options that go with --objective where that is not given."""
    if objective is None:
        for option, given in (("--output", output), ("--parameter", parameter)):
            if given:
                raise ValueError(
                    f"{option} is of new weights; say by which --objective they are found, or leave it out"
                )
    else:
        check_choice("--objective", objective, OBJECTIVES)


def _asked(learner: Any, given: LabelledRows, on: str) -> Any:
    """Which voters vote on which rows; None: all on all."""
    if on != "oob":
        return None
    from committee.learners.trained_ensembles.out_of_bag import checked_out_of_bag_mask

    return checked_out_of_bag_mask(learner, learner.committee_, given.X, given.y, None)


def _distribution(learner: Any, given: LabelledRows, asked: Any) -> MarginDistribution:
    from committee.vote.margin_distribution import MarginDistribution

    return MarginDistribution.of(learner, given.X, given.y, asked=asked)


def _reweighted(learner: Any, given: LabelledRows, objective: str, settings: list[str], on: str) -> Any:
    """The model with new weights."""
    from committee import MarginReweighter
    from committee.cli.settings import set_parameters

    found = MarginReweighter(learner, objective, on=on)  # type: ignore[arg-type]  # checked
    set_parameters(found, "margins", settings)
    with notes_on_warnings():
        try:
            return found.fit(given.X, given.y)
        except (RuntimeError, TypeError) as error:
            raise ValueError(f"no weights are found by --objective {objective}: {error}") from error


def margin_grids(before: MarginDistribution, after: MarginDistribution | None, learner: Any, found: Any) -> list[Any]:
    """Figures of the margins, and with new weights of both votes."""
    from committee.report.grid import Grid

    ln_size = _ln_size(learner)
    columns = [_figures(before, ln_size)] + ([] if after is None else [_figures(after, ln_size)])
    rows = [(name, *(column[name] for column in columns)) for name in columns[0]]
    headings = ("", "") if after is None else ("", "before", "after")
    grids = [Grid(f"Margins of {pluralize(before.n_rows, 'row')}", headings, tuple(rows), "l" + "r" * len(columns))]
    if found is not None:
        old, new = learner.committee_, found.committee_
        better = "larger" if found.objective_.maximises else "smaller"
        named = f"objective ({found.objective_.name}, {better} is better)"
        sizes = (
            ("voters", f"{old.n_voters:,}", f"{new.n_voters:,}"),
            ("nodes", f"{old.n_nodes:,}", f"{new.n_nodes:,}"),
            (named, f"{found.value_before_:.4g}", f"{found.value_:.4g}"),
        )
        grids.append(Grid("Votes", ("", "before", "after"), sizes, "lrr"))
    return grids


def notes_of_loss(
    before: MarginDistribution, after: MarginDistribution | None, learner: Any, found: Any, on: str
) -> list[str]:
    """What speaks against the new weights: hardly a voter that keeps any, or an error that rises; and what may help."""
    old, new = learner.committee_.n_voters, found.committee_.n_voters
    against = []
    if new < FEW * old and old > 1:
        against.append(f"only {pluralize(new, 'voter')} of {old:,} {'keeps' if new == 1 else 'keep'} a weight")
    if after is not None and after.error > before.error:
        against.append(f"the vote errs on {after.error:.1%} of these rows, and before on {before.error:.1%}")
    if against and on == "train":
        against.append(
            "voters are too sure of the rows that they learned from; rows that the model has not seen (--on"
            " validation), or of a forest --on oob, choose better"
        )
    elif against:
        against.append("more rows or another --objective may choose better")
    return ["; ".join(against)] if against else []


def _ln_size(learner: Any) -> float | None:
    """ln|H| of the equilibrium margin: the voters and, as weights may be negative, their opposites; None of more than
    two classes, for which the bound is not made.
    """
    committee = learner.committee_
    n_voters = committee.n_voters + (committee.intercept is not None)  # margins count it as a voter
    return log(2 * max(1, n_voters)) if committee.n_classes == 2 else None


def _figures(margins: MarginDistribution, ln_size: float | None) -> dict[str, str]:
    from committee.bounds import equilibrium_margin

    figures = {
        "mean": margins.mean,
        "median": margins.median,
        "standard deviation": margins.variance**0.5,
        "smallest": margins.minimum,
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


def _every_row(
    learner: Any, given: LabelledRows, before: MarginDistribution, after: MarginDistribution | None
) -> pl.DataFrame:
    """Rows that have margins, by their numbers from 0 on, smallest margins first."""
    import polars as pl

    predicted = learner.predict(given.X)
    frame = pl.DataFrame(
        {
            "row": before.rows,
            "class": given.y[before.rows],
            "predicted": predicted[before.rows],
            "margin": before.margins,
        }
    )
    if after is not None:
        new = pl.DataFrame({"row": after.rows, "margin_after": after.margins})
        frame = frame.join(new, on="row", how="left", maintain_order="left")
    return frame.sort("margin", maintain_order=True)


def _picture(before: MarginDistribution, after: MarginDistribution | None) -> Any:
    import numpy as np

    from committee.report.displays.curves import MarginChangeDisplay, MarginDisplay

    if after is None:
        return MarginDisplay({"margins": before}).plot().figure_
    if np.array_equal(before.rows, after.rows):
        return MarginChangeDisplay(before, after).plot().figure_
    # rows that only voters without weight had not seen have no margin any more
    return MarginDisplay({"before": before, "after": after}).plot().figure_
