"""Size of a committee of ensembles: its limit in a file, and smaller models that are distilled from it or pruned."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64, is_number, is_whole
from committee.data.text import NamedCalls, byte_text, suggest_names
from committee.learners.blend.candidates import Effort
from committee.learners.blend.out_of_fold import Member
from committee.learners.blend.weights import WeightedVote
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Average
from committee.vote.links.probability import Share
from committee.vote.members import MemberCommittees, bytes_in_file, reads_tables
from committee.voters.shared_forest import SharedForest

if TYPE_CHECKING:
    from committee.learners.blend.distillation import Distilled

ROWS_OF_A_MEGABYTE: dict[Effort, float] = {"fast": 15_000, "default": 3000, "best": 750}
LEAST_SIZE, MOST_ROWS = 1e6, 45_000
"""Least default of `SizeLimit.wanted` in bytes, and the rows from which it does not rise."""
OWN_BYTES, OWN_SHARE = 4200.0, 1.02
"""Bytes of a file besides those of its members, and ratio of the members' bytes in it to those in their own files."""
OUT_OF_BAG = math.exp(-1.0)
"""Share of a forest's trees that vote on an out-of-bag row."""
FEW_VOTERS = 100
LEAST_NODES = 100
"""Smallest node limit that a share gives in `distil`."""


def default_limit(effort: Effort, n_rows: int, n_classes: int) -> SizeLimit:
    of_rows: float = max(LEAST_SIZE, 1e6 * min(n_rows, MOST_ROWS) / ROWS_OF_A_MEGABYTE[effort])
    wanted = of_rows * max(1.0, n_classes / 2.0)
    return SizeLimit(max(wanted, 1e6 * MOST_ROWS / ROWS_OF_A_MEGABYTE[effort]), wanted, given=False)


@dataclass(frozen=True, eq=False)
class MemberParts:
    """Parts of a member: its fits, or the voters of a single fit whose vote is a mean."""

    name: str
    fits: Sequence[Committee | RegressionCommittee]
    counts_foreign: bool = True

    @property
    def has_voters(self) -> bool:
        return len(self.fits) == 1 and isinstance(self.fits[0].link, Share | Average) and self.fits[0].n_voters > 1

    @property
    def nodes(self) -> NDArray[np.int64]:
        if self.has_voters:
            return np.asarray(self.fits[0].voters.n_nodes, dtype=np.int64)
        return np.sort([one.n_nodes for one in self.fits])

    @cached_property
    def file_bytes(self) -> F64:
        """Bytes of each part in a file, in the order in which parts are kept."""
        if self.has_voters:
            return np.asarray(self._bytes(self.fits[0]) * self.nodes / self.nodes.sum())
        order = np.argsort([one.n_nodes for one in self.fits], kind="stable")
        return np.array([self._bytes(self.fits[k]) for k in order])

    def _bytes(self, fit: Committee | RegressionCommittee) -> float:
        stored = bytes_in_file(fit)
        if stored is None:
            return float(fit.nbytes) if self.counts_foreign else 0.0
        return float(stored)

    @property
    def n_measured(self) -> int:
        """Fewest parts without measurable loss."""
        n = len(self.nodes)
        return max(min(n, FEW_VOTERS), math.ceil(OUT_OF_BAG * n)) if self.has_voters else n

    def kept(self, count: int) -> Sequence[Committee | RegressionCommittee]:
        if self.has_voters:
            return self.fits if count == len(self.nodes) else [self.fits[0][:count]]
        smallest = np.argsort([one.n_nodes for one in self.fits], kind="stable")[:count]
        return [self.fits[k] for k in sorted(smallest.tolist())]


