"""What each voter gets wrong on rows that it has not seen, and each pair of voters together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.learners.bagging.random_forest import RandomForestClassifier
from committee.learners.base.estimator import CommitteeClassifier
from committee.learners.trained.leaf_reweighter import LeafReweighter
from committee.learners.trained.trained_ensemble import TrainedEnsembleClassifier
from committee.learners.trained.unseen_rows import (
    check_against_memory,
    refuse_weighted_draws,
    unseen_rows,
    untouched_rows,
)
from committee.objectives.margins.pair_losses import PairLosses, loss_blocks
from committee.vote.committee import Committee
from committee.vote.signed_votes import SignedVotes

F64: TypeAlias = NDArray[np.float64]
Rows: TypeAlias = Literal["holdout", "oob"]
Votes: TypeAlias = Literal["own", "labels"]


@dataclass(frozen=True, eq=False)
class VoterLosses:
    """Losses of T voters on n rows, the rows that a voter has seen left out.

    The loss of voter t on row i is l_it = (1 - s_it) / 2, s_it its least signed vote against another class in units of
    its spread: 1 where a label voter names a wrong class, 0 where it names the right one, 1/2 where it abstains. With
    weights rho that sum to one the row's Gibbs loss is W_i = sum_t rho_t l_it, and **a row that the vote gets wrong has
    W_i >= 1/2**: of two classes exactly those rows and ties, of more classes, or with scores, perhaps others too. All
    bounds on the vote are bounds on P[W >= 1/2].

    Parameters
    ----------
    least : int8 or float64 array (n, T)
        s.
    unseen : bool array (n, T) or None
        Rows that count for a voter: those that it was not trained on. None: all.
    weights : float64 array (T,)
        rho of the ensemble itself: absolute weights, summing to one.
    turned : bool, default=False
        Some voters have negative weights and are counted the other way round. A prior then gives each voter and its
        opposite 1 / (2 T).
    n_classes : int, default=2
        Number of classes.
    untouched : bool array (n,), default=None
        Rows out of bag that no voter has seen and that chose none of them; None: none is known.
    n_candidates : int, default=None
        Number of voters that the T were chosen from by means of the rows themselves, which the prior has to share out
        its weight among; None: T.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses
    >>> losses = VoterLosses(np.array([[1, -1], [1, 1]]), None, np.array([0.5, 0.5]))
    >>> losses.risk.tolist(), losses.tandem.tolist()
    ([0.0, 0.5], [[0.0, 0.0], [0.0, 0.5]])
    """

    least: NDArray[np.int8] | F64
    unseen: NDArray[np.bool_] | None
    weights: F64
    turned: bool = False
    n_classes: int = 2
    untouched: NDArray[np.bool_] | None = None
    n_candidates: int | None = None

    @classmethod
    def of(
        cls,
        ensemble: Any,
        X: Any,
        y: ArrayLike,
        *,
        on: Rows = "holdout",
        votes: Votes = "own",
        sample_weight: ArrayLike | None = None,
        n_threads: int = 1,
    ) -> VoterLosses:
        """Ask an ensemble's voters.

        Parameters
        ----------
        ensemble : fitted classifier or Committee
            Any that `Committee.from_estimator` takes.
        X : table or array-like (n, p)
            ``on="holdout"``: rows that had no part in training. ``on="oob"``: all the rows that it was fitted on, in
            their order.
        y : array-like (n,)
            Their labels.
        on : {"holdout", "oob"}, default="holdout"
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
        for name, value, known in (("on", on, ("holdout", "oob")), ("votes", votes, ("own", "labels"))):
            if value not in known:
                raise ValueError(f"{name} is {value!r}; it must be {known[0]!r} or {known[1]!r}.")
        committee = ensemble if isinstance(ensemble, Committee) else Committee.from_estimator(ensemble)
        named = ensemble.validate_rows(X) if isinstance(ensemble, CommitteeClassifier) else X
        signed = SignedVotes.of(committee, named, y, n_threads=n_threads)
        if sample_weight is not None and on != "oob":
            raise ValueError("sample_weight is that of the fit, for on='oob'; held-out rows count once each.")
        unseen = untouched = candidates = None
        if on == "oob":
            refuse_weighted_draws(_first_trained(ensemble))
            unseen = unseen_rows(ensemble, committee.n_voters, y, sample_weight)
            check_against_memory(ensemble, committee, signed, unseen)
            untouched, candidates = untouched_rows(ensemble, unseen), _n_candidates(ensemble)
        S: NDArray[Any] = signed.matrix.reshape(signed.n_rows, -1, signed.n_voters)
        weights = signed.weights
        if votes == "labels" and committee.voters.kind != "label":
            S = _labels(S, signed)
            weights = committee.weights / np.abs(committee.weights).sum()
        negative = weights < 0.0
        if negative.any():
            S = S * np.where(negative, -1, 1).astype(S.dtype)
        S = S[:, 0] if S.shape[1] == 1 else S.min(axis=1)
        if S.dtype != np.int8:
            S = np.clip(S, -1.0, 1.0)  # a vote over its spread may pass 1 by a rounding
        return cls(S, unseen, np.abs(weights), bool(negative.any()), committee.n_classes, untouched, candidates)

    def of_untouched(self) -> VoterLosses:
        """The losses on the rows that no voter has seen, as on held-out rows: all of them, unless out of bag.

        Raises
        ------
        ValueError
            If there is no such row.
        """
        if self.unseen is None:
            return self
        if self.untouched is None or not self.untouched.any():
            raise ValueError(
                "Every row out of bag has been seen by some of the voters; use on='holdout', or a forest with a "
                "reserve."
            )
        return VoterLosses(self.least[self.untouched], None, self.weights, self.turned, self.n_classes)

    @property
    def n_rows(self) -> int:
        """Number of rows n."""
        return len(self.least)

    @property
    def n_voters(self) -> int:
        """Number of voters T."""
        return int(self.least.shape[1])

    @property
    def ln_prior(self) -> float:
        """Minus the logarithm of the prior of a voter: ln T, or ln 2 T with opposites; T the candidates, if any."""
        n = self.n_candidates or self.n_voters
        return log(2 * n if self.turned else n)

    @cached_property
    def pairs(self) -> PairLosses:
        """Mean losses of voters and pairs, over the rows that each has not seen."""
        return PairLosses.of(self.least, self.unseen)

    @property
    def risk(self) -> F64:
        """Mean loss of each voter, ``(T,)``; NaN without rows."""
        return self.pairs.risk

    @property
    def tandem(self) -> F64:
        """Mean of l_t l_u over the rows that neither t nor u has seen, ``(T, T)``; NaN without rows."""
        return self.pairs.tandem

    @property
    def disagreement(self) -> F64:
        """Mean of l_t (1 - l_u) + l_u (1 - l_t) over the same rows, ``(T, T)``: how often labels differ."""
        return self.pairs.disagreement

    @property
    def pair_rows(self) -> F64:
        """Number of rows that neither of two voters has seen, ``(T, T)``."""
        return self.pairs.rows

    @property
    def rows(self) -> F64:
        """Number of rows that a voter has not seen, ``(T,)``."""
        return np.diagonal(self.pairs.rows)

    def gibbs(self, weights: F64 | None = None) -> F64:
        """W of every row, ``(n,)``; for rows that no voter has seen."""
        if self.unseen is not None:
            raise ValueError(
                "Rows out of bag have been seen by some of the voters, and say nothing of the whole vote; use "
                "on='holdout', or of_untouched() of a forest with a reserve."
            )
        rho = self.posterior(weights)
        # a sum of weights may pass 1 by a rounding
        return np.asarray(np.clip(np.concatenate([loss @ rho for loss, _ in loss_blocks(self.least, None)]), 0.0, 1.0))

    def posterior(self, weights: ArrayLike | None = None) -> F64:
        """Weights made to sum to one; the ensemble's own, if none are given.

        Raises
        ------
        ValueError
            If they are negative, not finite, all zero or not one for each voter.
        """
        if weights is None:
            return self.weights
        w = np.asarray(weights, dtype=np.float64)
        if w.shape != (self.n_voters,) or not np.isfinite(w).all() or (w < 0.0).any() or not w.any():
            raise ValueError(
                f"weights must be {self.n_voters} numbers, one for each voter: finite, not negative, not all zero."
            )
        return np.asarray(w / w.sum())


def _first_trained(ensemble: Any) -> Any:
    """What drew the rows: below models that were made from a trained ensemble, the ensemble itself.

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
        ensemble = ensemble._trained()
    return ensemble


def _n_candidates(ensemble: Any) -> int | None:
    """Voters out of which those that are left were chosen by these rows: by new weights, or an out-of-bag curve."""
    if isinstance(ensemble, TrainedEnsembleClassifier) and ensemble.on != "validation":
        below = ensemble._trained()
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
