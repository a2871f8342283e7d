"""Members of a committee of ensembles: their training, their predictions on given rows, and tables of both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.utils.validation import check_array, check_consistent_length, check_is_fitted, column_or_1d

from committee.data.number_types import F64, Index
from committee.data.rows import ClassWeights
from committee.data.text import byte_text, pluralize, shortened
from committee.files.documents import Estimate
from committee.learners.blend.blend import Blend
from committee.learners.blend.weights import MIN_PROBABILITY, loss_label, reported_loss, row_losses
from committee.objectives.losses import Loss, Squared
from committee.report.drawing.scale import format_percent
from committee.report.metrics import Reliability, four_digit_decimals
from committee.report.page import BLANK, Grid
from committee.vote.committee import Committee

IN_MEMBERS_GRID = frozenset(
    (
        *("member_weights_", "member_losses_", "member_gains_", "member_seconds_", "member_predict_times_"),
        *("left_out_losses_", "left_out_seconds_"),
    )
)
"""Stored figures of the candidates that `members_grid` and `left_out_grid` show."""

_SHOWN_SHARE = 0.05
"""Share of the members' bytes above which names, categories and texts of columns have a line in the table."""
MOST_CLASSES, MOST_ROWS = 20, 12
"""Classes and rows that tables show."""


def has_members(model: Any) -> bool:
    return isinstance(model, Blend) and hasattr(model, "member_names_")


# --- training --------------------------------------------------------------------------------------------


def members_grid(model: Any) -> Grid:
    rows = [
        (
            one["member"],
            f"{one['weight']:.1%}",
            f"{one['fits']:,}",
            _loss(model, one["loss"]),
            BLANK if len(model.member_names_) == 1 else _loss(model, model.oof_loss_ + one["gain"]),
            f"{one['seconds']:.2f}",
            f"{one['nodes']:,}",
            BLANK if one["file_bytes"] is None else byte_text(one["file_bytes"]),
            BLANK if one["predict_us"] is None else f"{one['predict_us']:.1f}",
        )
        for one in model.members_.iter_rows(named=True)
        if one["left_out"] is None
    ]
    n = len(rows)
    if rows and (own := model.committee_.column_bytes) > _SHOWN_SHARE * model.members_["file_bytes"].sum():
        rows += [("(columns)", *(BLANK, BLANK, BLANK, BLANK, BLANK, BLANK), byte_text(own), BLANK)]
    columns = (
        *("member", "weight", "fits", f"CV {_loss_name(model)}", "vote without", "fit time (s)", "nodes"),
        *("file", "vote time (µs/row)"),
    )
    return Grid(f"Members ({n} of {n + len(model.left_out_)} candidates)", columns, tuple(rows), "lrrrrrrrr")


def left_out_grid(model: Any) -> Grid:
    rows = [
        (
            one["member"],
            _loss(model, one["loss"]),
            BLANK if one["seconds"] is None else f"{one['seconds']:.2f}",
            one["left_out"],
        )
        for one in model.members_.iter_rows(named=True)
        if one["left_out"] is not None
    ]
    columns = ("candidate", f"CV {_loss_name(model)}", "fit time (s)", "reason")
    return Grid("Candidates left out", columns, tuple(rows), "lrrl")


def score_name(model: Any) -> str:
    if hasattr(model, "classes_"):
        return "accuracy"
    return "R2" if isinstance(getattr(model, "number_loss", None), Squared | None) else "D2"


def estimate(model: Any, y: NDArray[Any], sample_weight: F64 | None = None) -> str:
    if not np.isfinite(model.oof_loss_):
        return "on rows not seen in training: not known, as there are too few rows to evaluate members"
    loss = _loss(model, model.oof_loss_)
    if not hasattr(model, "classes_"):
        score = BLANK if np.isnan(model.oof_score_) else f"{model.oof_score_:.4f}"
        return f"on rows not seen in training: {score_name(model)} {score}, {_loss_name(model)} {loss}"
    weighted = "" if model.class_weight is None else ", rows weighted by class_weight"
    return (
        f"on rows not seen in training: accuracy {model.oof_score_:.4f} (most frequent class:"
        f" {_most_frequent(model, y, sample_weight):.4f}{weighted}), log loss {loss}"
    )


def stored_estimate(model: Any, y: NDArray[Any], sample_weight: F64 | None = None) -> Estimate | None:
    loss, score = float(model.oof_loss_), float(model.oof_score_)
    if not np.isfinite(loss):
        return None
    if hasattr(model, "classes_"):
        constant = _most_frequent(model, y, sample_weight)
        figures = {"accuracy": score, "accuracy_of_most_frequent": constant, "log_loss": loss}
    elif score_name(model) == "R2":
        figures = {"r2": score, "rmse": loss**0.5}
    else:
        figures = {"d2": score, loss_label(model.number_loss): reported_loss(model.number_loss, loss)}
    known = {name: value for name, value in figures.items() if np.isfinite(value)}
    return Estimate("out of fold", len(y), known)


