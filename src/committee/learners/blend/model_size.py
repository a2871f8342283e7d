"""Size of a committee of ensembles in a file: its limit, and the fits and trees of the members that fit into it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.text import byte_text
from committee.learners.blend.members import Effort, Member
from committee.learners.blend.weights import WeightedVote
from committee.vote.committee import Committee, RegressionCommittee
from committee.vote.links.mean import Average
from committee.vote.links.probability import Share
from committee.vote.members import bytes_in_file, reads_tables
from committee.voters.shared_forest import SharedForest

ROWS_OF_A_MEGABYTE: dict[Effort, float] = {"fast": 15_000, "default": 3000, "best": 750}
"""Training rows per megabyte of the default `SizeLimit.wanted`, above which forests lose trees of no measurable use."""
LEAST_SIZE, MOST_ROWS = 1e6, 45_000
"""Least such size in bytes, and the rows from which it does not rise."""
OWN_BYTES, OWN_SHARE = 4200.0, 1.02
"""Bytes of a file besides those of its members, and ratio of the members' bytes in it to those in their own files."""
OUT_OF_BAG = math.exp(-1.0)
"""Share of a forest's trees that vote on an out-of-bag row."""
FEW_VOTERS = 100
"""Number of voters below which each counts: those of SBPMT, but not those of a forest."""


def default_limit(effort: Effort, n_rows: int, n_classes: int) -> SizeLimit:
    """Return the default limit of a committee's file.

    `wanted` is a megabyte for each `ROWS_OF_A_MEGABYTE` of up to `MOST_ROWS` rows, times K / 2 for K > 2 classes;
    `size` is that of `MOST_ROWS` rows and two classes, or `wanted` if that is more.
    """
    of_rows: float = max(LEAST_SIZE, 1e6 * min(n_rows, MOST_ROWS) / ROWS_OF_A_MEGABYTE[effort])
    wanted = of_rows * max(1.0, n_classes / 2.0)
    return SizeLimit(max(wanted, 1e6 * MOST_ROWS / ROWS_OF_A_MEGABYTE[effort]), wanted, given=False)


@dataclass(frozen=True, eq=False)
class MemberParts:
    """Parts of a member: its fits, or of a single fit whose vote is a mean, as a forest's, the voters."""

    name: str
    fits: Sequence[Committee | RegressionCommittee]
    counts_foreign: bool = True
    """Whether fits that a file cannot hold count, by their bytes in memory."""

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
        """Bytes of each part in a file, in the order in which parts are kept; of voters by their nodes."""
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
        """Fewest parts without a measurable loss: as many trees of a forest as vote on an out-of-bag row, else all."""
        n = len(self.nodes)
        return max(min(n, FEW_VOTERS), math.ceil(OUT_OF_BAG * n)) if self.has_voters else n

    def kept(self, count: int) -> Sequence[Committee | RegressionCommittee]:
        """The first parts: the first voters, or the fits with the fewest nodes."""
        if self.has_voters:
            return self.fits if count == len(self.nodes) else [self.fits[0][:count]]
        smallest = np.argsort([one.n_nodes for one in self.fits], kind="stable")[:count]
        return [self.fits[k] for k in sorted(smallest.tolist())]


def counts_of_parts(sizes: Sequence[NDArray[np.number]], weights: F64, most: float) -> list[int] | None:
    """Number of parts of each member, about the same share of all; None if one part of each is too much.

    `sizes` has an array per member, the sizes of its parts in the order in which they are kept.
    """
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
    """Most bytes of a committee in a file; `given` by the user, or a default, which the smallest member may exceed.

    Members that a file cannot hold count by their bytes in memory for a given limit, and not for a default.
    """

    size: float
    wanted: float = math.inf
    """Bytes above which trees of forests go that lose nothing measurable; of no effect if above `size`."""
    given: bool = True
    columns: float = 0.0
    """Bytes of the names, categories and texts of the columns, which a given limit counts and a default does not."""

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
        """Number of the member to leave out, that of the least gain per byte; None if all fit or none may go.

        Members go whose gain is within its standard error, and others only if one part of each is too much.
        """
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
        """The vote of fewer parts of each member, if all together are too large.

        Above the size that is wanted forests lose trees, down to as many as vote on an out-of-bag row, as the held-out
        loss is that of no more. If that is above the limit, about the same share of each member's parts stays.
        """
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
