"""AdaBoosts of model trees: what each tree counts, and how rows and labels weigh for the next one.

A tree names a class G(x) and has a probability for each. "samme", "half" and "m1" keep one weight for each row, "m2"
and "mh" one for each row and label: "m2" for each wrong label, by which the tree is to prefer the right one, "mh" for
each question "class k or not?". There the score of a class in a leaf is boosted by that class's own weights (but not
along the gradient, which has one likelihood for all), and the tree grown by their sums over the classes. A weight alpha
is twice that of the sources which write 1/2 ln.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Mask
from committee.learners.adaboost.emphasis import is_chance, samme_weight
from committee.learners.trees.joint_likelihood import JointLikelihood
from committee.learners.trees.model_tree_table import ModelTree
from committee.voters.model_forest import LinkName

EmphasisName = Literal["samme", "half", "m1", "m2", "mh"]
"""``emphasis=`` of SBPMTClassifier."""


class TreeEmphasis(ABC):
    """The weights of one run of boosting.

    Equation: sbpmt-emphasis (docs/theory.md).

    Parameters
    ----------
    labels : uint16 array (n,)
        Class numbers of all rows.
    weights : float64 array (n,)
        Weights at the start, 0 of rows that are not drawn; sum to 1.
    n_classes : int
    link : {"probit", "logit"}
        From a score to a probability.
    """

    def __init__(self, labels: NDArray[np.uint16], weights: F64, n_classes: int, link: LinkName) -> None:
        self.labels: NDArray[np.uint16] = labels
        self.w: F64 = weights
        self.n_classes: int = n_classes
        self.link = link

    @property
    def of_rows(self) -> F64:
        """Weights of the rows, ``(n,)``, which sum to 1."""
        return self.w

    @property
    def of_scores(self) -> F64 | None:
        """Weights of the rows by which each class's score is boosted, ``(n, K)``; None: by those of the rows."""
        return None

    def decides_alone(self, tree: ModelTree, error: float) -> bool:
        """Tell if there is nothing left to weigh: the tree errs nowhere, and is to be the committee's only one."""
        return error <= 0.0

    @abstractmethod
    def alpha(self, tree: ModelTree, wrong: Mask, error: float) -> float | None:
        """Weight of a tree that does not decide alone; None if it is no better than chance.

        `wrong` tells which of the rows ``tree.drawn`` it gets wrong, `error` is their share of the weight.
        """

    @abstractmethod
    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        """Weigh rows and labels for the next tree."""


class Samme(TreeEmphasis):
    """SAMME (Zhu et al. 2009): alpha = ln((1 - err) / err) + ln(K - 1); wrong rows' weights grow by exp(alpha)."""

    def alpha(self, tree: ModelTree, wrong: Mask, error: float) -> float | None:
        """As `TreeEmphasis.alpha`."""
        if is_chance(error, self.n_classes):
            return None
        many = np.log(self.n_classes - 1.0)
        return float(self._share_of_odds * (samme_weight(error, error, self.n_classes) - many) + many)

    _share_of_odds = 1.0

    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        """As `TreeEmphasis.move`."""
        self.w[tree.drawn[wrong]] *= np.exp(alpha)
        self.w /= self.w.sum()


class Half(Samme):
    """The SBPMT paper's: SAMME with half the first logarithm."""

    _share_of_odds = 0.5


class M1(Samme):
    """AdaBoost.M1 (Freund and Schapire 1997): alpha = ln((1 - err) / err) for any number of classes; err < 1/2."""

    def alpha(self, tree: ModelTree, wrong: Mask, error: float) -> float | None:
        """As `TreeEmphasis.alpha`."""
        return None if is_chance(error, 2) else samme_weight(error, error, 2)


class LabelEmphasis(TreeEmphasis):
    """A weight D[i, k] for each row and label; they sum to 1."""

    def __init__(self, labels: NDArray[np.uint16], weights: F64, n_classes: int, link: LinkName) -> None:
        super().__init__(labels, weights, n_classes, link)
        self.own: Mask = labels[:, None] == np.arange(n_classes)
        self.D: F64 = np.where(self.weighs(), weights[:, None], 0.0)
        self._settle()

    @abstractmethod
    def weighs(self) -> Mask:
        """Tell which labels of which rows have a weight."""

    def _settle(self) -> None:
        self.D /= self.D.sum()
        self.w = self.D.sum(axis=1)


