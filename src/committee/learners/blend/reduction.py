"""Smaller models of a fitted committee of ensembles: distilled to one learner, or pruned."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64, is_number, is_whole
from committee.data.text import NamedCalls, suggest_names
from committee.learners.blend.model_size import MemberParts, counts_of_parts
from committee.vote.members import MemberCommittees

if TYPE_CHECKING:
    from committee.learners.blend.distillation import Distilled

LEAST_NODES = 100
"""Smallest limit that a share gives in `distil`: lines and model trees have few nodes, with many numbers in each."""


class ReducibleBlend(NamedCalls):
    """Base of the committees of ensembles, with `distil` and `prune`."""

    member_names_: list[str]
    member_weights_: F64

    def distil(
        self,
        X: Any,
        *,
        X_val: Any = None,
        y_val: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        max_nodes: float = 0.01,
    ) -> Distilled:
        """Train one small learner on the committee's predictions for rows, and estimate what is lost by it.

        Boosted trees of several sizes, with and without lines in their leaves, and for classes model trees and lines
        are trained on the committee's probabilities or predictions; the one with the closest predictions is chosen.

        Parameters
        ----------
        X : table or array-like (n, p)
            Rows without labels: those of the fit, or any others; at most 20,000 of them are drawn. Further rows
            are made by swapping cells between near rows, as the committee is overconfident on its training rows.
        X_val, y_val : table or array-like and array-like, default=None
            Held-out rows on which the committee and the learner are compared. If None, the figures are estimates, by
            ``oof_loss_`` and ``oof_score_`` and by the distance between the committee and learners trained on three of
            four parts of the rows, on rows made of the other part.
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
        TypeError
            If a member is of another library.
        ValueError
            If no learner is so small, the rows are fewer than eight, sparse, or do not suit the committee, one of
            `X_val` and `y_val` is missing, or the committee was trained on one class or on another loss than squared
            error.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import CommitteeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> small = CommitteeClassifier("fast", random_state=0).fit(X, y).distil(X, max_nodes=0.02)
        >>> small.nodes <= max(100, 0.02 * small.nodes_before), small.score > 0.92
        (True, True)
        """
        from committee.learners.blend.distillation import distil  # few fits are followed by it

        self._check_members("distil")
        return distil(self, X, sample_weight, (X_val, y_val), most_nodes(self, max_nodes, LEAST_NODES))

    def prune(self, max_nodes: float = 0.33) -> Self:
        """Return a copy of fewer fits, and fewer trees of a forest; this committee is unchanged.

        About the same share of each member's parts stays, one at least: of its fits the smallest, of a forest's trees
        and SBPMT's committees the first. Weights and temperatures stay. Where one part of each member is too much,
        members are removed, least weight first. The smaller vote has no held-out estimate: ``oof_loss_``,
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
        TypeError
            If a member is of another library.
        ValueError
            If the smallest part of the last member has more nodes, or the committee was trained on rows of one class.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from committee import CommitteeClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> model = CommitteeClassifier("fast", random_state=0).fit(X[::2], y[::2])
        >>> model.prune(0.5).committee_.n_nodes <= 0.5 * model.committee_.n_nodes
        True
        """
        self._check_members("prune")
        most, members, weights = most_nodes(self, max_nodes, 1), _members(self), self.member_weights_
        left = np.arange(len(members))
        while (counts := counts_of_parts([members[k].nodes for k in left], weights[left], most)) is None:
            if len(left) == 1:
                raise ValueError(
                    f"max_nodes allows {most:.4g} nodes, and a part of the member {members[left[0]].name!r} has "
                    f"{members[left[0]].nodes[0]}; allow more, or train one small learner by distil."
                )
            left = np.delete(left, np.argmin(weights[left]))
        smaller: Self = _of_parts(self, members, left, counts, "pruned")
        return smaller

    def without(self, *names: str) -> Self:
        """Return a copy without some members; this committee is unchanged.

        The weights of the others keep their proportions. There is no held-out estimate of their vote: ``oof_loss_``,
        ``oof_score_`` are NaN.

        Parameters
        ----------
        *names : str
            Some of `member_names_`.

        Returns
        -------
        CommitteeClassifier or CommitteeRegressor

        Raises
        ------
        ValueError
            If a name is that of no member, no member would be left, or the committee was trained on rows of one class.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from sklearn.linear_model import Ridge
        >>> from committee import CommitteeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CommitteeRegressor(candidates=["forest", Ridge(0.1)], random_state=0).fit(X, y)
        >>> model.member_names_, model.without("ridge").member_names_
        (['forest', 'ridge'], ['forest'])
        """
        self._check_members("leave out")
        known = self.member_names_
        for name in names:
            if name not in known:
                raise ValueError(f"there is no member {name!r}; {suggest_names(name, known)}")
        left = np.flatnonzero([name not in names for name in known])
        if not left.size:
            raise ValueError("without leaves no member; name fewer of them.")
        members = _members(self)
        smaller: Self = _of_parts(self, members, left, [len(members[k].nodes) for k in left], "removed")
        return smaller

    def _check_members(self: Any, what: str) -> None:
        check_is_fitted(self, "committee_")
        if not isinstance(self.committee_.voters, MemberCommittees):
            raise ValueError(f"this model was trained on rows of one class; there is nothing to {what}.")
        if what != "leave out":
            self._refuse_foreign(TypeError, f"{what} works on committee's own members")


def most_nodes(blend: Any, max_nodes: float, least: int) -> float:
    whole = is_whole(max_nodes)
    if not (is_number(max_nodes) and (max_nodes >= 1 if whole else 0.0 < max_nodes <= 1.0)):
        raise ValueError(f"max_nodes={max_nodes!r} must be a share in (0, 1], or a whole number above 0.")
    n_nodes = float(blend.committee_.n_nodes)
    return float(max_nodes) if whole else max(max_nodes * n_nodes, min(float(least), n_nodes))


def _members(blend: Any) -> list[MemberParts]:
    return [MemberParts(name, blend.member(name).voters.members) for name in blend.member_names_]


def _of_parts(
    blend: Any, members: Sequence[MemberParts], left: NDArray[np.intp], counts: Sequence[int], reason: str
) -> Any:
    kept = [members[k].kept(count) for k, count in zip(left, counts, strict=True)]
    weights: F64 = blend.member_weights_[left]
    if weights.size < blend.member_weights_.size:  # those of all sum to one but for rounding, and stay as they are
        weights = weights / weights.sum()
    sizes = np.array([len(fits) for fits in kept], dtype=np.int64)
    voters = MemberCommittees([fit for fits in kept for fit in fits])
    small = copy.copy(blend)
    small.committee_ = replace(blend.committee_, voters=voters, weights=np.repeat(weights / sizes, sizes))
    small.member_names_, small.member_weights_, small.member_sizes_ = [members[k].name for k in left], weights, sizes
    for name in ("member_losses_", "member_gains_", "member_seconds_"):
        setattr(small, name, getattr(blend, name)[left])
    gone = np.setdiff1d(np.arange(len(members)), left)
    small.left_out_ = blend.left_out_ | {members[k].name: reason for k in gone}
    for name, of_members in (("left_out_losses_", "member_losses_"), ("left_out_seconds_", "member_seconds_")):
        if hasattr(blend, name):  # earlier files have none
            setattr(small, name, np.concatenate([getattr(blend, name), getattr(blend, of_members)[gone]]))
    small.member_predict_times_ = np.full(len(left), np.nan)
    for name in ("oof_loss_", "oof_score_", "reserve_loss_", "reserve_score_"):  # of the larger vote
        if hasattr(blend, name):
            setattr(small, name, float("nan"))
    return small
