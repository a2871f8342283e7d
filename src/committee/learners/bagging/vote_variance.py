"""The variance of a vote of subsamples, from a record of the draws: the infinitesimal jackknife."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64


@dataclass(frozen=True, eq=False)
class VoteVariance:
    """How far the share of votes for each class would vary, for each row ``(n, K)``.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.bagging.vote_variance import VoteVariance
    >>> variance = VoteVariance(np.array([[0.05, -0.01]]), np.array([[0.01, 0.0025]]), np.array([[0.02, 0.02]]))
    >>> variance.standard_error.round(3).tolist()
    [[0.245, 0.05]]
    """

    rows: F64
    """With other training rows, if every subsample voted: an unbiased estimate of its jackknife, below 0 by chance."""
    draws: F64
    """With other draws from the same rows: the voters' variance by their number; 0 if every subsample votes."""
    noise: F64
    """Standard deviation of `rows` over other draws, about; where it is as large as `rows`, more voters are needed."""

    @property
    def standard_error(self) -> F64:
        """Root of `draws` and `rows` together, what is below 0 of the latter taken as 0."""
        error: F64 = np.sqrt(np.maximum(self.rows, 0.0) + self.draws)
        return error


def infinitesimal_jackknife(
    drawn: NDArray[np.bool_], votes: F64, *, n_samples: int | None = None, complete: bool = False
) -> VoteVariance:
    """Variance of the mean vote over subsamples of s of n training rows, drawn without replacement.

    With c_i the covariance over the M voters of "row i was drawn" and the vote, and v the votes' variance,

        n (n - 1) / (n - s)^2 (sum_i c_i^2 - s (n - s) / n * v / M);

    the second term is what the sum is expected to be by chance alone. Over all subsamples (`complete`) it is left out,
    and what remains is the jackknife of their mean vote U, (n - 1) / n sum_i (U - U_{-i})^2.

    Equation: vote-variance (docs/theory.md).

    Parameters
    ----------
    drawn : bool array (M, n)
        Which rows each voter was trained on; all draws are of one size s < n.
    votes : float64 array (M, n_rows, K)
        Share that each voter gives each class of each row.
    n_samples : int, default=None
        Rows that could be drawn, if some of the columns are of rows that could not. None: all.
    complete : bool, default=False
        Whether these are all subsamples there are.

    Returns
    -------
    VoteVariance

    Raises
    ------
    ValueError
        If no row was left out, or there are fewer than two voters.

    References
    ----------
    S. Wager, T. Hastie, B. Efron (2014). Confidence intervals for random forests: the jackknife and the infinitesimal
    jackknife. JMLR 15. I. Ghosal, G. Hooker (2021). Boosting random forests to reduce bias: one-step boosted forest and
    its variance estimate. JCGS 30.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.bagging.vote_variance import infinitesimal_jackknife
    >>> y = np.array([0.0, 1.0, 1.0, 0.0])
    >>> drawn = ~np.eye(4, dtype=bool)
    >>> votes = np.array([y[rows].mean() for rows in drawn])[:, None, None]
    >>> variance = infinitesimal_jackknife(drawn, votes, complete=True)
    >>> bool(np.isclose(variance.rows[0, 0], y.var(ddof=1) / 4))
    True
    """
    M, n = len(drawn), n_samples or drawn.shape[1]
    s = int(drawn[0].sum())
    if s == n:
        raise ValueError(
            f"every voter has seen all {n} rows, which does not show how votes vary with them; fit with a smaller "
            "max_samples."
        )
    if M < 2:
        raise ValueError("one voter does not show how votes vary; fit with n_estimators=2 at least, better hundreds.")
    deviation = votes - votes.mean(axis=0)
    v = (deviation**2).mean(axis=0)
    sums = np.tensordot(drawn.astype(np.float64), deviation, axes=(0, 0))
    factor = n * (n - 1) / (n - s) ** 2
    by_chance = np.zeros_like(v) if complete else s * (n - s) / n * v / M
    rows = factor * (((sums / M) ** 2).sum(axis=0) - by_chance)
    draws = np.zeros_like(v) if complete else v / (M - 1)
    return VoteVariance(rows, draws, factor * by_chance * np.sqrt(2.0 / (n - 1)))
