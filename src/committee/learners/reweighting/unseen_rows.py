"""Rows that voters have not seen: votes on out-of-bag rows, extrapolated to all voters, and synthetic rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.bins import column_digests, row_digests, unordered_digests
from committee.data.matrices import Matrix, SparseMatrix
from committee.data.number_types import F64, Index, Mask
from committee.data.table_schema import TableSchema
from committee.vote.committee import Committee, RegressionCommittee
from committee.voters.forest import Forest

BLOCK = 4096  # rows whose votes are counted at a time

COPIES = 4  # synthetic rows per distinct row
MAX_ROWS = 20_000
MAX_CELLS = 2_000_000  # cells of the synthetic rows, and of the rows between which they lie
CANDIDATES = 256  # rows drawn for each row, among which near ones are looked for
NEIGHBOURS = 8  # nearest candidates, one of which is drawn
DIFFERENCES = 1 << 22  # cells of differences between them that are held at a time

LEAST_OOB_TREES = 3.0  # mean per row below which errors do not follow a + b / m: two trees tie wherever they differ

Halves: TypeAlias = tuple[F64, F64] | None  # predictions by either half of a row's out-of-bag voters


# --- from m voters to all --------------------------------------------------------------------------------------------


class SizeFactors(NamedTuple):
    """Factors of b in differences of a row's losses a + b / m: by its m out-of-bag voters, their halves, and all."""

    halved: Mask  # (n,): rows with at least two out-of-bag voters
    fewer: F64  # (n,): factor of b in the mean loss of the halves less the loss of the m voters
    more: F64  # (n,): factor of b in the loss of the m voters less the loss of all voters

    @classmethod
    def of(cls, unseen: Mask) -> SizeFactors:
        n_voters = unseen.sum(axis=1)
        n_first, n_second = (n_voters + 1) // 2, n_voters // 2  # of `split_voters`
        halved = n_second > 0
        fewer = (1.0 / n_first + 1.0 / np.maximum(n_second, 1)) / 2.0 - 1.0 / n_voters
        return cls(halved, np.where(halved, fewer, 0.0), 1.0 / n_voters - 1.0 / unseen.shape[1])


def split_voters(unseen: Mask) -> tuple[Mask, Mask]:
    """Return two masks ``(n, T)`` of alternate out-of-bag voters of each row."""
    # counts may overflow: only their parity is used
    odd = (np.cumsum(unseen, axis=1, dtype=np.uint8) & 1).astype(bool)
    return unseen & odd, unseen & ~odd


def extrapolate_to_all(unseen: Mask, by_these: F64, by_first: F64, by_second: F64, *, pooled: bool = False) -> F64:
    """Extrapolate losses ``(..., n)`` by the out-of-bag voters, and by their halves, to votes of all voters."""
    halved, fewer, more = SizeFactors.of(unseen)
    steps = np.divide(more, fewer, out=np.zeros(len(halved)), where=halved)
    above = (by_first + by_second) / 2.0 - by_these
    by_all: F64 = by_these - steps * above
    # rows with a single voter take the b of all others
    if pooled and halved.any():
        b = above[..., halved].sum(axis=-1, keepdims=True) / fewer[halved].sum()
        by_all = np.where(halved, by_all, by_these - b * more)
    return by_all


def enough_oob_trees(unseen: Mask) -> bool:
    return bool(unseen.sum(axis=1).mean() >= LEAST_OOB_TREES)


def refuse_few_oob_trees(unseen: Mask, max_loss: float) -> None:
    if not enough_oob_trees(unseen):
        raise ValueError(
            f"max_loss={max_loss!r} is evaluated by the voters that have not seen a row, "
            f"{unseen.sum(axis=1).mean():.2f} of {unseen.shape[1]} on average, and at least 3 are needed; train more "
            "voters, or give other rows with on='validation'."
        )


# --- votes -----------------------------------------------------------------------------------------------------------


class OutOfBagVotes(NamedTuple):
    predicted: F64  # probabilities (n, K), or numbers (n,)
    by_halves: Halves
    right: Mask | None = None  # (n, T): trees that are right on rows that they have not seen
    worth: Sequence[F64] = ()  # quality of regression trees (T,) on each part of the rows, higher being better


