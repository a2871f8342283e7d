"""Fewer fits and fewer trees of the members of a committee of ensembles."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.vote.links.mean import Average
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees

if TYPE_CHECKING:
    from committee.vote.committee import Committee
    from committee.vote.regression import RegressionCommittee

PRUNED = "pruned"
"""Why a member is left out that had weight."""


@dataclass(frozen=True, eq=False)
class PrunableMember:
    """The fits of a member, and the parts of which any number votes as all of them do, if less steadily.

    They are the fits, or of a single fit whose vote is a mean, as a forest's, its voters.
    """

    name: str
    fits: Sequence[Committee | RegressionCommittee]

    @property
    def nodes(self) -> NDArray[np.int64]:
        """Nodes of each part, in the order in which they stay."""
        if len(self.fits) == 1 and isinstance(self.fits[0].link, Share | Average):
            return np.asarray(self.fits[0].voters.n_nodes, dtype=np.int64)
        return np.array([one.n_nodes for one in self.fits], dtype=np.int64)

    def count(self, share: float) -> int:
        """Parts of a share, one at least."""
        return max(1, int(share * len(self.nodes) + 1e-9))

    def first(self, count: int) -> Sequence[Committee | RegressionCommittee]:
        """The fits that are left of the first parts."""
        if len(self.fits) > 1 or count == len(self.nodes):
            return self.fits[:count]
        return [self.fits[0][:count]]


def pruned(blend: Any, most_nodes: float) -> Any:
    """Return a copy with no more nodes; see `committee.learners.blend.reducible.ReducibleBlend.prune`."""
    starts = np.cumsum(blend.member_sizes_) - blend.member_sizes_
    fits = blend.committee_.voters.members
    members = [
        PrunableMember(name, fits[start : start + size])
        for name, start, size in zip(
            blend.member_names_, starts.tolist(), blend.member_sizes_.tolist(), strict=True
        )
    ]  # fmt: skip
    left = np.arange(len(members))
    while (share := _largest_share([members[k] for k in left], most_nodes)) is None:
        if len(left) == 1:
            least = members[left[0]].nodes[0]
            raise ValueError(
                f"max_nodes allows {most_nodes:.4g} nodes, and a part of the member {members[left[0]].name!r} has "
                f"{least}; allow more, or train one small learner by distil."
            )
        left = np.delete(left, np.argmin(blend.member_weights_[left]))
    return _of_parts(blend, members, left, share)


def _largest_share(members: Sequence[PrunableMember], most_nodes: float) -> float | None:
    """The largest share of each member's parts that has no more nodes; None if one part of each has more."""
    totals = [np.cumsum(one.nodes) for one in members]
    shares = np.unique(np.concatenate([np.arange(1, len(total) + 1) / len(total) for total in totals]))[::-1]
    for share in map(float, shares):
        if sum(int(total[one.count(share) - 1]) for one, total in zip(members, totals, strict=True)) <= most_nodes:
            return share
    return None


def _of_parts(blend: Any, members: Sequence[PrunableMember], left: NDArray[np.intp], share: float) -> Any:
    """Return a copy of some members, with a share of the parts of each."""
    kept = [members[k].first(members[k].count(share)) for k in left]
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
    small.left_out_ = blend.left_out_ | {members[k].name: PRUNED for k in gone}
    for name, of_members in (("left_out_losses_", "member_losses_"), ("left_out_seconds_", "member_seconds_")):
        if hasattr(blend, name):  # earlier files have none
            setattr(small, name, np.concatenate([getattr(blend, name), getattr(blend, of_members)[gone]]))
    for name in ("oof_loss_", "oof_score_", "reserve_loss_", "reserve_score_"):  # no row has judged this vote
        if hasattr(blend, name):
            setattr(small, name, float("nan"))
    return small
