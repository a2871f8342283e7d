"""Search for the fewest trees, rounds or leaves that, with new weights, elect the same class for every possible row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from committee.data.number_types import F64, Index, Mask
from committee.learners.pruning.vote_cells import VoteCells, VoteParts
from committee.objectives.programs.linear_programs import MixedProgram

ROUNDING = 1e-9  # assumed error of sums of votes whose widths sum to one, far above rounding
BLOCK = 1 << 12  # boxes that are searched together


@dataclass(frozen=True, eq=False)
class Boxes:
    """Sets of cells, as the values of each column."""

    bits: NDArray[np.uint64]  # (n, words): values, one bit each
    sums: F64  # (n, conditions): over the trees whose leaf is fixed


@dataclass(frozen=True, eq=False)
class RowSearch:
    """Branch and bound for rows on which two votes of the same trees elect different classes."""

    cells: VoteCells
    order: Index  # trees, those of the widest votes first

    @classmethod
    def of(cls, parts: VoteParts) -> RowSearch:
        forest = parts.cells.forest
        leaf = forest.feature < 0
        width = np.maximum.reduceat(np.where(leaf, np.ptp(parts.scores, axis=1), 0.0), forest.offset[:-1])
        return cls(parts.cells, np.argsort(-width, kind="stable"))

    @cached_property
    def leaves(self) -> tuple[Index, ...]:
        offset, leaf = self.cells.forest.offset, self.cells.forest.feature < 0
        return tuple(np.flatnonzero(leaf[offset[t] : offset[t + 1]]) + offset[t] for t in self.order.tolist())

    @cached_property
    def words(self) -> Index:
        return np.cumsum([0, *(-(-len(column.values) // 64) for column in self.cells.columns)])

    @cached_property
    def meets(self) -> NDArray[np.uint64]:
        """``(N, words)``: values with which a row can reach each node, one bit each."""
        N = len(self.cells.forest.feature)
        bits = np.zeros((N, self.words[-1]), dtype=np.uint64)
        for first, takes in zip(self.words.tolist(), self.cells.takes, strict=False):
            padded = np.zeros((N, -(-takes.shape[1] // 64) * 64), dtype=np.uint8)
            padded[:, : takes.shape[1]] = takes
            packed = np.packbits(padded, axis=1, bitorder="little").view("<u8").astype(np.uint64)
            bits[:, first : first + packed.shape[1]] = packed
        return bits

    @cached_property
    def touched(self) -> tuple[tuple[Index, Index], ...]:
        """Words of each column, and positions of the leaves that exclude some of its values."""
        every = np.concatenate(self.leaves)
        return tuple(
            (np.arange(self.words[j], self.words[j + 1]), np.flatnonzero(~takes[every].all(axis=1)))
            for j, takes in enumerate(self.cells.takes)
        )

    def search(
        self, conditions: F64, starts: F64, least: F64, differ: Callable[[F64], Mask], in_time: Callable[[], object]
    ) -> F64 | None:
        """Return some encoded rows that meet all conditions and on which the votes differ, or `None` if there are none.

        The sums of `conditions` ``(N, m)`` over a row's leaves, plus `starts`, must reach `least` ``(m,)``.
        """
        ends = np.cumsum([0, *map(len, self.leaves)])
        every = np.concatenate(self.leaves)
        stack = [(0, Boxes(self.meets[:1], starts[None]))]  # every row reaches the first root
        while stack:
            in_time()
            t, boxes = stack.pop()
            if t == len(self.leaves):
                X = self._rows(boxes.bits)
                different = differ(X)  # by the votes themselves, without a solver's tolerance
                if different.any():
                    return X[different]
                continue
            children = self._parted(boxes, self.leaves[t], conditions)
            n = len(children.bits)
            if not n:
                continue
            hope = self._hope(children, every[ends[t + 1] :], ends[t + 1], np.diff(ends[t + 1 :]), conditions)
            stays = (hope >= least).all(axis=1)
            place = np.flatnonzero(stays)
            place = place[np.argsort(hope[place, -1], kind="stable")]  # the last are searched first
            for first in range(0, len(place), BLOCK):
                some = place[first : first + BLOCK]
                stack.append((t + 1, Boxes(children.bits[some], children.sums[some])))
        return None

    def _parted(self, boxes: Boxes, leaves: Index, conditions: F64) -> Boxes:
        bits, sums = [], []
        for leaf in leaves.tolist():
            both = boxes.bits & self.meets[leaf]
            some = np.ones(len(both), dtype=bool)
            for j, takes in enumerate(self.cells.takes):
                if takes[leaf].all():
                    continue
                some &= (both[:, self.words[j] : self.words[j + 1]] != 0).any(axis=1)
            bits.append(both[some])
            sums.append(boxes.sums[some] + conditions[leaf])
        return Boxes(np.concatenate(bits), np.concatenate(sums))

    def _hope(self, boxes: Boxes, left: Index, done: int, sizes: Index, conditions: F64) -> F64:
        hope = boxes.sums.copy()
        if not len(left):
            return hope
        meets = np.ones((len(boxes.bits), len(left)), dtype=bool)
        for words, touched in self.touched:
            some = touched[touched >= done] - done
            if not len(some):
                continue
            here = np.zeros((len(meets), len(some)), dtype=bool)
            for word in words.tolist():
                here |= (boxes.bits[:, word, None] & self.meets[left[some], word]) != 0
            meets[:, some] &= here
        first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        for m in range(conditions.shape[1]):
            best = np.where(meets, conditions[left, m], -np.inf)
            hope[:, m] += np.maximum.reduceat(best, first, axis=1).sum(axis=1)
        return hope

    def _rows(self, bits: NDArray[np.uint64]) -> F64:
        X = np.zeros((len(bits), self.cells.forest.n_features))
        for column, first, last in zip(
            self.cells.columns, self.words[:-1].tolist(), self.words[1:].tolist(), strict=True
        ):
            chosen = np.ascontiguousarray(bits[:, first:last].astype("<u8")).view(np.uint8)
            value = np.argmax(np.unpackbits(chosen, axis=1, bitorder="little"), axis=1)
            X[:, column.feature] = column.values[value]
        return X


LEAST_LEAD = 1e-5  # least lead over another class, as a share of the largest possible; 0 where a tie suffices
LEAST_WEIGHT = 1e-10  # weights up to this count as 0, times spreads and with a sum of one

DENOMINATORS = (*range(1, 65), 100, 128, 200, 256, 500, 512, 1000, 1024)  # largest whole weights of exact votes

RANDOM_ROWS = 20_000  # rows drawn at the start
MOST_ENTRIES = 4 * 10**6  # numbers in the lines of these rows
MOST_ALONE = 200  # largest number of parts that are each left out in turn, to find those that are needed
FEW = 20  # rows on which a vote failed whose neighbours are added too


NEAR = "on some row the ensemble is too near to a tie for the precision of the search"


class StoppedError(Exception):
    pass


class TooNearError(StoppedError):
    pass


@dataclass
class FewestVotersSearch:
    """Alternation of an integer program over known rows and a search of the cells for rows where its vote fails."""

    parts: VoteParts
    elect_with: Callable[[F64, F64], Index]  # classes that the new vote elects, by factors and encoded rows
    seconds: float
    rng: np.random.Generator
    same: bool  # whether factors of 1 are known to elect the same classes; else that is proved too
    bound: int = 0
    forbidden: list[Mask] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started: float = monotonic()
        self.ends = self.started + self.seconds
        self.row_search: RowSearch = RowSearch.of(self.parts)
        spread = self.parts.spread
        self.used: NDArray[np.intp] = np.flatnonzero(spread > 0.0)
        self.counted: NDArray[np.bool_] = self.used < self.parts.n_parts
        self.spread: F64 = spread[self.used]
        self.lines = np.empty((0, len(self.used)))
        self.tied = np.empty(0, dtype=bool)
        self.active = np.empty(0, dtype=np.intp)
        self.needed: NDArray[Any] = np.zeros(len(self.used), dtype=bool)

    def run(self) -> tuple[F64 | None, int, str]:
        """Return proved factors of the parts and the start, a lower bound, and the reason of an early end.

        The factors are ``(C + 1,)``, the bound is on the number of parts, for weights with leads of at least
        `LEAST_LEAD`, and the reason is empty if the search was completed.
        """
        best, note = None, ""
        if not self.counted.any():
            return np.append(np.zeros(self.parts.n_parts), 1.0), 0, ""
        self._add(self.parts.cells.random_rows(min(RANDOM_ROWS, MOST_ENTRIES // len(self.used)), self.rng))
        try:
            self._find_needed()
            self.ends -= self._seconds_left() / 2
            best = self._settled(self._by_count)
        except StoppedError as stopped:
            note = str(stopped)
            self.ends = self.started + self.seconds
            if self.bound < self.counted.sum():
                best = self._proved(self._sparse)
        if best is None and not self.same:
            best = self._proved(lambda: np.array(self.spread))
        best = np.ones(len(self.used)) if best is None and self.same else best
        return None if best is None else self._whole(best), self.bound, note

    def _proved(self, propose: Callable[[], F64]) -> F64 | None:
        try:
            return self._settled(propose)
        except StoppedError:
            return None

    def _sparse(self) -> F64:
        return self._largest_lead(np.ones(len(self.used), dtype=bool))

    def _settled(self, propose: Callable[[], F64]) -> F64:
        while True:
            v = propose()
            factors = self._factors(v)
            if factors is None:
                support = (v > 0.0) & self.counted
                if any((support == known).all() for known in self.forbidden):
                    raise StoppedError(f"no whole weights up to {DENOMINATORS[-1]} elect the same classes")
                self.forbidden.append(support)
                continue
            rows = self._rows_against(factors)
            if rows is None:
                return factors
            known = len(self.lines)
            self._add(np.concatenate([rows, *map(self.parts.cells.neighbours, rows[:FEW])]))
            if len(self.lines) == known:
                raise StoppedError(NEAR)

    # --- lines of known rows -------------------------------------------------------------------------------------

    def _add(self, X: F64) -> None:
        lines, tied = self.parts.leads(X)
        lines = lines[:, self.used] / self.spread
        both = np.column_stack([np.concatenate([self.lines, lines]), np.append(self.tied, tied)])
        _, first = np.unique(both, axis=0, return_index=True)
        both = both[np.sort(first)]  # lines that are known keep their places
        self.lines = both[:, :-1]
        self.tied = both[:, -1] > 0.0

    def _seconds_left(self) -> float:
        seconds = self.ends - monotonic()
        if seconds <= 0.0:
            raise StoppedError("the time limit was reached")
        return seconds

    # --- programs ------------------------------------------------------------------------------------------------

    def _largest_lead(self, allowed: Mask) -> F64:
        n = len(self.used)

        def program(active: Index) -> MixedProgram:
            lead = np.where(self.tied[active], 0.0, -1.0)[:, None]
            rows = np.vstack([np.hstack([self.lines[active], lead]), np.append(np.ones(n), 0.0)])
            return MixedProgram(
                cost=np.append(np.zeros(n), -1.0),
                rows=csr_matrix(rows),
                low=np.append(np.zeros(len(active)), -np.inf),
                high=np.append(np.full(len(active), np.inf), 1.0),
                lower=np.zeros(n + 1),
                upper=np.append(allowed.astype(np.float64), 1.0),
                whole=np.zeros(n + 1, dtype=bool),
            )

        def least(x: F64) -> float:
            if x[-1] < LEAST_LEAD:
                raise TooNearError(NEAR)
            return float(x[-1])

        return self._generated(program, least)

    def _find_needed(self) -> None:
        self._sparse()  # raises an error if all parts together have no sufficient lead
        for part in np.flatnonzero(self.counted).tolist() if len(self.used) <= MOST_ALONE else ():
            allowed = np.ones(len(self.used), dtype=bool)
            allowed[part] = False
            try:
                self._largest_lead(allowed)
            except TooNearError:
                self.needed[part] = True
                self._raise_bound(int(self.needed.sum()))

    def _raise_bound(self, bound: int) -> None:
        self.bound = max(self.bound, bound)
        if self.bound >= self.counted.sum():
            raise StoppedError("")  # all parts are needed

    def _by_count(self) -> F64:
        v = self._generated(self._counting, lambda x: LEAST_LEAD, counts=True)
        return self._largest_lead((v > LEAST_WEIGHT) | ~self.counted)

    def _counting(self, active: Index) -> MixedProgram:
        n, lines, tied = len(self.used), self.lines[active], self.tied[active]
        none = np.zeros_like(lines)
        some = ~tied & ~(lines[:, ~self.counted] > 0.0).any(axis=1)  # lines that need a part on their side
        blocks: list[tuple[NDArray[Any], float | F64, float]] = [
            (np.hstack([lines, none]), np.where(tied, 0.0, LEAST_LEAD), np.inf),
            (np.hstack([np.eye(n), -np.eye(n)])[self.counted], -np.inf, 0.0),
            (np.append(np.ones(n), np.zeros(n))[None], -np.inf, 1.0),
            (np.hstack([none, lines > 0.0])[some], 1.0, np.inf),
        ]
        others = [np.append(np.zeros(n), ~mask & self.counted)[None] for mask in self.forbidden]
        blocks += [(line, 1.0, np.inf) for line in others]
        return MixedProgram(
            cost=np.append(np.zeros(n), self.counted.astype(np.float64)),
            rows=csr_matrix(np.vstack([rows for rows, _, _ in blocks])),
            low=np.concatenate([np.broadcast_to(low, len(rows)) for rows, low, _ in blocks]),
            high=np.repeat([high for _, _, high in blocks], [len(rows) for rows, _, _ in blocks]),
            lower=np.append(np.zeros(n), self.needed),
            upper=np.ones(2 * n),
            whole=np.arange(2 * n) >= n,
        )

    def _generated(
        self, program: Callable[[Index], MixedProgram], least: Callable[[F64], float], counts: bool = False
    ) -> F64:
        n = len(self.used)
        if not len(self.active):
            self.active = self.rng.permutation(len(self.lines))[: 4 * n]
        while True:
            active = self.active
            solved = program(active).solve(self._seconds_left())
            if counts and not self.forbidden and np.isfinite(solved.bound):
                self._raise_bound(int(np.ceil(solved.bound - 1e-6)))
            if solved.outcome == "infeasible":
                raise TooNearError(NEAR)
            if solved.outcome == "stopped" or solved.x is None:
                raise StoppedError("the time limit was reached")
            v = np.where(solved.x[:n] > LEAST_WEIGHT, solved.x[:n], 0.0)
            missed = np.where(self.tied, 0.0, least(solved.x)) - self.lines @ v
            missed[active] = -1.0
            worst = np.argsort(-missed)[: 2 * n]
            worst = worst[missed[worst] > ROUNDING]
            if not len(worst):
                return v
            self.active = np.append(active, worst)

    # --- factors of the parts ------------------------------------------------------------------------------------

    def _factors(self, v: F64) -> F64 | None:
        factors = v / self.spread
        if not self.parts.exact:
            return factors
        leads = np.rint(self.lines * self.spread)
        least = np.where(self.tied, 0.0, 1.0)
        for most in DENOMINATORS:
            whole: F64 = np.rint(factors / max(float(factors.max()), LEAST_WEIGHT) * most)
            if (leads @ whole >= least).all():
                return whole
        return None

    def _vote(self, factors: F64) -> VoteParts:
        weights = self._whole(factors)
        return self.parts.weighted(weights if self.parts.exact else weights / float(self.parts.spread @ weights))

    def _whole(self, factors: F64) -> F64:
        weights = np.zeros(self.parts.n_parts + 1)
        weights[self.used] = factors
        return weights

    # --- rows on which a vote fails ------------------------------------------------------------------------------

    def _rows_against(self, factors: F64) -> F64 | None:
        old, new = self._vote(np.ones(len(factors))), self._vote(factors)

        def differ(X: F64) -> Mask:
            return np.asarray(self.elect_with(self._whole(factors), X) != self.parts.elect(X))

        K = self.parts.scores.shape[1]
        for k in range(K):
            for c in range(K):
                if c == k:
                    continue
                rivals = [j for j in range(K) if j != c]
                pairs = [(old, c, j) for j in rivals] + [(new, k, c)]
                numbers = np.column_stack([vote.scores[:, a] - vote.scores[:, b] for vote, a, b in pairs])
                starts = np.array([vote.start[a] - vote.start[b] for vote, a, b in pairs])
                # whole votes elect the first of equal classes, others may be rounded
                ties = [-0.5 if a < b else 0.5 for _, a, b in pairs]
                least = np.array(ties) if self.parts.exact else np.full(len(pairs), -ROUNDING)
                # c over k in the old vote and k over c in the new one, together
                own = rivals.index(k)
                mix = np.zeros(len(pairs))
                mix[own], mix[-1] = 1.0 / float(old.spread.sum()), 1.0 / max(float(new.spread.sum()), LEAST_WEIGHT)
                numbers = np.column_stack([numbers @ mix, numbers])
                starts, least = np.append(starts @ mix, starts), np.append(least @ mix, least)
                rows = self.row_search.search(numbers, starts, least, differ, self._seconds_left)
                if rows is not None:
                    return rows
        return None