def oob_class_votes(
    committee: Committee, forest: Forest, matrix: Matrix, y: Index, unseen: Mask | None, n_threads: int = 1
) -> OutOfBagVotes:
    if unseen is None:
        tally = committee.voters.tally(matrix, committee.weights, n_threads)
        return OutOfBagVotes(committee.probability_of(tally), None)
    votes = forest.node_votes
    named = ((votes[:, 0] > 0.0) if votes.shape[1] == 1 else votes.argmax(axis=1)).astype(np.int32)
    weights = np.abs(committee.weights)
    right, found = np.empty_like(unseen), np.empty((3, len(matrix), committee.n_classes))
    start = forest.offset[:-1].astype(np.int32)
    for at in range(0, len(matrix), BLOCK):
        rows = slice(at, at + BLOCK)
        leaf = forest.apply(matrix[rows], n_threads) + start
        own = unseen[rows]
        right[rows] = (named[leaf] == y[rows, None]) & own
        first, second = split_voters(own)
        tallies = np.zeros((2, len(leaf), votes.shape[1]))
        by_tree = (np.ascontiguousarray(each.T) for each in (leaf, first, second))
        for weight, reached, *halves in zip(committee.weights, *by_tree, strict=True):
            vote = weight * votes[reached]
            for tally, half in zip(tallies, halves, strict=True):
                tally += half[:, None] * vote
        for place, (mask, tally) in enumerate(_whole_and_halves(own, first, second, tallies)):
            # scaled to the weight of all voters, which the link expects
            found[place, rows] = committee.probability_of(tally * (weights.sum() / (mask @ weights))[:, None])
    return OutOfBagVotes(found[0], (found[1], found[2]), right)


def oob_mean_votes(
    committee: RegressionCommittee,
    forest: Forest,
    matrix: Matrix,
    y: F64,
    unseen: Mask | None,
    weight: F64 | None,
    parts: Sequence[Index],  # rows on which each array of `worth` is computed
    n_threads: int = 1,
) -> OutOfBagVotes:
    weights = np.abs(committee.weights)
    start = 0.0 if committee.intercept is None else committee.intercept[0]
    if unseen is None:
        scores = start + committee.voters.tally(matrix, committee.weights, n_threads)[:, 0]
        return OutOfBagVotes(_predictions(committee, scores), None, worth=[weights] * len(parts))
    votes = forest.node_votes[:, 0]
    times = np.stack([np.bincount(part, minlength=len(y)) for part in parts]).astype(np.float64)
    if weight is not None:
        times *= weight
    # a tree's own prediction is that of a committee whose trees all agree with it
    alone = np.sign(committee.weights) * (1.0 if committee.link.name == "average" else weights.sum())
    squares, counts = np.zeros((2, len(parts), len(forest)))
    found = np.empty((3, len(y)))
    first_node = forest.offset[:-1].astype(np.int32)
    for at in range(0, len(y), BLOCK):
        rows = slice(at, at + BLOCK)
        vote = votes[forest.apply(matrix[rows], n_threads) + first_node]
        own = unseen[rows]
        squares += times[:, rows] @ (((start + alone * vote) - y[rows, None]) ** 2 * own)
        counts += times[:, rows] @ own
        first, second = split_voters(own)
        vote *= committee.weights
        tallies = np.stack([(vote * first).sum(axis=1), (vote * second).sum(axis=1)])
        for place, (mask, tally) in enumerate(_whole_and_halves(own, first, second, tallies)):
            found[place, rows] = start + tally * (weights.sum() / (mask @ weights))
    predicted, *halves = (_predictions(committee, scores) for scores in found)
    worth = np.where(counts > 0.0, -squares / np.maximum(counts, np.finfo(float).tiny), -np.inf)
    return OutOfBagVotes(predicted, (halves[0], halves[1]), worth=list(worth))


def _whole_and_halves(own: Mask, first: Mask, second: Mask, tallies: F64) -> tuple[tuple[Mask, F64], ...]:
    whole = tallies.sum(axis=0)
    # a row with a single voter has no second half, which must not divide by 0: the voter stands in both
    single = ~second.any(axis=1)
    second[single], tallies[1, single] = own[single], whole[single]
    return (own, whole), (first, tallies[0]), (second, tallies[1])


def _predictions(committee: RegressionCommittee, scores: F64) -> F64:
    return committee.link.mean(scores, committee.total_weight) if committee.link.name == "average" else scores


def oob_probabilities(committee: Committee, data: Any, unseen: Mask | None, n_threads: int = 1) -> tuple[F64, Halves]:
    """Return probabilities of encoded rows by their out-of-bag voters, at least one each, and by the halves."""
    if unseen is None:
        return committee.probability_of(committee.voters.tally(data, committee.weights, n_threads)), None
    weights = np.abs(committee.weights)
    masks = [unseen, *split_voters(unseen)]
    found = np.empty((3, len(unseen), committee.n_classes))
    for at in range(0, len(unseen), BLOCK):
        rows = slice(at, at + BLOCK)
        votes: NDArray[Any] = committee.voters.votes(data[rows], n_threads)
        if votes.ndim == 2:  # named classes
            votes = votes[:, :, None] == np.arange(committee.n_classes)
        votes = np.asarray(votes, dtype=np.float64)
        for place, mask in enumerate(masks):
            counted = committee.weights * mask[rows]
            tally = np.einsum("nt,ntd->nd", counted, votes)
            heavy = mask[rows] @ weights  # 0 where a half has no voter
            tally *= np.divide(weights.sum(), heavy, out=np.zeros_like(heavy), where=heavy > 0.0)[:, None]
            found[place, rows] = committee.probability_of(tally)
    return found[0], (found[1], found[2])


