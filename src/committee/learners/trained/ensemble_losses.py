"""Losses of a fitted ensemble's voters, and of pairs of them, on rows that they have not seen."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.bounds.voter_losses import ROUNDING, VoterLosses
from committee.data.number_types import F64
from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.learners.base.estimator import BaseClassifier
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.trained_ensemble import TrainedEnsembleClassifier
from committee.learners.trained.unseen_rows import (
    check_against_memory,
    check_against_reserve,
    refuse_weighted_draws,
    unseen_rows,
    untouched_rows,
)
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes
from committee.voters.estimators import EstimatorVoters
from committee.voters.forest import Forest

JudgedOn: TypeAlias = Literal["validation", "oob"]
Votes: TypeAlias = Literal["own", "labels"]


def voter_losses(
    ensemble: Any,
    X: Any,
    y: ArrayLike,
    *,
    on: JudgedOn = "validation",
    votes: Votes = "own",
    sample_weight: ArrayLike | None = None,
    n_threads: int = 1,
) -> VoterLosses:
    """Return the losses of an ensemble's voters on rows that they have not seen.

    Parameters
    ----------
    ensemble : fitted classifier or Committee
        Any that `Committee.from_estimator` takes.
    X : table or array-like (n, p)
        ``on="validation"``: rows that had no part in training. ``on="oob"``: all the rows that it was fitted on, in
        their order.
    y : array-like (n,)
        Their labels.
    on : {"validation", "oob"}, default="validation"
        Which rows count for a voter: all, or those that its draw left out.
    votes : {"own", "labels"}, default="own"
        "own": votes as they are. "labels": voters that give scores name one class each, the largest score's; that
        is another vote than the ensemble's own.
    sample_weight : array-like (n,), default=None
        ``on="oob"``: the weights that it was fitted with. Rows of weight 0 were not there; others count once.
    n_threads : int, default=1
        Ceiling on the number of threads.

    Raises
    ------
    TypeError
        If it is no classifier whose voters are known.
    ValueError
        If `y` does not fit `X` or the ensemble, or ``on="oob"`` and the ensemble has no draws that are known to be
        those of these rows, or drew heavy rows more often than others.
    """
    for name, value, known in (("on", on, ("validation", "oob")), ("votes", votes, ("own", "labels"))):
        if value not in known:
            raise ValueError(f"{name} is {value!r}; it must be {known[0]!r} or {known[1]!r}.")
    committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
    if committee.n_classes < 2:
        raise ValueError(
            "the ensemble was trained on rows of one class, which it always predicts; how often it errs is how many of "
            "the rows to come are of another class, and no vote says that."
        )
    named = ensemble.validate_rows(X) if isinstance(ensemble, BaseClassifier) else X
    signed = SignedVotes.of(committee, named, y, n_threads=n_threads)
    if sample_weight is not None and on != "oob":
        raise ValueError("sample_weight is that of the fit, for on='oob'; held-out rows count once each.")
    unseen = untouched = candidates = None
    if on == "oob":
        refuse_weighted_draws(_first_trained(ensemble))
        unseen = unseen_rows(ensemble, committee.n_voters, y, sample_weight)
        check_against_memory(ensemble, committee, signed, unseen)
        check_against_reserve(ensemble, X, y)
        untouched, candidates = untouched_rows(ensemble, unseen), _n_candidates(ensemble)
    S: NDArray[Any] = signed.matrix.reshape(signed.n_rows, -1, signed.n_voters)
    weights = signed.weights
    wrong: NDArray[np.bool_] | None = None
    if votes == "labels" and committee.voters.kind != "label":
        S = _labels(S, signed)
        weights = committee.weights / np.abs(committee.weights).sum()
        wrong = (S @ weights).min(axis=1) <= ROUNDING  # not ahead of every other class
    elif on == "validation" or untouched is not None:
        wrong = committee.predict(named, n_threads=n_threads) != np.asarray(y)
    negative = weights < 0.0
    if negative.any():
        S = S * np.where(negative, -1, 1).astype(S.dtype)
    S = S[:, 0] if S.shape[1] == 1 else S.min(axis=1)
    if S.dtype != np.int8:
        S = np.clip(S, -1.0, 1.0)  # a vote over its spread may pass 1 by a rounding; that of a regressor by more
    turned, K = bool(negative.any()), committee.n_classes
    named_by_all = _names_classes(committee, votes) and not (turned and K > 2)
    return VoterLosses(S, unseen, np.abs(weights), turned, K, untouched, candidates, wrong, named_by_all)


def _names_classes(committee: Committee, votes: Votes) -> bool:
    """Whether every voter names one class on every row that there may be; known of trees and fitted classifiers."""
    voters: Any = committee.voters
    if committee.intercept is not None:
        return False
    if voters.kind != "label":
        return votes == "labels"
    if isinstance(voters, Forest):
        return voters.label is not None and bool((voters.label[voters.feature < 0] >= 0).all())
    return isinstance(voters, EstimatorVoters)


def _first_trained(ensemble: Any) -> Any:
    """The estimator that drew the rows: below models that were made from a trained ensemble, that ensemble.

    Raises
    ------
    ValueError
        If leaves had their votes from the rows out of bag, which are then new to no tree.
    """
    while isinstance(ensemble, TrainedEnsembleClassifier):
        if isinstance(ensemble, LeafReweighter) and ensemble.on != "validation":
            raise ValueError(
                f"ensemble is a LeafReweighter with on={ensemble.on!r}, whose leaves have their votes from the rows "
                "that the trees had not seen: out of bag nothing is left to judge them. Use held-out rows instead."
            )
        ensemble = ensemble.trained
    return ensemble


def _n_candidates(ensemble: Any) -> int | None:
    """Voters out of which those that are left were chosen by these rows: by new weights, or an out-of-bag curve."""
    if isinstance(ensemble, TrainedEnsembleClassifier) and ensemble.on != "validation":
        below = ensemble.trained
        return _n_candidates(below) or Committee.from_estimator(below).n_voters
    trained = _first_trained(ensemble)
    chosen = isinstance(trained, RandomForestClassifier) and trained.n_estimators == "oob"
    return int(trained.max_estimators) if chosen else None


def _labels(S: F64, signed: SignedVotes) -> NDArray[np.int8]:
    """Signed votes ``(n, K - 1, T)`` of voters that name the class of their largest score, the first one on ties."""
    rival = signed.rival.reshape(signed.n_rows, -1)
    beats = (S > 0.0) | ((S == 0.0) & np.less(signed.own_class[:, None], rival)[:, :, None])
    right: NDArray[np.bool_] = beats.all(axis=1)
    votes = np.zeros(S.shape, dtype=np.int8)
    np.put_along_axis(votes, S.argmin(axis=1)[:, None], np.int8(-1), axis=1)
    return np.where(right[:, None], np.int8(1), votes)
