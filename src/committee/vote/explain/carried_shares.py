"""Shares of scores carried through a link: what each feature adds to the probabilities."""

from __future__ import annotations

import numpy as np

from committee.data.number_types import F64
from committee.vote.links.probability import Link, Share
from committee.vote.links.slopes import mean_slopes


def carried_shares(link: Link, shares: F64, total: float) -> F64:
    """Shares of the features in the probabilities that a link makes of scores.

    Let feature j have the share s_j, a vector, in the scores F = F_0 + sum_j s_j. It has in probability k

        psi_jk = sum_d s_jd int_0^1 dp_k/dF_d (F_0 + t sum_i s_i) dt,

    the prices of Aumann and Shapley [1]_ of a game in which all features are taken in together, evenly. They add up to
    p(F) - p(F_0), are 0 of a feature whose shares are 0, and the same of two whose shares are. Of one score they are in
    proportion to the shares. Shapley values of trees are carried through a series of models in this way by Chen,
    Lundberg and Lee [2]_.

    They are the Shapley values of the probability itself where it is linear in the scores, and where a single
    feature has a share; elsewhere they are not, as the link bends.

    Equation: carried-shares (docs/theory.md).

    Parameters
    ----------
    link : Link
        From scores to probabilities.
    shares : float64 array (n, p + 1, D)
        Shares of the features in the scores, and last F_0; of two classes D = 1, the signed score, or 2.
    total : float
        Weight of the voters, for the links that divide by it.

    Returns
    -------
    float64 array (n, p + 1, K)
        Shares of the features in the probabilities, and last p(F_0). The sum over the places is p(F).

    References
    ----------
    .. [1] R. J. Aumann, L. S. Shapley (1974). Values of non-atomic games. Princeton University Press.
    .. [2] H. Chen, S. M. Lundberg, S.-I. Lee (2022). Explaining a series of models by propagating Shapley values.
       Nature Communications 13, 4512.

    Examples
    --------
    >>> from committee.vote.links.probability import Logistic
    >>> shares = np.array([[[2.0], [1.0], [0.0]]])
    >>> carried_shares(Logistic(1.0), shares, 1.0)[0, :, 1].round(4).tolist()
    [0.3017, 0.1509, 0.5]
    """
    if type(link) is Share:
        return _of_mean(shares, total)
    base, feature_pieces = shares[:, -1], shares[:, :-1]
    slope = mean_slopes(link, base, feature_pieces.sum(axis=1), total)
    carried = np.einsum("npd,nkd->npk", feature_pieces, slope)
    return np.concatenate([carried, link.probability(base, total)[:, None]], axis=1)


def _of_mean(shares: F64, total: float) -> F64:
    """Shares in a mean of votes, which is straight."""
    if total <= 0.0:
        of_none = np.zeros((*shares.shape[:2], max(2, shares.shape[2])))
        of_none[:, -1] = 1.0 / of_none.shape[2]
        return of_none
    mean = shares / total
    if mean.shape[2] > 1:
        return mean
    both = np.concatenate([-mean, mean], axis=2) / 2.0
    both[:, -1] += 0.5
    return both