def counts_of_parts(sizes: Sequence[NDArray[np.number]], weights: F64, most: float) -> list[int] | None:
    """Counts of parts that members keep within the size `most`, by the sizes of the parts of each member."""
    totals = [np.cumsum(one) for one in sizes]

    def counts_of(share: float) -> list[int]:
        return [max(1, int(share * len(one) + 0.5 + 1e-9)) for one in sizes]

    def size(counts: Sequence[int]) -> float:
        return float(sum(total[count - 1] for count, total in zip(counts, totals, strict=True)))

    shares = np.unique(np.concatenate([(np.arange(len(one)) + 0.5) / len(one) for one in sizes]))[::-1]
    counts = next((each for each in map(counts_of, shares.tolist()) if size(each) <= most), None)
    if counts is None:
        return None
    room = most - size(counts)
    while True:  # a part more of the member with the least share that has room for it, the heaviest of equals
        fitting = [k for k, one in enumerate(sizes) if counts[k] < len(one) and one[counts[k]] <= room]
        if not fitting:
            return counts
        k = min(fitting, key=lambda k: (counts[k] / len(sizes[k]), -weights[k]))
        room -= sizes[k][counts[k]].item()
        counts[k] += 1


@dataclass(frozen=True)
class SizeLimit:
    """Most bytes of a committee in a file; `given` by the user, or a default."""

    size: float
    wanted: float = math.inf
    """Bytes above which forests drop trees without a measurable loss."""
    given: bool = True
    columns: float = 0.0
    """Bytes of the names, categories and texts of the columns."""

    @property
    def most(self) -> float:
        return self._of_members(self.size)

    def _of_members(self, size: float) -> float:
        return (size - OWN_BYTES - (self.columns if self.given else 0.0)) / OWN_SHARE

    def fitting(self, members: Sequence[Member]) -> list[Member]:
        return [one for one in members if self._has_room(one)] or list(members)

    def check(self, members: Sequence[Member]) -> None:
        if self.given and members and not any(map(self._has_room, members)):
            least = [self._least(one) for one in members]
            needed = byte_text(OWN_SHARE * min(least) + OWN_BYTES + self.columns)
            columns = f", {byte_text(self.columns)} of it for categories and texts of columns, which may be left out"
            raise ValueError(
                f"max_size={byte_text(self.size)} leaves no member room: a file with the smallest part of "
                f"{members[int(np.argmin(least))].name!r} takes {needed}"
                f"{columns if self.columns > OWN_BYTES else ''}. Give that much."
            )

    def _has_room(self, member: Member) -> bool:
        parts = self._parts(member)
        smallest = self._most_bytes(min(parts.fits, key=lambda fit: fit.n_nodes))
        if parts.has_voters:
            smallest *= parts.nodes[0] / parts.nodes.sum()
        return smallest <= self.most or self._least(member) <= self.most

    def _most_bytes(self, fit: Committee | RegressionCommittee) -> float:
        if reads_tables(fit) and not self.given:
            return 0.0
        forest, own = getattr(fit.voters, "forest", fit.voters), fit.column_bytes + OWN_BYTES
        if not isinstance(forest, SharedForest):
            return fit.nbytes + own
        lines = fit.voters.nbytes - forest.nbytes  # in its leaves, which take no less in a file
        return forest.most_stored_bytes + lines + own

    def _least(self, member: Member) -> float:
        return float(self._parts(member).file_bytes[0])

    def _parts(self, member: Member) -> MemberParts:
        return MemberParts(member.name, member.committees, self.given)

    def _all_fit(self, members: Sequence[Member], size: float) -> bool:
        # by bounds, as exact sizes take a tenth of the time of a fit
        return sum(self._most_bytes(fit) for one in members for fit in one.committees) <= size

    def too_large(self, members: Sequence[Member], gains: F64, errors: F64) -> int | None:
        """Index of the least gain per byte, of gains within a standard error."""
        if self._all_fit(members, self.most):
            return None
        parts = [self._parts(one) for one in members]
        sizes = np.array([one.file_bytes[: one.n_measured].sum() for one in parts])
        if sizes.sum() <= self.most:
            return None
        may_go = gains <= errors
        if not may_go.any():
            may_go |= sum(one.file_bytes[0] for one in parts) > self.most
        may_go &= sizes > 0.0
        each = np.divide(gains, sizes, out=np.full(len(sizes), np.inf), where=may_go)
        return int(np.argmin(each)) if may_go.any() else None

    def within(self, vote: WeightedVote) -> WeightedVote:
        """The vote with fewer parts of its members, if all together are too large."""
        wanted = min(self.most, self._of_members(self.wanted))
        if self._all_fit(vote.members, wanted):
            return vote
        parts = [self._parts(one) for one in vote.members]
        counts, most = [len(one.nodes) for one in parts], wanted
        if wanted < self.most and sum(one.file_bytes[: one.n_measured].sum() for one in parts) > wanted:
            counts, most = [one.n_measured for one in parts], self.most
        for share in (*_SHARES, 0.0):
            members = [
                replace(one, committees=each.kept(count))
                for one, each, count in zip(vote.members, parts, counts, strict=True)
            ]
            if sum(float(self._parts(one).file_bytes.sum()) for one in members) <= most:
                break
            counts = self._counts(parts, vote.weights, share * most)
        return replace(vote, members=members)

    def _counts(self, parts: Sequence[MemberParts], weights: F64, most: float) -> list[int]:
        least = [one.file_bytes[: one.n_measured] for one in parts]
        size = sum(float(one.sum()) for one in least)
        if size > most:
            return counts_of_parts(least, weights, most) or [1] * len(parts)
        more = sum(float(one.file_bytes.sum()) for one in parts) - size
        share = min(1.0, (most - size) / more) if more > 0.0 else 1.0
        return [one.n_measured + int(share * (len(one.nodes) - one.n_measured)) for one in parts]


