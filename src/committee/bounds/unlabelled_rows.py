"""The bound by margins of unlabelled rows: how sure a vote is says where its voters' errors can be."""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import ArrayLike

from committee.bounds.arguments import risk_of_failure
from committee.bounds.gibbs_loss import first_order
from committee.bounds.result import Bound
from committee.bounds.voter_losses import VoterLosses
from committee.data.number_types import F64
from committee.objectives.pac_bayes import kl_inverse

THRESHOLDS: F64 = np.linspace(0.05, 1.0, 20)
"""Values of theta that `unlabelled_margins` is minimised over."""


def unlabelled_margins(losses: VoterLosses, leads: ArrayLike, delta: float = 0.05) -> Bound:
    """Error on new rows of a weighted vote, by the mean loss of its voters and by its leads on unlabelled rows.

    The lead M of a row is how far the elected class is ahead of the second, as a share of all weight, and needs no
    label. With W the share of voters that are wrong, W >= (1 - M) / 2 where the vote is right and W >= (1 + M) / 2
    where it is wrong, so that M 1[wrong] <= W - (1 - M) / 2, and as 1 <= M / theta + (1 - M / theta)_+,

        error <= (E[W] - 1/2) / theta + E[phi(M)],    phi(M) = M / (2 theta) + (1 - M / theta)_+,

    for every theta in (0, 1]. E[W] is at most half the first-order bound at delta / 2; E[phi], of values between 1/2
    and max(1, 1 / (2 theta)), is at most what kl says of its mean at delta / 2, shared among 20 thetas. First order
    lets every wrong vote be carried by half of the voters alone; here that has to agree with the leads that are seen.

    Parameters
    ----------
    losses : VoterLosses
        On held-out rows or out of bag, of the ensemble's own weights.
    leads : array-like (m,)
        M of each unlabelled row: `Committee.margins` for the elected classes. The rows are new to the voters and the
        weights, and their labels are not looked at.
    delta : float, default=0.05
        The bound fails with at most this probability.

    Returns
    -------
    Bound
        Terms: ``gibbs_bound`` (most of E[W]), ``theta`` (the best), ``mean`` (of phi on the unlabelled rows),
        ``mean_bound`` (most of its expectation), ``unlabelled_rows`` (m). Vacuous from 1 - 1 / K on.

    Raises
    ------
    ValueError
        If `leads` are none, or not in [0, 1], or delta is not in (0, 1).

    References
    ----------
    M.-R. Amini, N. Usunier, F. Laviolette (2008). A transductive bound for the voted classifier with an application to
    semi-supervised learning. NIPS 21. There for the error on the unlabelled rows themselves; here for new ones.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.bounds import VoterLosses, unlabelled_margins
    >>> votes = np.where(np.random.default_rng(0).random((1000, 20)) < 0.1, -1, 1)
    >>> losses = VoterLosses(votes, None, np.full(20, 0.05))
    >>> print(unlabelled_margins(losses, np.abs(votes.mean(axis=1))))
    unlabelled margins: 0.1068
    """
    delta = risk_of_failure(delta)
    M = np.asarray(leads, dtype=np.float64)
    if M.ndim != 1 or not len(M) or not ((M >= 0.0) & (M <= 1.0 + 1e-9)).all():
        raise ValueError("leads must be one number in [0, 1] for each of at least one unlabelled row.")
    gibbs = first_order(losses, delta=delta / 2.0).terms["gibbs_bound"]
    M, theta = np.minimum(M, 1.0)[:, None], THRESHOLDS
    span = np.maximum(1.0, 0.5 / theta) - 0.5
    mean = (0.5 * M / theta + np.maximum(0.0, 1.0 - M / theta)).mean(axis=0)
    share = np.clip((mean - 0.5) / span, 0.0, 1.0)  # rounding may take it a little outside
    most = 0.5 + span * kl_inverse(share, log(2.0 * len(theta) / delta) / len(M))
    value = (gibbs - 0.5) / theta + most
    best = int(value.argmin())
    return losses.bound(
        name="unlabelled margins",
        value=float(value[best]),
        terms={
            "gibbs_bound": gibbs,
            "theta": float(theta[best]),
            "mean": float(mean[best]),
            "mean_bound": float(most[best]),
            "unlabelled_rows": float(len(M)),
        },
        advice="More unlabelled rows; votes that are sure of themselves where they are right.",
        leads=leads,
        delta=delta,
        remarks=("For weights that were fixed before the unlabelled rows were seen.",),
    )
