"""The fewest parts of a vote with weights that elect the same class in every cell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from committee.data.number_types import F64, Index, Mask
from committee.learners.trained.separation import ROUNDING, Separation
from committee.learners.trained.vote_parts import VoteParts
from committee.objectives.programs.mixed_integer import MixedProgram

LEAST_LEAD = 1e-5
"""Least lead of the elected class, in the weights' sum, that new weights may have where it is no exact tie."""

LEAST_WEIGHT = 1e-10
"""A weight up to this, in their sum, is 0 but for rounding."""

DENOMINATORS = (*range(1, 65), 100, 128, 200, 256, 500, 512, 1000, 1024)
"""Largest whole weight that is tried for votes that may be tied."""

RANDOM_ROWS = 20_000
"""Rows of cells drawn at the start."""

MOST_ENTRIES = 4 * 10**6
"""Numbers in the lines of these rows."""

MOST_ALONE = 200
"""Parts that are each left out in turn, to see whether they are needed."""

FEW = 20
"""Rows on which a vote failed whose neighbours are learned too."""


@dataclass(frozen=True, eq=False)
class Fewest:
    """What the search found.

    Parameters
    ----------
    weights : float64 array (C + 1,) or None
        Factors of the parts and of the start that are proved to elect the same classes everywhere; None: none are.
    bound : int
        No fewer parts do, whatever their weights, but for leads below `LEAST_LEAD`.
    n_rows : int
        Rows that parted the votes, and taught the program.
    note : str
        Why the search ended before its time; empty if it came to its end.
    """

    weights: F64 | None
    bound: int
    n_rows: int
    note: str


NEAR = "somewhere the ensemble is so near to a tie that no weights could be told from others"
"""Why no weights are found where leads are too small."""


class StoppedError(Exception):
    """The search cannot go on; the message says why."""


class TooNearError(StoppedError):
    """Weights that are allowed leave some lead too small."""


