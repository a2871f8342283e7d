"""Committees of ensembles that can be made smaller: distilled to one learner, or pruned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import is_number, is_whole
from committee.vote.members import MemberCommittees

if TYPE_CHECKING:
    from committee.learners.blend.distilled import Distilled

LEAST_NODES = 100
"""A share is no fewer nodes in `distil`: lines and model trees have few, with many numbers in each."""


class ReducibleBlend:
    """Base of the committees of ensembles, for what makes a small model of a fitted one."""

    def distil(
        self,
        X: Any,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_nodes: float = 0.01,
    ) -> Distilled:
        """Train one small learner on what the committee says of rows, and tell what is lost by it.

        Boosted trees of several sizes, with and without lines in their leaves, model trees and lines are trained on the
        committee's probabilities, or its predictions; the one that comes nearest to them is taken.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows without labels: those of the fit, or any others. Of more than 20,000 so many are drawn. Further ones
            are made by swapping cells between near rows, as the committee is too sure of those that it was trained on.
        X_val, y_val : table or array-like and array-like, default=None
            Rows that the committee was not trained on, by which it and the learner are judged. None: the figures are
            estimated, by the committee's ``oof_loss_`` and ``oof_score_`` and by how far learners trained on three of
            four parts of the rows are from the committee on rows made of the other part.
        sample_weight : array-like (n,), default=None
            Row weights of `X`; 0 means absent.
        max_nodes : float or int, default=0.01
            Most tree nodes: a share (0, 1] of the committee's, but 100 nodes at least, as lines and model trees
            have few; or a whole number of them.

        Returns
        -------
        Distilled
            The learner, which is one of the library's others, and its size, loss and score beside the committee's.

        Raises
        ------
        ValueError
            If no learner is so small, the rows are fewer than eight or do not suit the committee, one of `X_val` and
            `y_val` is missing, or the committee was trained on rows of one class, or for numbers on another loss than
            squared error.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import CommitteeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = CommitteeClassifier("fast", random_state=0).fit(X, y)
        >>> small = model.distil(X, max_nodes=0.02)
        >>> small.nodes <= max(100, 0.02 * small.nodes_before), small.score > 0.92
        (True, True)
        """
        from committee.learners.blend.distilled import distilled  # few fits are followed by it

        self._check_members("distil")
        return distilled(self, X, sample_weight, (X_val, y_val), most_nodes_of(self, max_nodes, LEAST_NODES))

    def prune(self, max_nodes: float = 0.33) -> Self:
        """Return a copy of fewer fits, and fewer trees of a forest; this committee stays as it is.

        Of each member the same share of parts stays, the first ones: of its fits, or of a forest's trees and SBPMT's
        committees, one at least. Weights and temperatures stay. Where one part of each member is too much, members go,
        least weight first. No rows are needed; nothing has judged the smaller vote, and its ``oof_loss_`` and
        ``oof_score_`` are NaN.

        Parameters
        ----------
        max_nodes : float or int, default=0.33
            Most tree nodes: a share (0, 1] of the committee's, or a whole number of them.

        Returns
        -------
        CommitteeClassifier or CommitteeRegressor

        Raises
        ------
        ValueError
            If the smallest part of the last member has more nodes, or the committee was trained on rows of one class.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import CommitteeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = CommitteeClassifier("fast", random_state=0).fit(X[::2], y[::2])
        >>> small = model.prune(0.5)
        >>> small.committee_.n_nodes <= 0.5 * model.committee_.n_nodes, small.score(X[1::2], y[1::2]) > 0.94
        (True, True)
        """
        from committee.learners.blend.pruned import pruned  # few fits are followed by it

        self._check_members("prune")
        smaller: Self = pruned(self, most_nodes_of(self, max_nodes, 1))
        return smaller

    def _check_members(self: Any, what: str) -> None:
        """Refuse a model without members."""
        check_is_fitted(self, "committee_")
        if not isinstance(self.committee_.voters, MemberCommittees):
            raise ValueError(f"this model was trained on rows of one class; there is nothing to {what}.")


def most_nodes_of(blend: Any, max_nodes: float, least: int) -> float:
    """Nodes that a limit allows; a share allows so many at least, or all that there are.

    Raises
    ------
    ValueError
        If it is no share, and no number of nodes.
    """
    whole = is_whole(max_nodes)
    if not (is_number(max_nodes) and (max_nodes >= 1 if whole else 0.0 < max_nodes <= 1.0)):
        raise ValueError(f"max_nodes={max_nodes!r} must be a share in (0, 1], or a whole number above 0.")
    n_nodes = float(blend.committee_.n_nodes)
    return float(max_nodes) if whole else max(max_nodes * n_nodes, min(float(least), n_nodes))
