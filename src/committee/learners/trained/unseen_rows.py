"""Which training rows the voters of a bagged ensemble have not seen, and whether that can be believed."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import column_or_1d

from committee.data.number_types import F64, Index, Mask
from committee.data.rows import class_numbers
from committee.learners.bagging.forest_trees import RowDraw
from committee.learners.bagging.out_of_bag import draw_reserve
from committee.learners.bagging.random_forest import ForestEstimator, RandomForestClassifier
from committee.learners.bagging.subagging import SubaggingClassifier
from committee.learners.bagging.subsamples import draw_subsample
from committee.learners.blend.blend import Blend
from committee.learners.blend.committees import CommitteeClassifier, mean_log_loss
from committee.learners.trained.trained_ensemble import TrainedEnsemble
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee
from committee.vote.signed_votes import SignedVotes
from committee.voters.forest import Forest

REMEMBERED = 1e-6
"""By how much an out-of-bag share may differ from the one that the fit remembers."""

OTHER_ROWS = (
    "X and y are not the rows that the {} was trained on: other rows were left out. Give the training rows, in the "
    "same order, with their weights."
)


def unseen_rows(ensemble: Any, n_voters: int, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Mask:
    """Return which voters did not see which of their training rows, ``(n, T)``.

    The draws of ``SBPMTClassifier`` are stored, those of scikit-learn's forests and bagging are their
    ``estimators_samples_``. Those of this library's random forests and ``SubaggingClassifier`` are drawn again from
    ``random_state``, which has to be a whole number.

    Parameters
    ----------
    ensemble : fitted classifier or forest of numbers
        Trained on these rows, in the same order.
    n_voters : int
        Number of its voters T.
    y, sample_weight : array-like (n,)
        The labels or numbers and the weights (None: none) that it was trained on.

    Raises
    ------
    ValueError
        If the ensemble does not know its draws, if they cannot be made again, if they are of another number of rows, or
        if they leave no row out; if all rows have taught it the numbers of a column of many categories, or it is a
        committee of ensembles.
    """
    if isinstance(ensemble, Blend):
        return np.repeat(_of_reserve(ensemble, y, sample_weight)[:, None], n_voters, axis=1)
    table = getattr(ensemble, "table_", None)
    if table is not None and table.values:
        j = next(j for j, values in enumerate(table.values) if values is not None)
        raise ValueError(
            f"on='oob' has no rows that are new to the {type(ensemble).__name__}: the numbers that stand for the "
            f"{table.n_levels[j]} categories of column {table.column(j)!r} were learned from all of them. Use held-out "
            "rows instead, or leave out that column."
        )
    if isinstance(ensemble, TrainedEnsemble):
        return _of_kept_voters(ensemble, n_voters, y, sample_weight)
    labels = column_or_1d(y)
    kind = type(ensemble).__name__
    if isinstance(ensemble, ForestEstimator):
        out = _of_forest(ensemble, n_voters, labels, sample_weight)
    elif isinstance(ensemble, SubaggingClassifier):
        out = _of_subagging(ensemble, n_voters, labels, sample_weight)
    else:
        out = _of_samples(ensemble, kind, n_voters, len(labels))
        out &= _counted(labels, sample_weight)[:, None]
    if not out.any():
        raise ValueError(
            f"on='oob' needs rows that voters did not see, but every voter of the {kind} saw them all; train it with "
            "bootstrap or on a share of the rows, or use held-out rows instead."
        )
    return out


def _of_kept_voters(model: TrainedEnsemble, n_voters: int, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
    """Voters that a model has left of a trained ensemble's voters have seen what they had seen there."""
    trained, left = model.trained, np.asarray(getattr(model, "voters_", ()), dtype=np.intp)
    if (
        trained is getattr(model, "committee_", None)
        or isinstance(trained, Committee | RegressionCommittee)
        or len(left) != n_voters
    ):
        raise ValueError(
            f"on='oob' needs an ensemble that knows which rows each voter was trained on; this "
            f"{type(model).__name__} has forgotten its own. Give the ensemble that it was made from, or held-out rows."
        )
    kind = Committee if isinstance(model.committee_, Committee) else RegressionCommittee
    return unseen_rows(trained, kind.from_estimator(trained).n_voters, y, sample_weight)[:, left]