_SHARES = (1.0, 0.95, 0.9, 0.8, 0.6)
"""Shares of the limit that are tried one after the other, as fewer trees have fewer parts in common."""


# --- smaller models ---------------------------------------------------------------------------------------------------


class ReducibleBlend(NamedCalls):
    member_names_: list[str]
    member_weights_: F64
    left_out_: dict[str, str]

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
            If `max_nodes` is neither share nor number, no learner is so small, the rows are fewer than eight, sparse,
            or do not suit the committee, one of `X_val` and `y_val` is missing, or the committee was trained on one
            class or on another loss than squared error.

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
        return distil(self, X, sample_weight, X_val, y_val, most_nodes(self, max_nodes, LEAST_NODES))

    def prune(self, max_nodes: float = 0.33) -> Self:
        """Return a copy of fewer fits, and fewer trees of a forest; this committee is unchanged.

        About the same share of each member's parts stays, one at least: of its fits the smallest, of a forest's trees
        and SBPMT's committees the first. Temperatures and ratios of weights stay. Where one part of each member is too
        much, members are removed, least weight first. The smaller vote has no held-out estimate: ``oof_loss_``,
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
            If a member is of another library, or a second layer.
        ValueError
            If `max_nodes` is neither share nor number, or too small for a part of the last member, or the committee was
            trained on rows of one class.

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
        ``oof_score_`` are NaN. A second layer keeps the fits of members that it reads, also of those left out. Without
        candidates that have no weight (`left_out_`) the vote stays.

        Parameters
        ----------
        *names : str
            Some of `member_names_`, or of `left_out_`.

        Returns
        -------
        CommitteeClassifier or CommitteeRegressor

        Raises
        ------
        ValueError
            If a name is that of no candidate, no member would be left, or the committee was trained on rows of one
            class.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import CommitteeRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> model = CommitteeRegressor(candidates=["forest", "boosted_lines"], random_state=0).fit(X, y)
        >>> model.member_names_, model.without("boosted_lines").member_names_
        (['forest', 'boosted_lines'], ['forest'])
        """
        self._check_members("leave out")
        known = self.member_names_
        for name in names:
            if name not in known and name not in self.left_out_:
                raise ValueError(f"there is no member {name!r}; {suggest_names(name, known)}")
        if not set(names).intersection(known):
            return copy.copy(self)
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
        if what == "distil":
            self._refuse_foreign(TypeError, "distil works on committee's own members")
        elif what == "prune":
            self._refuse_other_members(TypeError, "prune works on committee's own members that read columns")


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
