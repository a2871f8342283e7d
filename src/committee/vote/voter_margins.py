"""The margins of a vote and of its voters on their own, and the votes of some voters on some rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.committee import Committee
from committee.vote.scores import elected, lead


@dataclass(frozen=True)
class VoterMargins:
    """A vote and its voters on their own, voter by voter, perhaps not all of them on all rows.

    Parameters
    ----------
    margins : float64 array (n,)
        Margin of each row among the voters that vote on it; 0 where there is none.
    voter_margins : float64 array (n,)
        Weighted mean of the margins that those voters have on their own.
    elected : intp array (n,)
        Class number that they elect, as the committee would if they were all its voters.
    """

    margins: F64
    voter_margins: F64
    elected: NDArray[np.intp]

    @classmethod
    def of(
        cls, committee: Committee, X: Any, truth: NDArray[np.intp], counted: NDArray[np.bool_] | None, n_threads: int
    ) -> VoterMargins:
        """Sum the weighted votes, and the leads of single votes, over the voters that vote on a row.

        Parameters
        ----------
        committee : Committee
            The voters and their weights; an intercept is a voter that votes on every row.
        X : table or array-like (n, p)
            The rows.
        truth : intp array (n,)
            Class numbers.
        counted : bool array (n, T) or None
            Voters that vote on each row; None: all.
        n_threads : int
            Ceiling on the number of threads.

        Raises
        ------
        ValueError
            If `X` is of another number of rows than `truth`.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from committee import AdaBoostClassifier
        >>> from committee.vote.voter_margins import VoterMargins
        >>> X, y = load_iris(return_X_y=True)
        >>> vote = VoterMargins.of(AdaBoostClassifier(5).fit(X, y).committee_, X, y, None, 1)
        >>> bool((vote.voter_margins <= vote.margins + 1e-12).all())
        True
        """
        data = committee.encode(X)
        weights, spread = committee.weights, np.abs(committee.weights) * committee.voters.spread
        n = len(truth)
        F, alone, total, weight = np.zeros((n, committee.n_classes)), np.zeros(n), np.zeros(n), np.zeros((n, 1))
        if committee.intercept is not None:
            F += _columns(committee.intercept[None, :])
            alone += lead(F, truth)
            total += committee.intercept_spread
            weight += 1.0
        for t in range(committee.n_voters):
            vote = _columns(committee.voters[t : t + 1].tally(data, weights[t : t + 1], n_threads))
            if len(vote) != n:
                raise ValueError(f"y has {n} labels; X has {len(vote)} rows.")
            counts: NDArray[Any] = np.ones(n) if counted is None else counted[:, t]
            F += vote * counts[:, None]
            alone += lead(vote, truth) * counts
            total += spread[t] * counts
            weight[:, 0] += np.abs(weights[t]) * counts
        some = np.where(total > 0.0, total, 1.0)
        # sums in different orders: a quotient may pass 1 by a rounding
        margins, own = np.clip(lead(F, truth) / some, -1.0, 1.0), np.clip(alone / some, -1.0, 1.0)
        if committee.voters.kind == "score":
            F = committee.link.settle(F, weight)
        return cls(margins, own, elected(F))


def _columns(vote: F64) -> F64:
    """A score for each class; a signed one is the lead of the second of two."""
    return np.hstack([np.zeros_like(vote), vote]) if vote.shape[1] == 1 else vote