def _of_reserve(blend: Blend, y: ArrayLike, sample_weight: ArrayLike | None) -> Mask:
    """Rows ``(n,)`` that no fit of a committee of ensembles was given."""
    reserve = getattr(blend, "reserved_rows_", None)
    if reserve is None:
        raise ValueError(
            f"on='oob' has no rows that are new to the {type(blend).__name__}: members that draw rows have seen all "
            "of them by some of their trees, and temperatures, steps and weights were chosen by what the fits of folds "
            "have not seen. Fit a CommitteeClassifier with reserve=0.1, or keep rows from its fit, and use "
            "on='validation'."
        )
    counted = _counted(column_or_1d(y), sample_weight)
    if (
        len(reserve) != int(blend.reserve * counted.sum())
        or (reserve >= len(counted)).any()
        or not counted[reserve].all()
    ):
        raise ValueError(OTHER_ROWS.format(type(blend).__name__))
    rows = np.zeros(len(counted), dtype=bool)
    rows[reserve] = True
    return rows


def check_against_reserve(ensemble: Any, X: Any, y: ArrayLike) -> None:
    """Refuse rows on which a committee of ensembles does not have the log loss that it remembers of its reserve.

    Raises
    ------
    ValueError
        If the loss differs, or the committee has been pruned since and remembers none.
    """
    if not (isinstance(ensemble, CommitteeClassifier) and hasattr(ensemble, "reserved_rows_")):
        return
    reserve = ensemble.reserved_rows_
    if np.isnan(ensemble.reserve_loss_):
        raise ValueError(
            f"this {type(ensemble).__name__} was pruned after its fit, and remembers nothing of its reserve by which "
            "rows could be checked; give the rows of reserved_rows_ alone, with on='validation'."
        )
    shares = ensemble.predict_proba(_safe_indexing(X, reserve))
    numbers = ensemble.committee_.class_indices(np.asarray(y)[reserve])
    if not abs(mean_log_loss(numbers, shares) - ensemble.reserve_loss_) <= REMEMBERED:
        raise ValueError(OTHER_ROWS.format(type(ensemble).__name__))


