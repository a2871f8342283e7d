"""A stump that may abstain: each side votes for a class or for none."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee._core import GrownTree
from committee.data.parallel import n_threads
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import BaseClassifier
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import with_parameters
from committee.vote.committee import Committee
from committee.vote.links.probability import Share
from committee.voters.growing import GrowthLimits, forest_of, grower, heaviest_class

if TYPE_CHECKING:
    from sklearn.utils import Tags


def abstention_z(right: float, wrong: float, n_classes: int) -> float:
    """Z of voting with shares P right and N wrong, the rest abstaining.

    Z = 1 - P - N + K P^(1/K) (N / (K - 1))^((K - 1)/K) when (K - 1) P > N, else 1; with K = 2 it is
    1 - (sqrt P - sqrt N)^2. It is the least over alpha of 1 - P - N + P exp(-alpha) + N exp(alpha / (K - 1)).

    Equation: abstentions (docs/theory.md).
    """
    K = n_classes
    if (K - 1) * right <= wrong:
        return 1.0
    return float(1.0 - right - wrong + K * right ** (1 / K) * (wrong / (K - 1)) ** ((K - 1) / K))


def best_abstention(tree: GrownTree) -> NDArray[np.int32]:
    """Votes of a grown stump's nodes: each leaf its heaviest class or -1, by the least Z."""
    leaves = np.flatnonzero(tree.feature < 0)
    W = tree.sums[leaves] / tree.sums[leaves].sum()
    heaviest, right = heaviest_class(W), W.max(axis=1)
    wrong = W.sum(axis=1) - right
    every = np.ones(len(leaves), dtype=bool)
    choices = [every, *np.eye(len(leaves), dtype=bool)] if len(leaves) > 1 else [every]
    Z = [abstention_z(right[v].sum(), wrong[v].sum(), W.shape[1]) for v in choices]
    voting = next(v for v, z in zip(choices, Z, strict=True) if z <= min(Z) + 1e-12)  # the first, but for rounding
    label = np.full(len(tree.feature), -1, dtype=np.int32)
    label[leaves[voting]] = heaviest[voting]
    return label


@with_parameters
class AbstainingStump(BaseClassifier):
    """One split whose sides vote for a class or abstain, h in {-1, 0, +1}.

    The best stump has the least

        Z = A + K P^(1/K) (N / (K - 1))^((K - 1)/K),

    with P, N, A the shares of weight voted right, voted wrong and not voted; for two classes
    Z = 1 - (sqrt P - sqrt N)^2. As a voter it is strongest where it is silent about what it does not know.
    `vote` tells abstentions apart; `predict` gives such a row the first class, and `predict_proba` gives it
    the same probability for every class.

    Attributes
    ----------
    committee_ : Committee
        A committee of one.

    References
    ----------
    R. Schapire, Y. Singer (1999). Improved boosting algorithms using confidence-rated predictions. Machine
    Learning 37. The form for many classes is derived in docs/theory.md#abstaining-votes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import AbstainingStump
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> stump = AbstainingStump().fit(X, y)
    >>> sorted(set(stump.vote(X).tolist()))
    [-1, 1]
    """

    _: KW_ONLY
    min_samples_leaf: int = shared.min_samples_leaf(more="A leaf is a side of the split.")
    min_weight_leaf: float = shared.min_weight_leaf()
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()
    n_jobs: int | None = shared.n_jobs()

    @property
    def _takes_sparse(self) -> bool:
        return True

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        threads, n_classes = n_threads(self.n_jobs), len(self.classes_)
        binned = rows.binned(self.table_, self.max_bins, threads)
        limits = GrowthLimits(1, None, self.min_samples_leaf, self.min_weight_leaf)
        growing = grower(binned, "abstaining", n_classes, limits, threads)
        tree = growing.grow_classes(rows.labels, rows.weights, None, 0)
        voters = forest_of([tree], binned.bins, n_classes, label=[best_abstention(tree)])
        return {"committee_": Committee(voters, np.ones(1), self.classes_, Share(), self.table_)}

    def vote(self, X: Any) -> NDArray[Any]:
        """h(x), ``(n,)``: two classes -1, 0 (abstains) or +1; more classes the class number, or -1."""
        return self.committee_.votes(self.validate_rows(X), n_threads=n_threads(self.n_jobs))[:, 0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a voter that is silent on most rows is meant to be
        return tags
