"""The test-set bound: a fixed vote, judged by how many held-out rows it gets wrong."""

from __future__ import annotations

from scipy.stats import beta

from committee.bounds.arguments import risk_of_failure
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses


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
        value=1.0 if wrong == n else float(beta.ppf(1.0 - delta, wrong + 1, n - wrong)),
        terms={"wrong": float(wrong), "rows": float(n), "error": wrong / n},
        advice="A better vote; more rows.",
        delta=delta,
        remarks=("For a vote that was fixed before these rows were seen, weights included.",),
    )
