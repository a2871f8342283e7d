"""Out-of-bag rows of a bagged ensemble, and checks that given rows are its training rows."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import column_or_1d

from committee.data.labels import encode_classes
from committee.data.number_types import F64, Index, Mask
from committee.data.rows import inner_weights, row_weights
from committee.learners.bagging.forest_trees import draw_reserve
from committee.learners.bagging.random_forest import ForestEstimator, RandomForestClassifier
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.bagging.subsamples import RowDraw, draw_subsamples
from committee.learners.base.row_sampling import fit_generator
from committee.learners.blend.blend import Blend
from committee.learners.blend.committees import CommitteeClassifier, mean_log_loss
from committee.learners.trained_ensembles.trained_ensemble import TrainedEnsemble
from committee.vote.adapters.pipelines import is_pipeline, last_step
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest

OOB_TOLERANCE = 1e-6
"""Largest difference between an out-of-bag prediction and the stored one that counts as rounding."""

BY_CHANCE = 1e-4
"""p-value below which a number is not due to chance."""

CHECKED_TREES = 10
"""Most trees of scikit-learn whose leaves are compared with those of training."""

OTHER_ROWS = (
    "X and y are not the rows that the {} was trained on, or its parameters have changed. Give the training rows, "
    "in the same order, with their weights, and restore the parameters."
)


class NoUnseenRowsError(ValueError):
    """No training row is known to be new to a voter, but another fit of the same kind may have such rows."""


def out_of_bag_mask(
    ensemble: Any, n_voters: int, y: ArrayLike, sample_weight: ArrayLike | None = None, X: Any = None
) -> Mask:
    """Return whether each voter was trained without each training row, ``(n, T)``; False for rows of weight 0."""
    if is_pipeline(ensemble):
        last_rows = None if X is None else ensemble[:-1].transform(X)
        return out_of_bag_mask(ensemble[-1], n_voters, y, sample_weight, last_rows)
    if isinstance(ensemble, Blend):
        return np.repeat(_reserved_rows(ensemble, y, sample_weight)[:, None], n_voters, axis=1)
    table = getattr(ensemble, "table_", None)
    if table is not None and table.values:
        j = next(j for j, values in enumerate(table.values) if values is not None)
        raise ValueError(
            f"on='oob' has no rows that are new to the {type(ensemble).__name__}: the numbers that stand for the "
            f"{table.n_levels[j]} categories of column {table.column(j)!r} were learned from all rows that it draws "
            "from. Use held-out rows instead, such as a reserve's, with on='validation', or leave out that column."
        )
    if isinstance(ensemble, TrainedEnsemble):
        return _mask_of_kept_voters(ensemble, n_voters, y, sample_weight, X)
    if (n_groups := getattr(ensemble, "n_groups_", None)) is not None:
        raise NoUnseenRowsError(
            f"on='oob' needs the rows of each voter of the {type(ensemble).__name__}, which drew {n_groups} groups or "
            "different rows with their copies, and does not hold them. Use held-out rows instead, or train it without "
            "groups and with each row once."
        )
    labels = column_or_1d(y)
    counted = _positive_weight(labels, sample_weight)
    if isinstance(ensemble, ForestEstimator):
        random = _generator(ensemble, labels, sample_weight, counted)
        out = _forest_mask(ensemble, n_voters, counted, random)
    elif isinstance(ensemble, SubaggingClassifier):
        random = _generator(ensemble, labels, sample_weight, counted)
        out = _subagging_mask(ensemble, n_voters, labels, counted, random)
    else:
        out = _stored_mask(ensemble, n_voters, len(labels)) & counted[:, None]
        stored = hasattr(ensemble, "oob_decision_function_") or hasattr(ensemble, "oob_prediction_")
        if X is not None and not stored and out.any():
            _check_leaf_counts(ensemble, X, counted[:, None] & ~out[:, :CHECKED_TREES])
    if not out.any():
        raise NoUnseenRowsError(
            f"on='oob' needs rows that voters did not see, but every voter of the {type(ensemble).__name__} saw them "
            "all; train it with bootstrap or on a share of the rows, or use held-out rows instead."
        )
    return out


def has_out_of_bag_rows(ensemble: Any) -> bool:
    if isinstance(ensemble, Blend):
        return hasattr(ensemble, "reserved_rows_") and not np.isnan(ensemble.reserve_loss_)
    table = getattr(ensemble, "table_", None)
    if (table is not None and table.values) or getattr(ensemble, "n_groups_", None) is not None:
        return False
    if isinstance(ensemble, TrainedEnsemble):
        return ensemble.trained is not getattr(ensemble, "committee_", None) and has_out_of_bag_rows(ensemble.trained)
    if isinstance(ensemble, ForestEstimator | SubaggingClassifier):
        share = ensemble.max_samples
        draws = ensemble.bootstrap or share not in (None, 1.0) or getattr(ensemble, "reserve", 0.0) > 0.0
        return draws and (ensemble.random_state is None or isinstance(ensemble.random_state, Integral))
    return getattr(last_step(ensemble), "estimators_samples_", None) is not None


def has_checkable_draws(ensemble: Any) -> bool:
    redrawn = isinstance(ensemble, RandomForestClassifier | SubaggingClassifier)
    return not redrawn or getattr(ensemble, "oob_decision_function_", None) is not None


def _positive_weight(labels: NDArray[Any], sample_weight: ArrayLike | None) -> Mask:
    return np.ones(len(labels), dtype=bool) if sample_weight is None else np.asarray(sample_weight) > 0


def _mask_of_kept_voters(
    model: TrainedEnsemble, n_voters: int, y: ArrayLike, sample_weight: ArrayLike | None, X: Any
) -> Mask:
    trained, kept = model.trained, np.asarray(getattr(model, "voters_", ()), dtype=np.intp)
    if (
        trained is getattr(model, "committee_", None)
        or isinstance(trained, Committee | RegressionCommittee)
        or len(kept) != n_voters
    ):
        raise ValueError(
            f"on='oob' needs an ensemble with the training rows of each voter, and this {type(model).__name__} has "
            "none, as after loading, or of a bare committee. Give the ensemble that it was made from, or held-out rows."
        )
    kind = Committee if isinstance(model.committee_, Committee) else RegressionCommittee
    return out_of_bag_mask(trained, kind.from_estimator(trained).n_voters, y, sample_weight, X)[:, kept]


def _reserved_rows(blend: Blend, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
    reserve = getattr(blend, "reserved_rows_", None)
    if reserve is None:
        raise ValueError(
            f"on='oob' has no rows that are new to the {type(blend).__name__}: its fit used all rows, to train members "
            "and, on rows held out, to choose and weigh them. Fit a CommitteeClassifier with reserve=0.1, "
            "or use on='validation' with rows kept from its fit."
        )
    counted = _positive_weight(column_or_1d(y), sample_weight)
    if (
        len(reserve) != int(blend.reserve * counted.sum())
        or (reserve >= len(counted)).any()
        or not counted[reserve].all()
    ):
        raise ValueError(OTHER_ROWS.format(type(blend).__name__))
    rows = np.zeros(len(counted), dtype=bool)
    rows[reserve] = True
    return rows


def _stored_mask(ensemble: Any, n_voters: int, n: int) -> Mask:
    kind, samples = type(ensemble).__name__, getattr(ensemble, "estimators_samples_", None)
    if samples is None or len(samples) != n_voters:
        raise ValueError(
            f"on='oob' needs an ensemble with the training rows of each voter; {kind} has none. Use held-out rows "
            "instead, with on='validation', or the training rows, where on='train' is possible."
        )
    fitted_on = getattr(ensemble, "_n_samples", None)
    if fitted_on not in (None, n) or any(len(drawn) and int(np.max(drawn)) >= n for drawn in samples):
        raise ValueError(
            f"X has {n} rows; the {kind} was trained on {fitted_on or 'more'}. on='oob' needs the training rows, in "
            "the same order; others can only be held-out rows."
        )
    out = np.ones((n, n_voters), dtype=bool)
    for t, drawn in enumerate(samples):
        out[drawn, t] = False
    return out


def _check_leaf_counts(ensemble: Any, X: Any, drawn: Mask) -> None:
    given: Any = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    columns = getattr(ensemble, "estimators_features_", None)  # of scikit-learn's bagging
    for t, grown in enumerate(getattr(ensemble, "estimators_", ())[:CHECKED_TREES]):
        if not hasattr(grown, "tree_"):
            return
        tree, rows = grown.tree_, given[np.flatnonzero(drawn[:, t])]
        leaves = grown.apply(rows if columns is None else rows[:, columns[t]])
        counts = np.bincount(leaves, minlength=tree.node_count)
        if not np.array_equal(counts, np.where(tree.children_left < 0, tree.n_node_samples, 0)):
            raise ValueError(
                f"X and y are not the rows that the {type(ensemble).__name__} was trained on: the rows that its tree "
                f"{t} drew reach other leaves than in training. Give the training rows, in the same order, with their "
                "weights; other rows can only be held-out rows, with on='validation'."
            )


def _generator(ensemble: Any, labels: NDArray[Any], sample_weight: ArrayLike | None, counted: Mask) -> RandomState:
    seed = ensemble.random_state
    if not (seed is None or isinstance(seed, Integral)):
        raise NoUnseenRowsError(
            f"on='oob' has to draw the rows of the {type(ensemble).__name__} again, but its random_state is {seed!r}; "
            "train it with a whole number or None, or use held-out rows instead."
        )
    given = None if sample_weight is None else row_weights(sample_weight, labels, warn=False)  # the fit has warned
    weights = ensemble.fit_weights(labels, inner_weights(given))
    kept = np.ones(int(counted.sum())) if weights is None else np.asarray(weights)[counted]
    return fit_generator(seed, labels[counted] if is_classifier(ensemble) else None, kept)


def _forest_mask(forest: ForestEstimator[Any], n_voters: int, counted: Mask, random: RandomState) -> Mask:
    counted = counted.copy()
    most = forest.max_estimators if forest.n_estimators == "oob" else forest.n_estimators
    out = np.zeros((len(counted), n_voters), dtype=bool)
    if forest.reserve > 0.0:
        reserve = np.flatnonzero(counted)[draw_reserve(int(counted.sum()), forest.reserve, random)]
        if not np.array_equal(reserve, getattr(forest, "reserved_rows_", ())):
            raise ValueError(OTHER_ROWS.format(type(forest).__name__))
        out[reserve], counted[reserve] = True, False
    seeds = random.randint(2**31 - 1, size=most)
    n_counted = int(counted.sum())
    drawing = RowDraw.of(n_counted, forest.max_samples, forest.bootstrap)
    for t in range(n_voters):
        out[counted, t] = drawing.times(int(seeds[t])) == 0
    stored = getattr(forest, "oob_decision_function_", getattr(forest, "oob_prediction_", None))
    if stored is None:  # stored out-of-bag predictions are compared row by row, elsewhere
        _check_root_counts(forest, n_counted - out[counted].sum(axis=0))
    elif len(stored) != len(out) or not np.array_equal(
        np.isfinite(stored.reshape(len(stored), -1)[:, 0]), out.any(axis=1)
    ):
        raise ValueError(OTHER_ROWS.format(type(forest).__name__))
    return out


def _check_root_counts(forest: ForestEstimator[Any], drawn: NDArray[np.integer[Any]]) -> None:
    voters = forest.committee_.voters
    if not isinstance(voters, Forest) or len(voters.offset) != len(drawn) + 1:
        return
    recorded = voters.count[voters.offset[:-1]]
    splits = np.diff(voters.offset) > 1  # with one class there is a single leaf, of all rows
    differ = splits & (recorded > 0) & (recorded != drawn)  # 0: no record is kept
    if differ.any():
        t = int(differ.argmax())
        raise ValueError(
            f"X and y are not the rows that the {type(forest).__name__} was trained on: its tree {t} has seen "
            f"{recorded[t]} rows, and would have drawn {drawn[t]} of these. Give the training rows, in the same order, "
            "with their weights, and the parameters of the fit; other rows can only be held-out rows, with "
            "on='validation'."
        )


def _subagging_mask(
    model: SubaggingClassifier, n_voters: int, labels: NDArray[Any], counted: Mask, random: RandomState
) -> Mask:
    n_counted = int(counted.sum())
    fitted_on = getattr(model, "n_samples_fit_", n_counted)
    # with stored out-of-bag votes, their check has the better message
    if not hasattr(model, "oob_decision_function_") and fitted_on != n_counted:
        raise ValueError(
            f"X has {n_counted} rows of positive weight; the {type(model).__name__} was trained on {fitted_on}. "
            "on='oob' needs the training rows, in the same order, with their weights; others can only be held-out "
            "rows, with on='validation'."
        )
    classes, numbers = encode_classes(labels[counted])
    of_fit = (numbers.astype(np.uint16), len(classes), model.n_estimators, model.max_samples, model.bootstrap, random)
    out = np.zeros((len(labels), n_voters), dtype=bool)
    for t, counts in enumerate(draw_subsamples(*of_fit)[:n_voters]):
        out[counted, t] = counts == 0
    return out


# --- rows that are as good as held-out rows --------------------------------------------------------------------------


def undrawn_rows(ensemble: Any, unseen: Mask) -> Mask:
    """Return the rows ``(n,)`` that no voter has drawn and by which nothing was chosen, from the mask ``(n, T)``."""
    if isinstance(ensemble, TrainedEnsemble):
        if ensemble.on != "validation":
            return np.zeros(len(unseen), dtype=bool)
        return undrawn_rows(ensemble.trained, unseen)
    rows: Mask = np.asarray(unseen.all(axis=1))
    if isinstance(ensemble, RandomForestClassifier) and ensemble.n_estimators == "oob":
        reserve = np.zeros(len(rows), dtype=bool)
        reserve[getattr(ensemble, "reserved_rows_", [])] = True
        rows &= reserve
    return rows


def draws_by_weight(ensemble: Any) -> bool:
    weight = getattr(last_step(ensemble), "_sample_weight", None)
    drawn = np.zeros(0) if weight is None else np.asarray(weight)[np.asarray(weight) > 0]
    return len(drawn) > 0 and bool(drawn.max() > drawn.min() * (1.0 + 1e-12))


def refuse_weighted_draws(ensemble: Any) -> None:
    if draws_by_weight(ensemble):
        raise ValueError(
            f"{type(last_step(ensemble)).__name__} drew rows of greater weight more often (sample_weight or "
            "class_weight), so that those out of bag are not like new rows; use held-out rows instead, or train it "
            "without weights."
        )


def suspicious_accuracy(model: Any, accuracy: float, n_rows: int, fewer: float = 0.0) -> str | None:
    """Return what is suspicious about the accuracy on rows, beside that out of bag or out of fold."""
    from scipy.stats import binomtest

    model = last_step(model)
    before = getattr(model, "oof_score_", getattr(model, "oob_score_", float("nan")))
    # few voters make out-of-bag accuracies too low, so that errors must be less by the share `fewer`
    if callable(getattr(model, "oob_score", None)) or not 0.0 <= before <= 1.0 - (1.0 - accuracy) / (1.0 - fewer):
        return None
    if binomtest(round(accuracy * n_rows), n_rows, before, alternative="greater").pvalue > BY_CHANCE:
        return None
    return (
        f"on rows not seen in training the accuracy was {before:.4f}; {accuracy:.4f} is higher than chance allows, and "
        "misleading if the model was trained on these rows"
    )


# --- checks against stored out-of-bag predictions --------------------------------------------------------------------


def checked_out_of_bag_mask(
    ensemble: Any,
    committee: Committee,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    signed: SignedVotes | None = None,
) -> Mask:
    """Return `out_of_bag_mask`, after checking the rows by the reserve's loss and stored votes."""
    unseen = out_of_bag_mask(ensemble, committee.n_voters, y, sample_weight, X)
    check_reserve_loss(ensemble, X, y)
    if sample_weight is None and getattr(last_step(ensemble), "oob_decision_function_", None) is not None:
        check_oob_votes(ensemble, committee, signed or SignedVotes.of(committee, X, y), unseen)
    return unseen


