"""Explanation of the prediction for one row as a sum over the columns, in sentences and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, Self

import numpy as np

from committee.data.columns import is_frame, open_frame
from committee.data.matrices import is_sparse
from committee.data.number_types import F64, is_whole
from committee.report.figures import quantile_levels
from committee.report.grid import Grid
from committee.vote.explain.contributions import probability_contributions
from committee.vote.explain.rules import missing_condition
from committee.vote.explain.tree_contributions import default_output
from committee.vote.links.mean import Log, Ordered
from committee.vote.members import MemberCommittees
from committee.voters.committees import BoostedCommittees

MOST_NAMED, MOST_LETTERS = 3, 40
"""Columns that a sentence names, and characters of a text cell."""


def place(name: str, given: object, n: int) -> int:
    if not (is_whole(given) and -n <= given < n):
        raise ValueError(f"{name}={given!r} is out of range; {name}s are numbered from 0 to {n - 1}, -1 is the last")
    return int(given) % n


@dataclass(frozen=True, eq=False)
class RowExplanation:
    """Score, number or probability of one row as a sum over the columns.

    `labels` are columns with the values of the row, as ``"age = 41"``. `contributions` (p + 1,) are those of the
    columns, and last the start of the sum. `subject` is the quantity that they add up to, `total` its kind: "score",
    "prediction" or "probability". `remark` is the prediction as text.
    """

    labels: tuple[str, ...]
    contributions: F64
    subject: str
    total: str
    of_classes: bool
    predicted: Any
    remark: str

    @classmethod
    def of(cls, estimator: Any, X: Any, row: int = 0, *, label: Any = None) -> Self:
        """Explain row `row` of a frame or array (n, p), by a fitted learner that has ``contributions(X)``.

        `label` selects a class (default: the predicted one), the index of a target (0), or a quantile (the one nearest
        to the median). Either of two classes with one score selects that score.
        """
        check_explained(estimator)
        if is_sparse(X):
            raise TypeError("X is sparse, and values of one row are explained; pass X[[row]].toarray() and row=0")
        table, rows = estimator.table_, estimator.validate_rows(X)
        encoded = table.source.encode(rows)
        row = place("row", row, len(encoded))
        one = open_frame(X)[row : row + 1].to_native() if is_frame(X) else np.asarray(X)[[row]]
        labels = (*_columns_in_words(table, encoded[row], one), *_parts_in_words(table, one))
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
    """Return at most `most` contributions other than 0, by size (one if all are 0); and number and sum of the rest."""
    shares = contributions[:-1]
    order = np.argsort(-np.abs(shares), kind="stable")
    n_shown = min(most, max(1, np.count_nonzero(shares)))
    shown = [(labels[j], float(shares[j])) for j in order[:n_shown].tolist()]
    others = order[n_shown:]
    return shown, (len(others), float(shares[others].sum()))


def start_in_words(total: str) -> str:
    # the probability at the mean vote of the training rows is not the mean of their probabilities
    return "baseline" if total == "probability" else "mean of training rows"


def values_in_words(encoded: F64, table: Any, one: Any) -> Sequence[str]:
    """Return ``age = 41`` for every column of an encoded row, which is the only one of the table `one`."""
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


def _columns_in_words(table: Any, encoded: F64, one: Any) -> list[str]:
    words = list(values_in_words(encoded, table.source, one))
    for j, name in enumerate(table.source.explained):
        if name in table.texts and (cell := _cell(one, j)) is not None:
            words[j] = f"{name} = {shorten(cell, MOST_LETTERS, placeholder=' ...')!r}"
    return words


def _parts_in_words(table: Any, one: Any) -> list[str]:
    names = table.explained[table.source.n_features :]
    if not names:
        return []
    cells = dict(zip(table.names, table.encode(one)[0].tolist(), strict=True))
    return [missing_condition(name) if np.isnan(cells[name]) else f"{name} = {cells[name]:.4g}" for name in names]


def _cell(one: Any, column: int) -> str | None:
    if is_frame(one):
        frame = open_frame(one)
        cell = None if frame[frame.columns[column]].is_null()[0] else frame[frame.columns[column]].to_list()[0]
    else:
        cell = one[0, column].item() if hasattr(one[0, column], "item") else one[0, column]
    if cell is None or cell != cell:
        return None
    return f"{cell:g}" if isinstance(cell, float) else str(cell)


# --- the sum ---------------------------------------------------------------------------------------------


def explains_probabilities(estimator: Any) -> bool:
    votes = estimator.committee_
    is_of_classes = hasattr(estimator, "classes_")
    return is_of_classes and (isinstance(votes.voters, MemberCommittees) or default_output(votes) == "probability")


def check_explained(estimator: Any) -> None:
    from sklearn.utils.validation import check_is_fitted

    if not (hasattr(estimator, "contributions") and hasattr(estimator, "validate_rows")):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}, which has no contributions(X); give a fitted learner of "
            "this library"
        )
    check_is_fitted(estimator)


def contributions_of_rows(estimator: Any, X: Any) -> tuple[F64, str]:
    """Contributions of columns, (n, p + 1) or (n, p + 1, K), and the kind of their sum.

    The kind is "probability", "score" or "prediction". K is the number of classes, targets or quantiles.
    """
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


# --- text ------------------------------------------------------------------------------------------------


def row_sentences(found: RowExplanation) -> list[str]:
    start, end = _fixed(found, float(found.contributions[-1]), float(found.contributions.sum()))
    what, _, meaning = found.subject.partition(": ")
    # the probability at the mean score is not the mean of the probabilities, which would be the share of the class
    known = f"The {'prediction for the mean score' if found.total == 'probability' else 'mean'} of the training rows"
    sentences = [f"The {what} is {end}{f' ({meaning})' if meaning else ''}. {known} is {start}."]
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
    # the decimals that give the largest contribution four digits
    largest = float(np.abs(found.contributions).max())
    decimals = 4 if largest == 0.0 else max(0, 3 - int(np.floor(np.log10(largest))))
    if decimals > 9:
        return [f"{value:{'+' if signed else ''}.4g}" for value in values]
    rounded = [round(value, decimals) + 0.0 for value in values]  # no minus before zero
    return [f"{value:{'+' if signed else ''},.{decimals}f}" for value in rounded]
