"""Commands ``committee evaluate``, ``inspect``, ``explain`` and ``certify`` of one model, and ``models``, a list."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from committee.cli.files import (
    FIGURES,
    check_ending,
    check_writable,
    load_learner,
    name_of_data,
    require_classes,
    write_figures,
    write_page,
    write_picture,
)
from committee.cli.options import (
    LabelColumn,
    LabelledOptions,
    ModelFile,
    TableOptions,
    Threshold,
    check_choice,
    split_names,
    takes_options,
)
from committee.cli.row_columns import ModelExposure, Weight, fitted_exposure
from committee.cli.terminal import (
    Debug,
    error_lines,
    info,
    note,
    notes_on_warnings,
    print_sentences,
    print_tables,
    with_options,
)
from committee.data.text import pluralize, suggest_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.bounds.result import Bound
    from committee.learners.certificates.certificates import Certificate
    from committee.report.page import Grid


@dataclass(frozen=True)
class EvaluateOptions:
    target: LabelColumn = None
    threshold: Threshold = None
    costs: Annotated[
        str | None,
        typer.Option(
            metavar="FALSE_ALARM,MISS",
            help="Two classes: costs of a row of the first class that is predicted as the second, and of the reverse,"
            " such as 1,10. Shows the mean cost at several thresholds.",
        ),
    ] = None
    weight: Weight = None
    exposure: ModelExposure = None
    report: Annotated[Path | None, typer.Option(help="File of an HTML page with pictures and large errors.")] = None
    json: Annotated[Path | None, typer.Option(help="File of all figures as JSON.")] = None

    @property
    def parsed_costs(self) -> tuple[float, float] | None:
        from committee.report.figures import check_costs

        if self.costs is None:
            return None
        try:
            return check_costs([float(each) for each in self.costs.split(",")])
        except ValueError as error:
            raise ValueError(
                f"--costs {self.costs!r} must be two costs of at least 0, not both 0: of a false alarm and of a miss,"
                " such as --costs 1,10"
            ) from error


@takes_options
def evaluate(
    model: ModelFile,
    data: Annotated[
        list[Path],
        typer.Argument(
            help="Labelled table that was not used in training. Several files, a folder or a quoted pattern are put"
            " together, and must fit in memory."
        ),
    ],
    table: LabelledOptions,
    options: EvaluateOptions,
    debug: Debug = False,
) -> None:
    """Evaluate a saved model on labelled rows.

    Classes: accuracy and further metrics, confusion matrix, calibration. Numbers: RMSE, MAE and R2; for
    quantiles pinball loss and coverage.

    Example: committee evaluate model.safetensors new.csv --target price
    """
    report, json = options.report, options.json
    with error_lines(debug, report, json):
        from committee.cli.model_rows import read_labelled_rows
        from committee.report.evaluation import evaluate as run
        from committee.report.figures import check_threshold
        from committee.report.provenance import known_rows, known_rows_sentence

        check_writable(report, json, read=[model, *data])
        costs, learner = options.parsed_costs, load_learner(model)
        if costs is not None or options.threshold is not None:
            check_threshold(learner, 0.5 if options.threshold is None else options.threshold)
        exposure = fitted_exposure(learner, options.exposure)
        rows = read_labelled_rows(learner, data, options.target, table, exposure, options.weight)
        if hasattr(learner, "classes_"):
            info(f"target {rows.target!r}: {pluralize(len(learner.classes_), 'class', 'classes')}")
        else:
            info(f"target {rows.target!r}: numbers from {rows.y.min():.6g} to {rows.y.max():.6g}")
        chosen: dict[str, Any] = {"threshold": options.threshold, "costs": costs, "sample_weight": rows.weights}
        found = run(learner, rows.X, rows.y, offset=rows.offset, **chosen)
        print_tables(found.grids())
        if options.threshold is None and (comment := found.comment) is not None:
            note(comment)
        if known := known_rows_sentence(learner, known_rows(learner, rows.X), found):
            note(known)
        if report is not None:
            from committee.report.model_pages import evaluation_page

            chosen |= {"title": model.name, "data": name_of_data(data)}
            write_page(evaluation_page(learner, rows.X, rows.y, offset=rows.offset, **chosen), report)
        if json is not None:
            write_figures(_nan_to_null(found.to_json()), json)


def _nan_to_null(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _nan_to_null(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_nan_to_null(each) for each in value]
    return None if isinstance(value, float) and value != value else value


@takes_options
def inspect(
    model: ModelFile,
    table: LabelledOptions,
    data: Annotated[
        Path | None,
        typer.Option(help="Labelled table: adds margins of classes, errors of numbers, members of a committee."),
    ] = None,
    target: LabelColumn = None,
    weight: Weight = None,
    report: Annotated[Path | None, typer.Option(help="File of an HTML page with pictures.")] = None,
    debug: Debug = False,
) -> None:
    """Show parameters, size, voters and most used features of a saved model, and with --data its margins or errors."""
    with error_lines(debug, report):
        from committee.cli.model_rows import read_labelled_rows
        from committee.report.inspection import inspection
        from committee.report.members import MemberAnswers, has_members, rows_grids
        from committee.report.provenance import known_rows, known_rows_sentence

        check_writable(report, read=[model, data])
        for option, name in (("--target", target), ("--weight", weight)):
            if data is None and name is not None:
                raise ValueError(f"{option} names a column of --data; add --data, or leave out {option}")
        learner = load_learner(model)
        if weight is not None and has_members(learner):
            raise ValueError(
                "--weight does not go with the tables of a committee's members, which count each row once; use"
                " committee evaluate --weight, with --report for a page"
            )
        X = y = margins = offset = weights = None
        if data is not None:
            rows = read_labelled_rows(learner, data, target, table, fitted_exposure(learner, None), weight)
            X, y, offset, weights = rows.X, rows.y, rows.offset, rows.weights
            if hasattr(learner, "classes_"):
                margins = learner.committee_.margins(X, y)
        size = model.stat().st_size
        grids = inspection(learner, file_bytes=size, margins=margins, sample_weight=weights)
        known: str | None = None
        if X is not None and y is not None:
            from committee.report.evaluation import Evaluation, evaluate

            overlap, of_members = known_rows(learner, X), has_members(learner)
            shows_errors = margins is None and not of_members  # numbers have errors where classes have margins
            found: Evaluation | None = None
            if overlap is None or shows_errors:
                found = evaluate(learner, X, y, offset=offset, sample_weight=weights)
            known = known_rows_sentence(learner, overlap, found)
            if of_members:
                grids += rows_grids(MemberAnswers.of(learner, X, rows.per_unit))
            elif found is not None and shows_errors:
                grids += found.grids()
        print_tables(grids)
        if known is not None:
            note(known)
        if report is not None:
            from committee.report.model_pages import render_model

            rows_name = "" if data is None else data.name
            named: dict[str, Any] = {"name": model.name, "data": rows_name, "file_bytes": size, "margins": margins}
            page = render_model(learner, X, y, offset=offset, sample_weight=weights, **named)
            write_page(page, report)


@takes_options
def explain(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Table with the columns of the model.")],
    table: TableOptions,
    row: Annotated[int, typer.Option(help="Number of the row; the first is 0.")] = 0,
    label: Annotated[
        str | None, typer.Option("--class", help="Class to explain. Default: the predicted class.")
    ] = None,
    quantile: Annotated[
        float | None, typer.Option(help="Quantile to explain, of several. Default: the one nearest to the median.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="Columns to show; the others are summed up.")] = 12,
    picture: Annotated[Path | None, typer.Option(help="File of a picture: .svg, .png or .pdf.")] = None,
    report: Annotated[Path | None, typer.Option(help="File of an HTML page with the model card.")] = None,
    debug: Debug = False,
) -> None:
    """Explain the prediction for one row by contributions of the columns.

    With the first line of the table they add up to the probability of the class (forests, subagged or single
    trees, committees of ensembles), to the score (other classifiers), or to the predicted number (its
    logarithm after a fit with a log link).

    Example: committee explain model.safetensors new.csv --row 3 --picture row3.svg
    """
    with error_lines(debug, picture, report):
        from committee.cli.model_rows import read_features
        from committee.report.explanation import RowExplanation, row_grid, row_sentences
        from committee.report.prediction_sets import model_inside, set_of_row

        check_ending(picture, "a picture", FIGURES)
        check_writable(picture, report, read=[model, data])
        learner = load_learner(model)
        X = read_features(learner, data, table)
        if not 0 <= row < len(X):
            rows = "1 row, numbered 0" if len(X) == 1 else f"{len(X):,} rows, numbered from 0 to {len(X) - 1:,}"
            raise ValueError(f"--row {row} does not exist: {data} has {rows}")
        of_row = _class(learner, label) if quantile is None else _quantile(learner, quantile)
        try:
            found = RowExplanation.of(model_inside(learner), X[row : row + 1], 0, label=of_row)
        except TypeError as error:
            raise ValueError(
                f"{model} cannot be explained: {error} Models of trees can: fit one with -m gradient_boosting or"
                " -m random_forest"
            ) from error
        name = f"row {row:,} of {data} (the first is 0)"
        sets = set_of_row(learner, X[row : row + 1])
        print_sentences([f"{name}: {found.remark}", *row_sentences(found), *([sets] if sets else []), ""])
        print_tables([row_grid(found, most)])
        if picture is not None:
            from committee.report.displays.contributions import ContributionDisplay

            write_picture(ContributionDisplay.of(found, max_features=most).plot().figure_, picture)
        if report is not None:
            from committee.report.model_pages import row_page

            write_page(row_page(learner, found, row=name, title=model.name, most=most), report)


def _class(learner: Any, label: str | None) -> Any:
    from committee.report.explanation import explains_probabilities

    if label is None:
        return None
    classes = getattr(learner, "classes_", None)
    if classes is None:
        raise ValueError(f"--class {label}: the model predicts numbers; leave out --class")
    by_name = {str(known): known for known in classes.tolist()}
    if label not in by_name:
        raise ValueError(f"--class {label!r} is not a class of the model; {suggest_names(label, list(by_name))}")
    if len(by_name) == 2 and not explains_probabilities(learner):
        raise ValueError(
            f"--class {label}: the model has one score for its two classes, above 0 for {classes[1]} and below 0 for"
            f" {classes[0]}; leave out --class"
        )
    return by_name[label]


def _quantile(learner: Any, quantile: float) -> float:
    from committee.report.figures import quantile_levels
    from committee.report.prediction_sets import model_inside

    learner = model_inside(learner)
    levels = () if hasattr(learner, "classes_") else quantile_levels(learner, learner.committee_.voters.n_outputs)
    if len(levels) < 2:
        raise ValueError(f"--quantile {quantile:g}: the model does not predict several quantiles; leave out --quantile")
    if quantile not in levels:
        raise ValueError(
            f"--quantile {quantile:g} is not predicted by the model; use one of {', '.join(f'{q:g}' for q in levels)}"
        )
    return quantile


@dataclass(frozen=True)
class CertifyOptions:
    target: LabelColumn = None
    on: Annotated[
        str,
        typer.Option(
            metavar="validation|oob",
            help="validation: rows not used in training; oob: training rows, each predicted by its out-of-bag voters.",
        ),
    ] = "validation"
    delta: Annotated[
        float,
        typer.Option(help="Probability that the bound fails; and, separately, that any bound of the table fails."),
    ] = 0.05
    bounds: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="Names of bounds. Default: all that the rows allow.")
    ] = None
    votes: Annotated[
        str,
        typer.Option(metavar="own|labels", help="own: the vote of the model; labels: each voter votes for one class."),
    ] = "own"
    weight: Weight = None
    test: Annotated[Path | None, typer.Option(help="Labelled table whose error is shown beside the bounds.")] = None
    unlabelled: Annotated[Path | None, typer.Option(help="Table of unlabelled rows, for one more bound.")] = None


@takes_options
def certify(
    model: ModelFile,
    data: Annotated[Path, typer.Argument(help="Labelled rows, see --on.")],
    table: LabelledOptions,
    options: CertifyOptions,
    debug: Debug = False,
) -> None:
    """Bound the error of a classifier on new rows, with probability 1 - delta.

    First comes one bound, with its method and its assumptions: the test-set bound, with all of delta, of held-out rows
    or of at least 30 that no voter was trained on, else the smallest of the table. Then comes the table of all bounds,
    which share delta.

    The rows must not have been used in training. With --on oob they are the training rows, each predicted by its
    out-of-bag voters. Training rows given as validation rows are refused if the model file identifies them.

    Example: committee certify model.safetensors new.csv --target outcome
    """
    with error_lines(debug):
        from committee import certify as run
        from committee.cli.bare_committee import require_draws
        from committee.cli.model_rows import out_of_bag_advice, read_features, read_labelled_rows
        from committee.report.provenance import known_rows, learned_from

        on, votes = options.on, options.votes
        check_choice("--on", on, ("validation", "oob"))
        check_choice("--votes", votes, ("own", "labels"))
        if options.weight is not None and on != "oob":
            raise ValueError(
                "--weight is that of the fit, for --on oob; held-out rows count once each, so leave it out"
            )
        learner = load_learner(model)
        require_classes(learner, model, "certified", "use committee evaluate to measure errors on new rows")
        require_draws(learner, model, on)
        rows = read_labelled_rows(learner, data, options.target, table, weight=options.weight)
        if on == "validation" and (learned := learned_from(learner, known_rows(learner, rows.X))):
            raise ValueError(
                f"{learned}: they prove nothing about new rows; give rows not used in training"
                f"{out_of_bag_advice(learner, checked=True)}"
            )
        further = None if options.test is None else read_labelled_rows(learner, options.test, options.target, table)
        try:
            with notes_on_warnings():
                found = run(
                    learner,
                    rows.X,
                    rows.y,
                    options.delta,
                    on,  # type: ignore[arg-type]  # checked above
                    None if further is None else further.X,
                    None if further is None else further.y,
                    bounds=split_names(options.bounds) or None,
                    votes=votes,  # type: ignore[arg-type]
                    sample_weight=rows.weights,
                    X_unlabelled=None
                    if options.unlabelled is None
                    else read_features(learner, options.unlabelled, table),
                )
        except TypeError as error:
            raise ValueError(f"{model} cannot be certified: {error}") from error
        sentences = [*map(with_options, found.sentences(f" of {data}")), _baselines(found.headline, rows.y)]
        if found.test_error is not None:
            sentences.append(f"The error on the rows of {options.test} is {found.test_error:.4f}.")
        print_sentences([*sentences, ""])
        print_tables([_bounds_table(found)])


def _bounds_table(found: Certificate) -> Grid:
    from committee.report.page import Grid

    rows, test = [], found.test_error
    for row in sorted(found.rows(), key=lambda row: row["value"]):
        bound = min(row["value"], 1.0)
        above = () if test is None else (f"{bound - test:+.4f}",)
        rows.append((row["bound"], f"{bound:.4f}", *above, "vacuous" if row["vacuous"] else "valid", row["advice"]))
    columns = ("bound", "error at most", *(() if test is None else ("above test error",)), "", "smaller with")
    title = f"All bounds, valid together with probability {1.0 - found.delta:g}"
    return Grid(title, columns, tuple(rows), "lr" + ("" if test is None else "r") + "ll")


def _baselines(bound: Bound, y: NDArray[Any]) -> str:
    import numpy as np

    labels, counts = np.unique(y, return_counts=True)
    most = labels.tolist()[int(counts.argmax())]
    error = 1.0 - float(counts.max()) / len(y)
    beaten = bound.vacuous or bound.value < error
    return (
        f"Guessing at random has error {bound.trivial:.4g}: bounds of this size or more are vacuous. Always predicting"
        f" {most}, the most frequent class, has error {error:.4f} on these rows"
        f"{'' if beaten else ': the bound does not show that the model is better'}."
    )


def models() -> None:
    """List the models of --model and --models, and what they predict."""
    from committee.report.models import models_grid

    print_tables([models_grid()])
