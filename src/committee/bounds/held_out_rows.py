"""The test-set bound: a fixed vote, judged by how many held-out rows it gets wrong."""

from __future__ import annotations

from scipy.stats import beta

from committee.bounds.arguments import risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses

NEAR = 0.05
"""A bound no further than this above the share of wrong rows is called near."""


def held_out_errors(losses: VoterLosses, delta: float = 0.05) -> Bound:
    """Error on new rows of a vote that was fixed before the rows were seen: by how many of them it gets wrong.

    sup{p : P[Bin(n, p) <= k] >= delta}, k the number of rows that the vote gets wrong. No bound that is right for the
    vote itself can be smaller for all k. It is **not for weights chosen by means of these rows**, hence takes none;
    the others are.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``wrong`` (k), ``rows`` (n), ``error`` (k / n).

    Raises
    ------
    ValueError
        If the losses are out of bag, or delta is not in (0, 1).

    References
    ----------
    C. Clopper, E. Pearson (1934). The use of confidence or fiducial limits. Biometrika 26. J. Langford (2005). Tutorial
    on practical prediction theory for classification. JMLR 6, Theorem 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, held_out_errors
    >>> votes = np.where(np.arange(100)[:, None] < 5, -1, 1)
    >>> print(held_out_errors(VoterLosses(votes, None, np.ones(1))))
    test set: 0.1023
    """
    delta, n = risk_of_failure(delta), losses.n_rows
    wrong = int(losses.errors.sum())
    return losses.bound(
        name="test set",
        value=_most(wrong, n, delta),
        terms={"wrong": float(wrong), "rows": float(n), "error": wrong / n},
        advice=f"A better vote; more rows{_rows_to_be_near(wrong, n, delta)}.",
        delta=delta,
        remarks=("For a vote that was fixed before these rows were seen, weights included.",),
    )


def _most(wrong: float, n: float, delta: float) -> float:
    return 1.0 if wrong >= n else float(beta.ppf(1.0 - delta, wrong + 1.0, n - wrong))


def _rows_to_be_near(wrong: int, n: int, delta: float) -> str:
    """About how many rows, wrong as often as these, would bring the bound near to that share; "" where it is."""
    share = wrong / n
    if wrong == n or _most(wrong, n, delta) <= share + NEAR:
        return ""
    low, high = float(n), 2.0 * n
    while _most(share * high, high, delta) > share + NEAR:
        low, high = high, 2.0 * high
    while high - low > 0.5:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _most(share * middle, middle, delta) > share + NEAR else (low, middle)
    rows = float(f"{high:.2g}")
    return f" (some {rows:,.0f} would bring it within {NEAR:g} of the share that is wrong)"