def check_reserve_loss(ensemble: Any, X: Any, y: ArrayLike) -> None:
    if not (isinstance(ensemble, CommitteeClassifier) and hasattr(ensemble, "reserved_rows_")):
        return
    reserve = ensemble.reserved_rows_
    if np.isnan(ensemble.reserve_loss_):
        raise ValueError(
            f"this {type(ensemble).__name__} was made by prune or without, and has no loss of its reserve with which "
            "rows could be compared; give the rows of reserved_rows_ alone, with on='validation'."
        )
    shares = ensemble.predict_proba(_safe_indexing(X, reserve))
    numbers = ensemble.committee_.class_indices(np.asarray(y)[reserve])
    if not abs(mean_log_loss(numbers, shares) - ensemble.reserve_loss_) <= OOB_TOLERANCE:
        raise ValueError(OTHER_ROWS.format(type(ensemble).__name__))


def check_oob_votes(ensemble: Any, committee: Committee, signed: SignedVotes, unseen: Mask) -> None:
    stored = getattr(last_step(ensemble), "oob_decision_function_", None)
    if stored is None:
        if not has_checkable_draws(ensemble):
            raise ValueError(
                f"{type(ensemble).__name__} has no stored out-of-bag vote by which rows drawn again could be checked; "
                "fit it with oob_score=True, or use held-out rows instead."
            )
        return
    remedy = (
        "X, y and sample_weight must be those of the fit of ensemble, in the same order, and its parameters as they "
        "were then."
    )
    if len(stored) != signed.n_rows:
        raise ValueError(f"X has {signed.n_rows} rows, but ensemble has stored {len(stored)}; {remedy}")
    n_unseen = unseen.sum(axis=1)[signed.row]
    spread = committee.voters.spread
    own = signed.own_class[signed.row]
    with np.errstate(invalid="ignore"):
        # einsum converts a line at a time: the matrix may be of bytes
        lead = np.einsum("it,it,t->i", unseen[signed.row], signed.matrix, spread) / n_unseen
    expected = stored[signed.row, own] - stored[signed.row, signed.rival]
    # rows that all voters have seen are stored as NaN, or by scikit-learn's forests as no votes at all
    nobody = np.isnan(lead) & ~stored[signed.row].any(axis=1, where=np.isfinite(stored[signed.row]))
    differ = ~(np.isclose(lead, expected, rtol=0.0, atol=OOB_TOLERANCE) | nobody)
    if differ.any():
        at = int(signed.row[differ.argmax()])
        raise ValueError(f"The out-of-bag vote on row {at} differs from the one that ensemble has stored; {remedy}")


def check_oob_predictions(ensemble: Any, place: Index, predicted: F64) -> None:
    stored = getattr(last_step(ensemble), "oob_prediction_", None)
    if stored is None:
        return
    remedy = (
        "X and y must be all the rows that ensemble was fitted on, in their order, and its parameters as they were."
    )
    if place[-1] >= len(stored):
        raise ValueError(f"X has more than the {len(stored)} rows that ensemble has stored; {remedy}")
    known = np.asarray(stored, dtype=np.float64).reshape(len(stored), -1)[place, 0]
    differ = ~np.isclose(predicted, known, rtol=OOB_TOLERANCE, atol=OOB_TOLERANCE * float(np.ptp(predicted)))
    if differ.any():
        at = int(place[differ.argmax()])
        raise ValueError(
            f"The out-of-bag prediction of row {at} differs from the one that ensemble has stored; {remedy}"
        )