def _of_samples(ensemble: Any, kind: str, n_voters: int, n: int) -> Mask:
    samples = getattr(ensemble, "estimators_samples_", None)
    if samples is None or len(samples) != n_voters:
        raise ValueError(
            f"on='oob' needs an ensemble that knows which rows each voter was trained on; {kind} does not. Use "
            "held-out rows instead, with on='validation', or the training rows, with on='train'."
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


def _seed(ensemble: Any) -> int:
    seed = ensemble.random_state
    if not isinstance(seed, Integral):
        raise ValueError(
            f"on='oob' has to draw the rows of the {type(ensemble).__name__} again, but its random_state is {seed!r}; "
            "train it with a whole number, or use held-out rows instead."
        )
    return int(seed)


def _of_forest(
    forest: ForestEstimator[Any], n_voters: int, labels: NDArray[Any], sample_weight: ArrayLike | None
) -> Mask:
    counted = _counted(labels, sample_weight)
    most = forest.max_estimators if forest.n_estimators == "oob" else forest.n_estimators
    random = check_random_state(_seed(forest))
    out = np.zeros((len(labels), n_voters), dtype=bool)
    if forest.reserve > 0.0:
        reserve = np.flatnonzero(counted)[draw_reserve(int(counted.sum()), forest.reserve, random)]
        if not np.array_equal(reserve, getattr(forest, "reserved_rows_", ())):
            raise ValueError(OTHER_ROWS.format(type(forest).__name__))
        out[reserve], counted[reserve] = True, False
    seeds = random.randint(2**31 - 1, size=most)
    drawing = RowDraw.of(int(counted.sum()), forest.max_samples, forest.bootstrap)
    for t in range(n_voters):
        out[counted, t] = drawing.times(int(seeds[t])) == 0
    judged = getattr(forest, "oob_decision_function_", getattr(forest, "oob_prediction_", None))
    if judged is not None and not (
        len(judged) == len(labels)
        and np.array_equal(np.isfinite(judged.reshape(len(judged), -1)[:, 0]), out.any(axis=1))
    ):
        raise ValueError(OTHER_ROWS.format(type(forest).__name__))
    if judged is None:  # by what is remembered of each row the votes are checked
        _check_against_record(forest, int(counted.sum()) - out[counted].sum(axis=0))
    return out


def _check_against_record(forest: ForestEstimator[Any], drawn: NDArray[np.integer[Any]]) -> None:
    """Refuse rows of which trees would have drawn other numbers ``(T,)`` than their training record has at the root."""
    voters = forest.committee_.voters
    if not isinstance(voters, Forest) or len(voters.offset) != len(drawn) + 1:
        return
    recorded = voters.count[voters.offset[:-1]]
    splits = np.diff(voters.offset) > 1  # of one class there is a single leaf, of all rows
    differ = splits & (recorded > 0) & (recorded != drawn)  # 0: no record is kept
    if differ.any():
        t = int(differ.argmax())
        raise ValueError(
            f"X and y are not the rows that the {type(forest).__name__} was trained on: its tree {t} has seen "
            f"{recorded[t]} rows, and would have drawn {drawn[t]} of these. Give the training rows, in the same order, "
            "with their weights, and the parameters of the fit; other rows can only be held-out rows, with "
            "on='validation'."
        )


def _check_number(ensemble: Any, n_counted: int) -> None:
    """Refuse another number of rows of positive weight than the one that a vote of subsamples was trained on."""
    fitted_on = getattr(ensemble, "n_samples_fit_", n_counted)
    if fitted_on != n_counted:
        raise ValueError(
            f"X has {n_counted} rows of positive weight; the {type(ensemble).__name__} was trained on {fitted_on}. "
            "on='oob' needs the training rows, in the same order, with their weights; others can only be held-out "
            "rows, with on='validation'."
        )


def untouched_rows(ensemble: Any, unseen: Mask) -> Mask:
    """Rows ``(n,)`` that had no part in a bagged ensemble: no voter has drawn them, and none was chosen by them.

    To the vote as a whole they are what held-out rows are. A forest has them by its `reserve`; few voters, or small
    draws, may happen to leave some. As draws do not look at the rows, what is left is a sample like any other. Rows by
    whose out-of-bag votes the number of trees was chosen do not count, nor any by which a trained ensemble has got new
    weights.

    Parameters
    ----------
    ensemble : fitted classifier
        Which `unseen_rows` knows.
    unseen : bool array (n, T)
        What it says.
    """
    if isinstance(ensemble, TrainedEnsemble):
        if ensemble.on != "validation":
            return np.zeros(len(unseen), dtype=bool)  # weights were chosen by them
        return untouched_rows(ensemble.trained, unseen)
    rows: Mask = np.asarray(unseen.all(axis=1))
    if isinstance(ensemble, RandomForestClassifier) and ensemble.n_estimators == "oob":
        reserve = np.zeros(len(rows), dtype=bool)
        reserve[getattr(ensemble, "reserved_rows_", [])] = True
        rows &= reserve
    return rows


def _of_subagging(
    model: SubaggingClassifier, n_voters: int, labels: NDArray[Any], sample_weight: ArrayLike | None
) -> Mask:
    counted = _counted(labels, sample_weight)
    if not hasattr(model, "oob_decision_function_"):  # whose check says more
        _check_number(model, int(counted.sum()))
    classes, numbers = class_numbers(labels[counted])
    random = check_random_state(_seed(model))
    out = np.zeros((len(labels), n_voters), dtype=bool)
    for t in range(n_voters):
        counts = draw_subsample(numbers.astype(np.uint16), len(classes), model.max_samples, model.bootstrap, random)
        out[counted, t] = counts == 0
    return out


def drew_by_weight(ensemble: Any) -> bool:
    """Whether rows that an ensemble may have drawn had different weights, by which it drew them."""
    weight = getattr(ensemble, "_sample_weight", None)
    drawn = np.zeros(0) if weight is None else np.asarray(weight)[np.asarray(weight) > 0]
    return len(drawn) > 0 and bool(drawn.max() > drawn.min() * (1.0 + 1e-12))


def refuse_weighted_draws(ensemble: Any) -> None:
    """Refuse an ensemble that drew heavy rows more often: those that a voter has not seen are then light ones.

    Its voters' errors on them say nothing of new rows, of which as many are heavy as of the training rows. scikit-learn
    draws so from version 1.9 on, by ``sample_weight`` and in forests by ``class_weight``.

    Raises
    ------
    ValueError
        If rows that it may have drawn had different weights.
    """
    if drew_by_weight(ensemble):
        raise ValueError(
            f"{type(ensemble).__name__} drew rows of greater weight more often (sample_weight or class_weight), so "
            "that those out of bag are not like new rows; use held-out rows instead, or train it without weights."
        )


def _counted(labels: NDArray[Any], sample_weight: ArrayLike | None) -> Mask:
    """Rows that the learner counted: those of no weight were left out before it drew."""
    return np.ones(len(labels), dtype=bool) if sample_weight is None else np.asarray(sample_weight) > 0


def unseen_in_fit(
    ensemble: Any,
    committee: Committee,
    X: Any,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    signed: SignedVotes | None = None,
) -> Mask:
    """Return `unseen_rows` for rows said to be those of the fit, checked where the ensemble remembers its vote on them.

    Votes that are known already may be given as `signed`.
    """
    unseen = unseen_rows(ensemble, committee.n_voters, y, sample_weight)
    check_against_reserve(ensemble, X, y)
    if sample_weight is None and getattr(ensemble, "oob_decision_function_", None) is not None:
        check_against_memory(ensemble, committee, signed or SignedVotes.of(committee, X, y), unseen)
    return unseen


def check_against_memory(ensemble: Any, committee: Committee, signed: SignedVotes, unseen: Mask) -> None:
    """Refuse rows, or draws, whose out-of-bag vote is not the one that the ensemble remembers from its fit.

    Parameters
    ----------
    ensemble : fitted classifier
        With ``oob_decision_function_``; an ensemble that keeps its draws may do without, and is not checked then.
    committee : Committee
        Its voters.
    signed : SignedVotes
        Their votes on the rows that are said to be those of the fit.
    unseen : bool array (n, T)
        The rows that each has not seen.

    Raises
    ------
    ValueError
        If one row's vote differs, or draws that are made again cannot be checked.
    """
    remembered = getattr(ensemble, "oob_decision_function_", None)
    if remembered is None and isinstance(ensemble, RandomForestClassifier | SubaggingClassifier):
        raise ValueError(
            f"{type(ensemble).__name__} remembers no out-of-bag vote, by which draws that are made again could be "
            "checked; fit it with oob_score=True, or use held-out rows instead."
        )
    if remembered is None:
        return
    wrong = (
        "X and y must be all the rows that ensemble was fitted on, in their order and of weight above zero, and its "
    )
    wrong += "parameters as they were then."
    if len(remembered) != signed.n_rows:
        raise ValueError(f"X has {signed.n_rows} rows, but ensemble remembers {len(remembered)}; {wrong}")
    n_unseen = unseen.sum(axis=1)[signed.row]
    spread = committee.voters.spread
    own = signed.own_class[signed.row]
    with np.errstate(invalid="ignore"):
        # a line at a time of memory: the matrix may be of bytes
        lead = np.einsum("it,it,t->i", unseen[signed.row], signed.matrix, spread) / n_unseen
    expected = remembered[signed.row, own] - remembered[signed.row, signed.rival]
    # rows that all voters have seen are remembered as NaN, or by scikit-learn's forests as no votes at all
    nobody = np.isnan(lead) & ~remembered[signed.row].any(axis=1, where=np.isfinite(remembered[signed.row]))
    differ = ~(np.isclose(lead, expected, rtol=0.0, atol=REMEMBERED) | nobody)
    if differ.any():
        at = int(signed.row[differ.argmax()])
        raise ValueError(f"The out-of-bag vote on row {at} is not the one that ensemble remembers; {wrong}")


def check_remembered_numbers(ensemble: Any, place: Index, predicted: F64) -> None:
    """Refuse rows, or draws, whose out-of-bag prediction is not the one that an ensemble of numbers remembers.

    Parameters
    ----------
    ensemble : fitted regressor
        Any; one without ``oob_prediction_`` is not checked.
    place : intp array (m,)
        Rows of the fit that some of its trees have not seen.
    predicted : float64 array (m,)
        What these trees predict of them.

    Raises
    ------
    ValueError
        If one row's prediction differs.
    """
    remembered = getattr(ensemble, "oob_prediction_", None)
    if remembered is None:
        return
    wrong = "X and y must be all the rows that ensemble was fitted on, in their order, and its parameters as they were."
    if place[-1] >= len(remembered):
        raise ValueError(f"X has more than the {len(remembered)} rows that ensemble remembers; {wrong}")
    known = np.asarray(remembered, dtype=np.float64).reshape(len(remembered), -1)[place, 0]
    differ = ~np.isclose(predicted, known, rtol=REMEMBERED, atol=REMEMBERED * float(np.ptp(predicted)))
    if differ.any():
        at = int(place[differ.argmax()])
        raise ValueError(f"The out-of-bag prediction of row {at} is not the one that ensemble remembers; {wrong}")
