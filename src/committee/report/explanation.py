"""Explanations of a fitted model: given rows and what their page shows, and one row as a sum over the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from textwrap import shorten
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import metrics
from sklearn.utils.validation import check_is_fitted

from committee.data.bins import RowOverlap
from committee.data.columns import is_frame, open_frame
from committee.data.matrices import is_sparse
from committee.data.number_types import F64, Index, is_whole
from committee.report.column_effects import MOST_ROWS, Effect, TableRows, effects, spread_rows, stored_effects
from committee.report.evaluation import Evaluation, evaluate, predictions_over
from committee.report.figures import ThresholdModel, quantile_levels
from committee.report.inspection import Importances
from committee.report.metrics import four_digit_decimals
from committee.report.page import Grid
from committee.report.prediction_sets import CoveredRows, model_inside
from committee.report.provenance import known_rows
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.rules import missing_condition
from committee.vote.explain.tree_contributions import default_output
from committee.vote.links.mean import Log, Ordered
from committee.vote.margin_distribution import MarginDistribution
from committee.vote.members import MemberCommittees
from committee.vote.weighted_votes import lead
from committee.voters.model_forest import BoostedCommittees

# --- one row ----------------------------------------------------------------------------------------------------------


MOST_NAMED, MOST_LETTERS = 3, 40
"""Columns that a sentence names, and characters of a text cell."""


def place(name: str, given: object, n: int) -> int:
    if not (is_whole(given) and -n <= given < n):
        what = "targets" if name == "label" else f"{name}s"
        raise ValueError(f"{name}={given!r} is out of range; {what} are numbered from 0 to {n - 1}, -1 is the last")
    return int(given) % n


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """Score, number or probability of one row as a sum over the columns."""

    labels: tuple[str, ...]  # such as "age = 41"
    contributions: F64  # (p + 1,), the start of the sum last
    subject: str  # the quantity that they add up to
    total: str  # "score", "prediction" or "probability"
    of_classes: bool
    predicted: Any
    remark: str  # the prediction as text

    @classmethod
    def of(cls, estimator: Any, X: Any, row: int = 0, *, label: Any = None) -> Self:
        """Explain row `row` of a frame or array (n, p); `label` selects a class, a target or a quantile."""
        check_explained(estimator)
        if is_sparse(X):
            raise TypeError("X is sparse, and values of one row are explained; pass X[[row]].toarray() and row=0")
        table, rows = estimator.table_, estimator.validate_rows(X)
        encoded = table.source.encode(rows)
        row = place("row", row, len(encoded))
        one = TableRows(X).taken(np.array([row]))
        labels = _values_and_parts(table, encoded[row], one)
        of_classes = hasattr(estimator, "classes_")
        contributions, subject, total, predicted, remark = (_of_class if of_classes else _of_number)(
            estimator, one, label
        )
        return cls(labels, contributions, subject, total, of_classes, predicted, remark)

    def largest(self, most: int) -> tuple[list[tuple[str, float]], tuple[int, float]]:
        return largest_shares(self.contributions, self.labels, most)

    @property
    def start(self) -> str:
        return start_in_words(self.total)


def largest_shares(
    contributions: F64, labels: Sequence[str], most: int
) -> tuple[list[tuple[str, float]], tuple[int, float]]:
    """Return at most `most` contributions, by size, and number and sum of the rest."""
    shares = contributions[:-1]
    order = np.argsort(-np.abs(shares), kind="stable")
    n_shown = min(most, max(1, np.count_nonzero(shares)))
    shown = [(labels[j], float(shares[j])) for j in order[:n_shown].tolist()]
    others = order[n_shown:]
    return shown, (len(others), float(shares[others].sum()))


def start_in_words(total: str) -> str:
    # the probability at the mean vote of the training rows is not the mean of their probabilities
    return "baseline" if total == "probability" else "mean of training rows"


def values_in_words(encoded: F64, table: Any, one: Any) -> list[str]:
    """Return texts such as ``age = 41`` of an encoded row; `one` is the table of that row."""
    words = []
    for j, value in enumerate(encoded.tolist()):
        known = table.coded(j)
        if np.isnan(value):
            cell = None if known is None else _cell(one, j)
            column = table.column(j)
            words.append(missing_condition(column) if cell is None else f"{column} = {cell} (unknown, read as missing)")
        else:
            text = table.format_number(j, value) if known is None else str(known[int(value)])
            words.append(f"{table.quantity(j)} = {text}")
    return words


def _values_and_parts(table: Any, encoded: F64, one: Any) -> tuple[str, ...]:
    words = values_in_words(encoded, table.source, one)
    for j, name in enumerate(table.source.explained):
        if name in table.texts and (cell := _cell(one, j)) is not None:
            words[j] = f"{name} = {shorten(cell, MOST_LETTERS, placeholder=' ...')!r}"
    parts = table.explained[table.source.n_features :]
    cells = table.encode(one)[0].tolist() if parts else []
    for name in parts:
        j = table.names.index(name)
        if np.isnan(cells[j]):
            words.append(missing_condition(name))
        else:
            # the date itself has the day, which the elapsed share of the month gives only roughly
            whole = np.floor(cells[j]) if table.date_part(j) == "month" else cells[j]
            words.append(f"{name} = {table.format_number(j, whole, 4)}")
    return tuple(words)


def _cell(one: Any, column: int) -> str | None:
    if is_frame(one):
        frame = open_frame(one)
        cell = None if frame[frame.columns[column]].is_null()[0] else frame[frame.columns[column]].to_list()[0]
    else:
        cell = one[0, column].item() if hasattr(one[0, column], "item") else one[0, column]
    if cell is None or cell != cell:
        return None
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


def explains_probabilities(estimator: Any) -> bool:
    votes = estimator.committee_
    is_of_classes = hasattr(estimator, "classes_")
    return is_of_classes and (isinstance(votes.voters, MemberCommittees) or default_output(votes) == "probability")


def check_explained(estimator: Any) -> None:
    if not (hasattr(estimator, "contributions") and hasattr(estimator, "validate_rows")):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, which has no contributions(X); give a fitted learner of "
            "this library"
        )
    check_is_fitted(estimator)


def contributions_of_rows(estimator: Any, X: Any) -> tuple[F64, str]:
    """Return contributions of columns, (n, p + 1) or (n, p + 1, K), and the kind of their sum."""
    table, is_of_classes = estimator.table_, hasattr(estimator, "classes_")
    if explains_probabilities(estimator):
        shares = probability_contributions(estimator.committee_, estimator.validate_rows(X))
        return shares if table is None else table.by_part(shares, 1), "probability"
    by_part = {} if table is None or table.source is table else {"parts": True}
    total = "score" if is_of_classes else default_output(estimator.committee_)
    found: F64 = estimator.contributions(X, output=total, **by_part)
    return found, total


def _of_class(estimator: Any, one: Any, label: Any) -> tuple[F64, str, str, Any, str]:
    votes, classes = estimator.committee_, estimator.classes_.tolist()
    predicted = estimator.predict(one).tolist()[0]
    label = predicted if label is None else label
    if label not in classes:
        raise ValueError(f"label={label!r} is not a class; the classes are {', '.join(map(repr, classes))}")
    of_rows, total = contributions_of_rows(estimator, one)
    shares = of_rows[0]
    remark = f"predicted {predicted} ({estimator.predict_proba(one)[0, classes.index(predicted)]:.0%})"
    score = "mean score" if isinstance(votes.voters, BoostedCommittees) else total
    if shares.ndim == 1:
        subject = f"{score}: above 0 for {classes[-1]}, below for {classes[0]}"
        return shares, subject, total, predicted, remark
    return shares[:, classes.index(label)], f"{score} for {label}", total, predicted, remark


def _of_number(estimator: Any, one: Any, label: Any) -> tuple[F64, str, str, Any, str]:
    link, predicted = estimator.committee_.link, estimator.predict(one)[0]
    if isinstance(link, Ordered) and np.ndim(predicted):
        return _of_quantile(estimator, one, label, predicted)
    of_rows, total = contributions_of_rows(estimator, one)
    shares = of_rows[0]
    subject = f"{total}: the logarithm of the prediction" if isinstance(link, Log) else total
    k = place("label", 0 if label is None else label, 1 if shares.ndim == 1 else shares.shape[1])
    if shares.ndim > 1:
        shares, predicted, subject = shares[:, k], predicted[k], f"{total} for target {k}"
    return shares, subject, total, float(predicted), f"predicted {predicted:.4g}"


def _of_quantile(estimator: Any, one: Any, label: Any, predicted: F64) -> tuple[F64, str, str, Any, str]:
    levels = quantile_levels(estimator, len(predicted))
    names = [f"{level:g}" for level in levels] or [str(k) for k in range(len(predicted))]
    if label is None:
        k = int(np.argmin(np.abs(np.array(levels) - 0.5))) if levels else 0
    else:
        given = f"{label:g}" if isinstance(label, float) else str(label)
        if given not in names:
            raise ValueError(f"label={label!r} is not a quantile of the estimator, which has {', '.join(names)}")
        k = names.index(given)
    # the sum that is this quantile once all sums of the row are sorted
    sums = contributions_of_rows(estimator, one)[0][0]
    column = int(np.argsort(sums.sum(axis=0), kind="stable")[k])
    texts = ", ".join(f"{number:.4g} ({name})" for number, name in zip(predicted.tolist(), names, strict=True))
    subject = f"prediction of quantile {names[k]}"
    return sums[:, column], subject, "prediction", float(predicted[k]), f"predicted {texts}"


def row_sentences(found: RowExplanation) -> list[str]:
    start, end = _fixed(found, float(found.contributions[-1]), float(found.contributions.sum()))
    what, _, meaning = found.subject.partition(": ")
    from_start = f"The mean of the training rows is {start}."
    if found.total == "probability":
        from_start = f"With no column known it is {start}, the baseline."
    sentences = [f"The {what} is {end}{f' ({meaning})' if meaning else ''}. {from_start}"]
    shown, _ = found.largest(len(found.labels))
    for words, sign in (("Raised", 1.0), ("Lowered", -1.0)):
        named = [f"{label} ({share:+.3g})" for label, share in shown if share * sign > 0.0][:MOST_NAMED]
        if named:
            sentences.append(f"{words} most by: {', '.join(named)}.")
    return sentences


def row_grid(found: RowExplanation, most: int) -> Grid:
    shown, (n_others, others) = found.largest(most)
    start, end = _fixed(found, float(found.contributions[-1]), float(found.contributions.sum()))
    shares = _fixed(found, *(share for _, share in shown), others, signed=True)
    rows = [(f"({found.start})", start), *((label, share) for (label, _), share in zip(shown, shares, strict=False))]
    if n_others:
        rows.append((f"({n_others:,} other column{'' if n_others == 1 else 's'})", shares[-1]))
    rows.append((f"({found.total})", end))
    return Grid("Contributions of the columns", ("column", "contribution"), tuple(rows), "lr")


def _fixed(found: RowExplanation, *values: float, signed: bool = False) -> list[str]:
    decimals = four_digit_decimals(float(np.abs(found.contributions).max()))
    if decimals > 9:
        return [f"{value:{'+' if signed else ''}.4g}" for value in values]
    rounded = [round(value, decimals) + 0.0 for value in values]  # no minus before zero
    return [f"{value:{'+' if signed else ''},.{decimals}f}" for value in rounded]


# --- given rows -------------------------------------------------------------------------------------------------------


MOST_EFFECTS, MOST_CURVES = 6, 6
"""Columns whose effects are shown, and outputs with a curve."""


@dataclass(frozen=True, eq=False)
class RankedClass:
    name: str
    share: float
    false_positive_rate: F64
    true_positive_rate: F64
    area: float
    recall: F64
    precision: F64
    average_precision: float

    @classmethod
    def of(cls, name: str, is_class: NDArray[np.bool_], score: F64, weights: F64 | None = None) -> RankedClass:
        given = is_class, score
        false_positive_rate, true_positive_rate, _ = metrics.roc_curve(*given, sample_weight=weights)
        precision, recall, _ = metrics.precision_recall_curve(*given, sample_weight=weights)
        return cls(
            name,
            float(np.average(is_class, weights=weights)),
            false_positive_rate,
            true_positive_rate,
            float(metrics.roc_auc_score(*given, sample_weight=weights)),
            recall,
            precision,
            float(metrics.average_precision_score(*given, sample_weight=weights)),
        )


def ranked_classes(
    y: NDArray[Any], classes: NDArray[Any], scores: F64, most: int, weights: F64 | None = None
) -> list[RankedClass]:
    if weights is not None:
        y, scores, weights = y[weights > 0.0], scores[weights > 0.0], weights[weights > 0.0]
    counts = np.array([np.count_nonzero(y == label) for label in classes.tolist()])
    ranked = [k for k in np.argsort(-counts, kind="stable").tolist() if 0 < counts[k] < len(y)]
    if len(classes) == 2 and len(ranked) == 2:
        ranked = [1]
    return [RankedClass.of(str(classes[k]), y == classes[k], scores[:, k], weights) for k in sorted(ranked[:most])]


@dataclass(frozen=True, eq=False)
class Explanation:
    """A fitted model with rows `X` and their labels or numbers `y`."""

    model: Any
    X: Any = None
    y: NDArray[Any] | None = None
    conformal: Any = None  # model around `model`
    offset: F64 | None = None  # of predictions and metrics, not of effects and contributions
    weights: F64 | None = None
    threshold: float | None = None
    costs: tuple[float, float] | None = None

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        offset: F64 | None = None,
        *,
        sample_weight: F64 | None = None,
        threshold: float | None = None,
        costs: tuple[float, float] | None = None,
    ) -> Self:
        check_is_fitted(model)
        inside = model_inside(model)
        y, wrapper = None if y is None else np.asarray(y), None if inside is model else model
        return cls(inside, X, y, wrapper, offset, sample_weight, threshold, costs)

    @property
    def of_classes(self) -> bool:
        return hasattr(self.model, "classes_")

    @cached_property
    def importances(self) -> Importances | None:
        return Importances.of(self.model)

    def predict(self, rows: Any) -> F64:
        predictions = self.model.predict_proba(rows) if self.of_classes else self.model.predict(rows)
        return np.asarray(predictions, dtype=np.float64).reshape(len(predictions), -1)

    @cached_property
    def predictions(self) -> F64:
        if self.offset is None:
            return self.predict(self.X)
        return predictions_over(self.model, self.X, self.offset).reshape(len(self.offset), -1)

    @cached_property
    def sampled_rows(self) -> Any:
        every = TableRows(self.X)
        return every.taken(spread_rows(len(every), MOST_ROWS))

    @cached_property
    def shown_outputs(self) -> list[tuple[int, str]]:
        if self.of_classes:
            classes = [str(label) for label in self.model.classes_.tolist()]
            if len(classes) == 2:
                return [(1, classes[1])]
            if self.X is None:
                return list(enumerate(classes[:MOST_CURVES]))
            most = np.argsort(-self.predictions.mean(axis=0), kind="stable")[:MOST_CURVES]
            return [(k, classes[k]) for k in sorted(most.tolist())]
        names = [f"quantile {level:g}" for level in self.levels] or [f"target {k}" for k in range(self.n_outputs)]
        return [(k, name if self.n_outputs > 1 else "") for k, name in enumerate(names[:MOST_CURVES])]

    @property
    def n_outputs(self) -> int:
        return int(self.model.committee_.voters.n_outputs)

    @property
    def levels(self) -> tuple[float, ...]:
        return quantile_levels(self.model, self.n_outputs)

    @property
    def ranked_columns(self) -> Index:
        order = self.importances.order if self.importances is not None else range(self.model.n_features_in_)
        table = self.model.table_
        return np.array([j for j in order if table.source.column(j) not in table.texts], dtype=np.intp)

    @cached_property
    def effects(self) -> list[Effect]:
        if self.model.table_ is None:
            return []
        columns = self.ranked_columns[:MOST_EFFECTS]
        if self.X is None:
            return stored_effects(self.model, columns)
        return effects(self.model, self.sampled_rows, columns, self.predict)

    @cached_property
    def evaluation(self) -> Evaluation | None:
        if self.y is None or (self.of_classes and len(np.union1d(self.model.classes_, self.y)) < 2):
            return None
        model = self.model if self.conformal is None else self.conformal
        chosen: dict[str, Any] = {"threshold": self.threshold, "costs": self.costs, "sample_weight": self.weights}
        return evaluate(model, self.X, self.y, offset=self.offset, **chosen)

    @cached_property
    def covered(self) -> CoveredRows | None:
        if self.conformal is None or self.y is None:
            return None
        return CoveredRows.of(self.conformal, self.X, self.y, self.weights, self.offset)

    @cached_property
    def known_rows(self) -> RowOverlap | None:
        return None if self.X is None else known_rows(self.model, self.X)

    @cached_property
    def predicted(self) -> NDArray[Any]:
        model = self.model if self.threshold is None else ThresholdModel(self.model, self.threshold)
        predicted = predictions_over(model, self.X, self.offset)
        if predicted.ndim == 1:
            return predicted
        levels = quantile_levels(self.model, predicted.shape[1])
        return predicted[:, int(np.argmin(np.abs(np.array(levels) - 0.5)))] if levels else predicted[:, 0]

    @cached_property
    def rankings(self) -> list[RankedClass]:
        if self.y is None or not self.of_classes:
            return []
        return ranked_classes(self.y, self.model.classes_, self.predictions, MOST_CURVES, self.weights)

    @cached_property
    def margins(self) -> MarginDistribution | None:
        """Probability of the true class minus the largest other one."""
        if self.y is None or not self.of_classes or len(self.model.classes_) < 2:
            return None
        known = np.isin(self.y, self.model.classes_)
        weights = None if self.weights is None else self.weights[known]
        if not known.any() or (weights is not None and not weights.any()):
            return None
        place = np.searchsorted(self.model.classes_, self.y[known])
        even = np.ones(int(known.sum()))
        return MarginDistribution(lead(self.predictions[known], place), even if weights is None else weights)

    @cached_property
    def errors(self) -> F64:
        assert self.y is not None
        if self.of_classes:
            own = np.where(self.y[:, None] == self.model.classes_, self.predictions, 0.0).sum(axis=1)
            errors: F64 = np.where(self.predicted == self.y, 0.0, 1.0 - own)
        else:
            errors = np.abs(np.asarray(self.y, dtype=np.float64) - self.predicted)
        return errors if self.weights is None else np.where(self.weights > 0.0, errors, 0.0)

    def wrong_rows(self, most: int) -> Index:
        order = np.argsort(-self.errors, kind="stable")[:most]
        return np.asarray(order[self.errors[order] > 0.0])

    def row(self, number: int, label: Any = None) -> RowExplanation | None:
        one = TableRows(self.X).taken(np.array([number]))
        try:
            return RowExplanation.of(self.model, one, label=label)
        except (TypeError, ValueError):  # voters without trees, members with a log link
            return None