# --- synthetic rows ---------------------------------------------------------------------------------------------------


class SyntheticRows(NamedTuple):
    matrix: F64  # (m, p)
    beside: Index  # (m,): the nearer of the two rows of each; of equal rows the first
    weight: F64  # (m,): weight of all rows that are equal to that one

    def below(self, matrix: Matrix) -> Matrix:
        if not isinstance(matrix, SparseMatrix):
            return np.concatenate([matrix, self.matrix])
        row, column = np.nonzero(self.matrix)
        more = np.cumsum(np.bincount(row, minlength=len(self.matrix)))
        return SparseMatrix(
            np.append(matrix.start, matrix.start[-1] + more),
            np.append(matrix.column, column.astype(np.int32)),
            np.append(matrix.value, self.matrix[row, column]),
            matrix.n_columns,
        )


def interpolated_rows(
    X: Matrix, weight: F64 | None, table: TableSchema | None, seed: int, n_threads: int = 1
) -> SyntheticRows:
    """Return synthetic rows between near rows of an encoded matrix, in which columns stay dependent.

    L. Breiman and N. Shang (Born again trees, 1996) draw each column by itself.
    """
    p = X.shape[1]
    _, first, equal = np.unique(row_digests(X, n_threads), return_index=True, return_inverse=True)
    place = np.argsort(unordered_digests(X[first], n_threads))[: max(1, MAX_CELLS // p)]
    dense = X[first[place]]
    if isinstance(dense, SparseMatrix):
        dense = np.concatenate(list(dense.blocks(np.arange(p), n_threads)))
    order = np.argsort(column_digests(dense, n_threads), kind="stable")
    categorical = np.zeros(p, dtype=bool) if table is None else np.asarray(table.categorical)
    ordered = np.ascontiguousarray(dense[:, order])  # sums go by the order in memory
    between, beside = _interpolate(ordered, categorical[order], np.random.default_rng(seed))
    matrix = np.empty_like(between)
    matrix[:, order] = between
    chosen = place[beside]
    of_equal = np.bincount(equal, weights=weight).astype(np.float64)
    return SyntheticRows(matrix, first[chosen], of_equal[chosen])


def _interpolate(X: F64, categorical: Mask, random: np.random.Generator) -> tuple[F64, Index]:
    n, p = X.shape
    present = np.where(np.isnan(X), 0.0, X)
    discrete = categorical | (present == np.floor(present)).all(axis=0)
    m = min(COPIES * n, MAX_ROWS, max(1, MAX_CELLS // p))
    copies, rest = divmod(m, n)
    beside = np.concatenate([np.tile(np.arange(n), copies), random.permutation(n)[:rest]])
    other = _near(X, beside, random)
    share = 0.5 * random.random((m, 1))
    one, two = X[beside], X[other]
    between = one + share * (two - one)
    # categories, whole numbers, and a value beside a missing one are taken from either row
    drawn = discrete | np.isnan(between)
    taken = np.where(random.random((m, p)) < share, two, one)
    return np.where(drawn, taken, between), beside


def _near(X: F64, beside: Index, random: np.random.Generator) -> Index:
    n = len(X)
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # a column without a value
        deviation = np.nanstd(X, axis=0)
    scaled = X / np.where(deviation > 0.0, deviation, 1.0)
    missing = np.isnan(scaled)
    found = np.empty(len(beside), dtype=np.intp)
    step = max(1, DIFFERENCES // (CANDIDATES * X.shape[1]))
    for begin in range(0, len(beside), step):
        rows = beside[begin : begin + step]
        every = np.arange(len(rows))
        if n > CANDIDATES:
            others = random.integers(0, n, (len(rows), CANDIDATES))
        else:
            others = np.tile(np.arange(n), (len(rows), 1))
        difference = scaled[others] - scaled[rows][:, None]
        one_missing = missing[others] != missing[rows][:, None]  # one unit apart
        apart = (np.where(np.isnan(difference), one_missing, difference) ** 2).sum(axis=2)
        apart[others == rows[:, None]] = np.inf
        nearest = np.argsort(apart, axis=1, kind="stable")[:, :NEIGHBOURS]
        found[begin : begin + step] = others[every, nearest[every, random.integers(0, nearest.shape[1], len(rows))]]
    return found
