"""The likelihood of the scores of all classes together, P(k | x) = Psi(F_k) / sum_j Psi(F_j), Psi = Phi or sigma.

Two classes have one score, P = Psi(F) and Psi(-F). In several scores the log-likelihood is not concave, so that
boosting follows its gradient, as far as Fisher's information suggests. Scores are ``(n, O)``: O = 1 of two classes,
otherwise K.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit, log_ndtr

from committee import _core
from committee.data.number_types import F64
from committee.voters.model_forest import LinkName


@dataclass(frozen=True)
class JointLikelihood:
    """ln P of the classes of rows, its gradient and its information.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.trees.joint_likelihood import JointLikelihood
    >>> np.exp(JointLikelihood("probit").log_shares(np.array([[0.5, 0.0, -0.5]]))).round(3)
    array([[0.461, 0.333, 0.206]])
    """

    link: LinkName

    def log_shares(self, F: F64) -> F64:
        """ln P(k | x), ``(n, K)``."""
        curve = log_ndtr if self.link == "probit" else log_expit
        if F.shape[1] == 1:
            return np.concatenate([curve(-F), curve(F)], axis=1)
        L: F64 = curve(F)
        L -= L.max(axis=1, keepdims=True)
        L -= np.log(np.exp(L).sum(axis=1, keepdims=True))
        return L

    def losses(self, F: F64, labels: NDArray[np.uint16]) -> F64:
        """-ln P(y | x) of rows of these classes, ``(n,)``."""
        losses: F64 = -self.log_shares(F)[np.arange(len(F)), labels]
        return losses

    def risk(self, F: F64, labels: NDArray[np.uint16], v: F64) -> float:
        """Mean loss under row weights v."""
        return float(v @ self.losses(F, labels) / v.sum())

    def gradient(self, F: F64, labels: NDArray[np.uint16]) -> F64:
        """Gradient of ln P(y | x) in the scores, ``(n, O)``: lambda(F_k) ([y = k] - P(k)), lambda = Psi' / Psi.

        Equation: joint-gradient (docs/theory.md).
        """
        if F.shape[1] == 1:
            sign = np.where(labels == 1, 1.0, -1.0)[:, None]
            return np.asarray(sign * self._rates(sign * F))
        own = labels[:, None] == np.arange(F.shape[1])
        gradient: F64 = self._rates(F) * (own - np.exp(self.log_shares(F)))
        return gradient

    def information(self, F: F64, d: F64) -> F64:
        """Expected square of the derivative of ln P(y | x) along d ``(n, O)``, of each row: Var_P(lambda(F_k) d_k)."""
        if F.shape[1] == 1:
            return (self._rates(F) * self._rates(-F) * d**2)[:, 0]
        P, slope = np.exp(self.log_shares(F)), self._rates(F) * d
        mean = (P * slope).sum(axis=1, keepdims=True)
        variance: F64 = (P * (slope - mean) ** 2).sum(axis=1)
        return variance

    def _rates(self, F: F64) -> F64:
        return _core.newton_terms(self.link, np.ascontiguousarray(F).ravel())[0].reshape(F.shape)


def leaf_losses(link: LinkName, F: F64, labels: NDArray[np.uint16], joint: bool) -> F64:
    """Loss of each score as the answer to "class k or not", ``(n, O)``; if `joint`, of P(k), which all of them make."""
    n_scores = F.shape[1]
    positive = labels[:, None] == (np.ones(1) if n_scores == 1 else np.arange(n_scores))
    if joint and n_scores > 1:
        L = JointLikelihood(link).log_shares(F)
        others = np.log(np.maximum(-np.expm1(L), np.finfo(np.float64).tiny))
        return np.where(positive, -L, -others)
    losses: F64 = _core.newton_terms(link, np.where(positive, F, -F).ravel())[2].reshape(-1, n_scores)
    return losses