class M2(LabelEmphasis):
    """AdaBoost.M2 (Freund and Schapire 1997): trees say how plausible each class is, by its probability p_k(x).

    D is on the wrong labels. With the pseudo-loss e = 1/2 sum_{i, k != y_i} D[i, k] (1 - p_{y_i}(x_i) + p_k(x_i)),
    alpha = ln((1 - e) / e), and D[i, k] is multiplied by exp(-alpha (1 + p_{y_i} - p_k) / 2). Its vote is that of
    ``voting="soft"``. Ends at e >= 1/2, or with a tree of which e is 0: one that names the right class of all rows,
    and is in some doubt, is followed by others.
    """

    def weighs(self) -> Mask:
        """As `LabelEmphasis.weighs`: the wrong ones."""
        return ~self.own

    @property
    def of_scores(self) -> F64 | None:
        """As `TreeEmphasis.of_scores`: of a row's own class, the sum over the others."""
        return None if self.n_classes == 2 else np.where(self.own, self.w[:, None], self.D)

    def decides_alone(self, tree: ModelTree, error: float) -> bool:
        """As `TreeEmphasis.decides_alone`: by the pseudo-loss."""
        return self._pseudo_loss(tree) <= 0.0

    def alpha(self, tree: ModelTree, wrong: Mask, error: float) -> float | None:
        """As `TreeEmphasis.alpha`."""
        loss = self._pseudo_loss(tree)
        return None if is_chance(loss, 2) else samme_weight(loss, loss, 2)

    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        """As `TreeEmphasis.move`."""
        doubts = self._doubts(tree)
        # the common factor exp(-alpha) goes when they are divided by their sum
        self.D[tree.drawn] *= np.exp(alpha * (doubts - doubts.max()))
        self._settle()

    def _pseudo_loss(self, tree: ModelTree) -> float:
        return float((self.D[tree.drawn] * self._doubts(tree)).sum())

    def _doubts(self, tree: ModelTree) -> F64:
        """(1 - p_y + p_k) / 2 of the drawn rows."""
        P = np.exp(JointLikelihood(self.link).log_shares(tree.scores))
        doubts: F64 = 0.5 * (1.0 - P[self.own[tree.drawn]][:, None] + P)
        return doubts


class MH(LabelEmphasis):
    """AdaBoost.MH (Schapire and Singer 1999) of trees that name a class: h_k(x) = 1 for k = G(x), -1 for the others.

    With Y_ik = +-1 for "row i is of class k or not" and r = sum_ik D[i, k] Y_ik h_k(x_i), alpha is
    ln((1 + r) / (1 - r)), and D[i, k] is multiplied by exp(-alpha Y_ik h_k(x_i) / 2): of a wrong row, the weights of
    its class and of the one that was named grow. Its vote is that of ``voting="shares"``. Ends at r <= 0.
    """

    def weighs(self) -> Mask:
        """As `LabelEmphasis.weighs`: all."""
        return np.ones(self.own.shape, dtype=bool)

    @property
    def of_scores(self) -> F64 | None:
        """As `TreeEmphasis.of_scores`."""
        return None if self.n_classes == 2 else self.D

    def alpha(self, tree: ModelTree, wrong: Mask, error: float) -> float | None:
        """As `TreeEmphasis.alpha`: (1 - r) / 2 is the weight of the wrong answers."""
        loss = float(self.D[tree.drawn][self._wrong_answers(tree)].sum())
        return None if is_chance(loss, 2) else samme_weight(loss, loss, 2)

    def move(self, tree: ModelTree, wrong: Mask, alpha: float) -> None:
        """As `TreeEmphasis.move`."""
        self.D[tree.drawn] *= np.where(self._wrong_answers(tree), np.exp(alpha), 1.0)
        self._settle()

    def _wrong_answers(self, tree: ModelTree) -> Mask:
        """Questions that a tree answers wrongly, ``(len(drawn), K)``."""
        named = tree.predicted[:, None] == np.arange(self.n_classes)
        answers: Mask = named != self.own[tree.drawn]
        return answers


EMPHASES: dict[str, type[TreeEmphasis]] = {"samme": Samme, "half": Half, "m1": M1, "m2": M2, "mh": MH}
"""``emphasis=`` of SBPMTClassifier."""