def _most_frequent(model: Any, y: NDArray[Any], sample_weight: F64 | None = None) -> float:
    weights = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if model.class_weight is not None:
        labels = np.asarray(y)
        weights = weights * ClassWeights.of(model.class_weight, labels, weights).of_rows(labels)
    return float(np.bincount(np.unique(y, return_inverse=True)[1], weights).max() / weights.sum())


def _loss_name(model: Any) -> str:
    return "log loss" if hasattr(model, "classes_") else loss_label(model.number_loss)


def _loss(model: Any, loss: float | None) -> str:
    if loss is None or not np.isfinite(loss):
        return BLANK
    if hasattr(model, "classes_"):
        return f"{loss:.4f}"
    loss, vote = (reported_loss(model.number_loss, each) for each in (loss, model.oof_loss_))
    decimals = four_digit_decimals(vote)
    return f"{loss:,.{decimals}f}" if decimals <= 7 else f"{loss:.4g}"


# --- predictions -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MemberAnswers:
    """Class probabilities, or numbers (K = 1), of members, `answers` (m, n, K), and of their `vote` (n, K)."""

    names: tuple[str, ...]
    weights: F64
    answers: F64
    vote: F64
    classes: NDArray[Any] | None
    truth: NDArray[Any] | None  # (n,) class indices or numbers
    loss: Loss = field(default_factory=Squared)

    @classmethod
    def of(cls, model: Any, X: Any, y: ArrayLike | None = None) -> Self:
        if not isinstance(model, Blend):
            raise TypeError(f"model is a {type(model).__name__}; give a CommitteeClassifier or a CommitteeRegressor")
        check_is_fitted(model)
        if not hasattr(model, "member_names_"):
            raise ValueError("the model has no members, as it was fitted on one class; fit it on several")
        rows = model.validate_rows(X)
        order = np.argsort(-model.member_weights_, kind="stable")
        names = tuple(model.member_names_[k] for k in order.tolist())
        answers = [_predicted(model.member(name), rows) for name in names]
        vote = _predicted(model.committee_, rows)
        classes: NDArray[Any] | None = None
        loss: Loss = model.number_loss or Squared()
        truth: NDArray[Any] | None = None
        if isinstance(model.committee_, Committee):
            classes = model.classes_
            truth = None if y is None else model.committee_.class_indices(y)
        elif y is not None:
            truth = check_array(column_or_1d(y), dtype=np.float64, ensure_2d=False, input_name="y")
            loss.check_target(truth)
        check_consistent_length(vote, truth)
        return cls(names, model.member_weights_[order], np.stack(answers), vote, classes, truth, loss)

    @property
    def everyone(self) -> F64:
        """Predictions of the members, and last of the vote, shape (m + 1, n, K)."""
        return np.concatenate([self.answers, self.vote[None]])

    @property
    def n_rows(self) -> int:
        return len(self.vote)

    def elected(self) -> Index:
        return np.asarray(self.everyone.argmax(axis=2))

    def errors(self) -> F64:
        truth = self._known()
        if self.classes is None:
            predicted = self.everyone[:, :, 0]
            return np.array(
                [reported_loss(self.loss, float(row_losses(self.loss, truth, p).mean())) for p in predicted]
            )
        return np.asarray((self.elected() != truth).mean(axis=1))

    def log_losses(self) -> F64:
        p = self.everyone[:, np.arange(self.n_rows), self._known()]
        return np.asarray(-np.log(np.maximum(p, MIN_PROBABILITY)).mean(axis=1))

    def disagreement(self) -> F64:
        """Return shares of rows with different predictions, or RMS differences of numbers, shape (m + 1, m + 1)."""
        if self.classes is None:
            predicted = self.everyone[:, :, 0]
            return np.asarray(np.sqrt(((predicted[:, None] - predicted[None]) ** 2).mean(axis=2)))
        elected = self.elected()
        return np.asarray((elected[:, None] != elected[None]).mean(axis=2))

    def divergence(self) -> F64:
        """Return the Jensen-Shannon divergence of the members on each row (nats), of numbers the standard deviation.

        J. Lin (1991). IEEE Transactions on Information Theory 37.
        """
        mean = np.einsum("m,mnk->nk", self.weights, self.answers)
        if self.classes is None:
            spread = np.einsum("m,mn->n", self.weights, (self.answers[:, :, 0] - mean[:, 0]) ** 2)
            return np.asarray(np.sqrt(spread))
        within = np.einsum("m,mn->n", self.weights, entr(self.answers).sum(axis=2))
        return np.asarray(np.maximum(entr(mean).sum(axis=1) - within, 0.0))

    def most_disputed(self, most: int) -> Index:
        apart = self.divergence()
        order = np.argsort(-apart, kind="stable")[:most]
        return order[apart[order] > 0.0]

    def _known(self) -> NDArray[Any]:
        if self.truth is None:
            raise ValueError("y is missing; give the labels or numbers of the rows")
        return self.truth