@dataclass
class FewestSearch:
    """The search: lines that weights must satisfy, from rows of cells, and what is known so far.

    Parameters
    ----------
    parts : VoteParts
    elect_with : callable
        Classes that the vote with new factors, as it will be given back, elects for rows of the encoded matrix.
    seconds : float
        Time of the search.
    rng : Generator
        Draws the first rows.
    same : bool
        Whether factors of 1 are known to elect the same classes; else that is proved too.

    Examples
    --------
    ``FewestSearch(parts, elect_with, 60.0, np.random.default_rng(0), True).run().weights``
    """

    parts: VoteParts
    elect_with: Callable[[F64, F64], Index]
    seconds: float
    rng: np.random.Generator
    same: bool
    bound: int = 0
    forbidden: list[Mask] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.started: float = monotonic()
        self.ends = self.started + self.seconds
        self.separation: Separation = Separation.of(self.parts)
        spread = self.parts.spread
        self.used: NDArray[np.intp] = np.flatnonzero(spread > 0.0)
        self.counted: NDArray[np.bool_] = self.used < self.parts.n_parts
        self.spread: F64 = spread[self.used]
        self.n_rows = 0
        self.lines = np.empty((0, len(self.used)))
        self.tied = np.empty(0, dtype=bool)
        self.active = np.empty(0, dtype=np.intp)
        self.needed: NDArray[Any] = np.zeros(len(self.used), dtype=bool)

    def run(self) -> Fewest:
        """Find the fewest parts, and prove it; or what can be had of that in the time."""
        best, note = None, ""
        if not self.counted.any():
            return Fewest(np.append(np.zeros(self.parts.n_parts), 1.0), 0, 0, "")
        self.learn(self.parts.cells.random_rows(min(RANDOM_ROWS, MOST_ENTRIES // len(self.used)), self.rng))
        try:
            self._find_needed()
            self.ends -= self.left() / 2
            best = self._settled(self._by_count)
        except StoppedError as stopped:
            note = str(stopped)
            self.ends = self.started + self.seconds
            if self.bound < self.counted.sum():
                best = self._proved(self._sparse)
        if best is None and not self.same:
            best = self._proved(lambda: np.array(self.spread))
        best = np.ones(len(self.used)) if best is None and self.same else best
        return Fewest(None if best is None else self._whole(best), self.bound, self.n_rows, note)

    def _proved(self, propose: Callable[[], F64]) -> F64 | None:
        try:
            return self._settled(propose)
        except StoppedError:
            return None

    def _sparse(self) -> F64:
        """Weights of the largest least lead, of which many may be zero."""
        return self._largest_lead(np.ones(len(self.used), dtype=bool))

    def _settled(self, propose: Callable[[], F64]) -> F64:
        """Ask for weights and look for rows on which they fail, until there are none."""
        while True:
            v = propose()
            factors = self._factors(v)
            if factors is None:
                support = (v > 0.0) & self.counted
                if any((support == known).all() for known in self.forbidden):
                    raise StoppedError(f"no whole weights up to {DENOMINATORS[-1]} keep the ties of the ensemble")
                self.forbidden.append(support)
                continue
            rows = self._rows_against(factors)
            if rows is None:
                return factors
            self.n_rows += len(rows)
            known = len(self.lines)
            self.learn(np.concatenate([rows, *map(self.parts.cells.neighbours, rows[:FEW])]))
            if len(self.lines) == known:
                raise StoppedError(NEAR)

    # -- lines ----------------------------------------------------------------------------------------------

    def learn(self, X: F64) -> None:
        """Add the leads of rows to the lines that weights must satisfy."""
        lines, tied = self.parts.leads(X)
        lines = lines[:, self.used] / self.spread
        both = np.column_stack([np.concatenate([self.lines, lines]), np.append(self.tied, tied)])
        _, first = np.unique(both, axis=0, return_index=True)
        both = both[np.sort(first)]  # lines that are known keep their places
        self.lines = both[:, :-1]
        self.tied = both[:, -1] > 0.0

    def left(self) -> float:
        """Seconds that are left; an error if none are."""
        seconds = self.ends - monotonic()
        if seconds <= 0.0:
            raise StoppedError("the time was over")
        return seconds

    # -- the master -----------------------------------------------------------------------------------------

    def _largest_lead(self, allowed: Mask) -> F64:
        """Weights, not negative and of sum 1, whose least lead is the largest."""
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
        """Find the parts without which no weights of all others satisfy the lines."""
        self._sparse()  # an error if those of all do not
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
        """Weights of the fewest parts that satisfy all lines known, their least lead as large as it can be."""
        v = self._generated(self._counting, lambda x: LEAST_LEAD, counts=True)
        return self._largest_lead((v > LEAST_WEIGHT) | ~self.counted)

    def _counting(self, active: Index) -> MixedProgram:
        """Weights v, and next to them b, which is 1 for a part of any weight."""
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
        """Weights that solve a program of all lines; it is solved with those that matter alone."""
        n = len(self.used)
        if not len(self.active):
            self.active = self.rng.permutation(len(self.lines))[: 4 * n]
        while True:
            active = self.active
            solved = program(active).solve(self.left())
            if counts and not self.forbidden and np.isfinite(solved.bound):
                self._raise_bound(int(np.ceil(solved.bound - 1e-6)))
            if solved.outcome == "infeasible":
                raise TooNearError(NEAR)
            if solved.outcome == "stopped" or solved.x is None:
                raise StoppedError("the time was over")
            v = np.where(solved.x[:n] > LEAST_WEIGHT, solved.x[:n], 0.0)
            missed = np.where(self.tied, 0.0, least(solved.x)) - self.lines @ v
            missed[active] = -1.0
            worst = np.argsort(-missed)[: 2 * n]
            worst = worst[missed[worst] > ROUNDING]
            if not len(worst):
                return v
            self.active = np.append(active, worst)

    # -- weights --------------------------------------------------------------------------------------------

    def _factors(self, v: F64) -> F64 | None:
        """Factors of the parts of these weights: whole ones where votes may be tied."""
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
        """The vote with these factors; scores that are no whole numbers so that they are of size one."""
        weights = self._whole(factors)
        return self.parts.weighted(weights if self.parts.exact else weights / float(self.parts.spread @ weights))

    def _whole(self, factors: F64) -> F64:
        """Factors of all parts and of the start."""
        weights = np.zeros(self.parts.n_parts + 1)
        weights[self.used] = factors
        return weights

    def _in_time(self) -> None:
        self.left()

    # -- separation -----------------------------------------------------------------------------------------

    def _rows_against(self, factors: F64) -> F64 | None:
        """Rows on which the weights elect another class; None: there are proved to be none."""
        old, new = self._vote(np.ones(len(factors))), self._vote(factors)

        def differ(X: F64) -> Mask:
            different: Mask = self.elect_with(self._whole(factors), X) != self.parts.elect(X)
            return different

        K = self.parts.says.shape[1]
        for k in range(K):
            for c in range(K):
                if c == k:
                    continue
                rivals = [j for j in range(K) if j != c]
                pairs = [(old, c, j) for j in rivals] + [(new, k, c)]
                numbers = np.column_stack([vote.says[:, a] - vote.says[:, b] for vote, a, b in pairs])
                starts = np.array([vote.start[a] - vote.start[b] for vote, a, b in pairs])
                least = np.array([self._needed(a, b) for _, a, b in pairs])
                # c over k in the old vote and k over c in the new one, together
                own = rivals.index(k)
                mix = np.zeros(len(pairs))
                mix[own], mix[-1] = 1.0 / float(old.spread.sum()), 1.0 / max(float(new.spread.sum()), LEAST_WEIGHT)
                numbers = np.column_stack([numbers @ mix, numbers])
                starts, least = np.append(starts @ mix, starts), np.append(least @ mix, least)
                rows = self.separation.search(numbers, starts, least, differ, self._in_time)
                if rows is not None:
                    return rows
        return None

    def _needed(self, a: int, b: int) -> float:
        """Lead of class a over b that elects it."""
        if not self.parts.exact:
            return -ROUNDING
        return -0.5 if a < b else 0.5