def _predicted(committee: Any, rows: Any) -> F64:
    if isinstance(committee, Committee):
        return committee.predict_proba(rows)
    return np.asarray(committee.predict(rows), dtype=np.float64).reshape(-1, 1)


# --- tables of predictions -------------------------------------------------------------------------------------------


def rows_grids(answers: MemberAnswers) -> list[Grid]:
    grids = []
    if answers.truth is not None:
        grids.append(figures_grid(answers))
        if answers.classes is not None:
            grids.append(classes_grid(answers))
    disputed = disputed_grid(answers)
    return [*grids, disputed] if disputed.rows else grids


def reliabilities(answers: MemberAnswers) -> dict[str, Reliability]:
    right = answers.elected() == answers.truth
    everyone = zip((*answers.names, "vote"), answers.everyone, right, strict=True)
    return {name: Reliability.of(p, each) for name, p, each in everyone}


def figures_grid(answers: MemberAnswers) -> Grid:
    apart, errors = answers.disagreement()[-1], answers.errors()
    against_vote: dict[str, list[str]]
    if answers.classes is None:
        metrics = {loss_label(answers.loss): [f"{error:.4g}" for error in errors]}
        against_vote = {"RMS difference to the vote": [f"{each:.4g}" for each in apart]}
    else:
        right = answers.elected() == answers.truth
        metrics = {
            "accuracy": [f"{1.0 - error:.4f}" for error in errors],
            "log loss": [f"{loss:.4f}" for loss in answers.log_losses()],
            "calibration error": [f"{each.calibration_error:.4f}" for each in reliabilities(answers).values()],
        }
        against_vote = {
            "differs from the vote": [format_percent(float(each)) for each in apart],
            "and is right": [format_percent(float((each & ~right[-1]).mean())) for each in right],
        }
    for column in against_vote.values():
        column[-1] = BLANK
    columns = {
        "": [*answers.names, "vote"],
        "weight": [*(f"{weight:.1%}" for weight in answers.weights), BLANK],
        **metrics,
        **against_vote,
    }
    *members, vote = zip(*columns.values(), strict=True)
    title = f"Members on {pluralize(answers.n_rows, 'row')}"
    return Grid(title, tuple(columns), (vote, *members), "l" + "r" * (len(columns) - 1))


def classes_grid(answers: MemberAnswers) -> Grid:
    assert answers.classes is not None and answers.truth is not None
    elected, rows = answers.elected()[-1], []
    counts = np.bincount(answers.truth, minlength=len(answers.classes))
    for k in np.argsort(-counts, kind="stable").tolist()[:MOST_CLASSES]:
        own, chosen = answers.truth == k, elected == k
        mean = answers.everyone[:, own, k].mean(axis=1) if own.any() else np.full(len(answers.names) + 1, np.nan)
        rows.append(
            (
                shortened(str(answers.classes[k])),
                f"{counts[k]:,}",
                *(f"{float((own & chosen).sum()) / float(n):.3f}" if n else BLANK for n in (counts[k], chosen.sum())),
                *(BLANK if np.isnan(p) else f"{p:.3f}" for p in [mean[-1], *mean[:-1]]),
            )
        )
    n = len(answers.classes)
    some = f"{MOST_CLASSES} most frequent of {n} classes" if n > MOST_CLASSES else f"{n} classes"
    columns = ("class", "rows", "recall", "precision", "vote", *answers.names)
    justify = "lrrr" + "r" * (len(answers.names) + 1)
    return Grid(f"Mean probability of the true class ({some})", columns, tuple(rows), justify)


def disputed_grid(answers: MemberAnswers) -> Grid:
    truth, of_classes = answers.truth, answers.classes is not None
    names = [shortened(str(label), 16) for label in answers.classes] if answers.classes is not None else []
    rows = []
    for row in answers.most_disputed(MOST_ROWS).tolist():
        predicted = np.roll(answers.everyone[:, row], 1, axis=0)  # the vote first
        if of_classes:
            true = [] if truth is None else [names[truth[row]]]
            texts = [f"{names[p.argmax()]} ({format_percent(float(p.max()))})" for p in predicted]
        else:
            true = [] if truth is None else [f"{truth[row]:.4g}"]
            texts = [f"{number:.4g}" for number in predicted[:, 0]]
        rows.append((str(row), *true, *texts))
    columns = ("row", *([] if truth is None else ["true"]), "vote", *answers.names)
    title = "Rows on which members disagree most (the first is 0)"
    return Grid(title, columns, tuple(rows), "r" + ("l" if of_classes else "r") * (len(columns) - 1))
