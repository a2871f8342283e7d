"""Candidates within a time limit: their order, the predicted time of each, and the folds and rows that it allows."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.learners.blend.candidates import Candidate

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import FitCosts  # with all learners, which no prediction needs

NO_TIME = "no time"
"""Beginning of the reason of a candidate that is left out for lack of time."""
LEAST_ROWS = 200
"""Fewest rows of a sample that times a candidate, or that one is trained on."""
LEAST_SHARE = 0.25
"""Least share of the rows that a candidate is trained on once there is a member."""
MARGIN = 1.15
"""Safety factor of predicted times."""
SMALL = 0.03
"""Share of the time left below which a candidate is neither timed on a sample nor trained on fewer folds."""
WEIGHING = 1e-6
"""Seconds for each row and class in which the members are weighed."""
FIRST_SHARE = 0.5
"""Share of the time left that the first candidate may take for all its folds."""
_PILOT_SHARE = 0.02
_FOREIGN_SHARE = 0.05
"""Share of the time left in which an estimator of another library is timed on growing samples."""
_GROWTH, _LEAST_GROWTH, _MOST_GROWTH = 1.5, 1.0, 3.0
"""Power of the rows with which a foreign estimator's time grows by default, and its bounds."""
_PLANNED = ("n_estimators", "max_samples")
_FEWEST_VOTERS = {"forest": 10, "sbpmt": 3}
_ORDER = ("boosting", "boosted_lines", "boosting_on_loss", "lines", "large_trees", "small_trees", "forest")


def by_gain_per_second(wanted: Sequence[Candidate]) -> list[Candidate]:
    last = [one.name for one in wanted if one.out_of_bag and one.name not in _ORDER]
    place = {name: k for k, name in enumerate(_ORDER)}
    return sorted(wanted, key=lambda one: (one.name in last, place.get(one.name, len(place))))


def with_draw(candidate: Candidate, n_rows: int) -> Candidate:
    if "max_samples" in candidate.settings:
        return replace(candidate, parameters=candidate.parameters | {"max_samples": n_rows})
    return replace(candidate, max_rows=n_rows)


class Deadline:
    """A callback that ends a fit if another round or voter would exceed `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._last: float = time.perf_counter()
        self._end: float = self._last + seconds
        self._longest, self._n_ended = 0.0, 0

    def setup(self, estimator: Any, context: Any) -> None: ...  # scikit-learn requires it

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool:
        """Return whether there is no time for another round."""
        now = time.perf_counter()
        if self._n_ended:  # the first round has the time of the preparations
            self._longest = max(self._longest, now - self._last)
        self._last, self._n_ended = now, self._n_ended + 1
        return now + self._longest > self._end


@dataclass(eq=False)
class TimePlan:
    """Choice of the folds, rows and voters of each candidate, so that the fit ends within a time limit.

    At level l of L, the number of folds, a candidate is trained on l folds, or with l / L of its voters.
    """

    seconds: float
    begun: float
    """Beginning of the fit by `time.perf_counter`."""
    costs: FitCosts
    n: int
    n_train: int
    """Rows of the training set of a fold."""
    n_folds: int
    _factors: dict[str, float] = field(default_factory=dict)
    _measured: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    """Rows of the largest sample of a foreign estimator, its seconds, and the power with which they grow."""
    _taken: list[tuple[float, float]] = field(default_factory=list)

    def left(self) -> float:
        passed = time.perf_counter() - self.begun
        return self.seconds - passed - WEIGHING * self.n * self.costs.n_scores

    def chosen(
        self, candidate: Candidate, later: Sequence[Candidate], sample: Callable[[Candidate, int], Any], *, first: bool
    ) -> Candidate | str:
        """Candidate as it is to be trained, or the reason why it is not."""
        for one in (candidate, *later):
            if one.estimator is not None and one.name not in self._measured:
                self._time_foreign(one, sample)
        if candidate.estimator is None and self._seconds(candidate, self.n_folds) > SMALL * self.left():
            self._time_sample(candidate, sample)
        left, n_folds = self.left(), self.n_folds
        among, total = list[Candidate](), 0.0
        for one in (candidate, *later):
            total += (seconds := self._seconds(one, 1))
            if total > left:
                total -= seconds
            else:
                among.append(one)
        if not among or among[0] is not candidate:
            return self._on_fewer_rows(candidate, left, first=first)
        level = max(k for k in range(1, n_folds + 1) if k == 1 or sum(self._seconds(one, k) for one in among) <= left)
        own = FIRST_SHARE if first else SMALL
        level = max(k for k in range(level, n_folds + 1) if k == level or self._seconds(candidate, k) <= own * left)
        return self._at(candidate, level)

    def has_time(self, longest: float) -> bool:
        return MARGIN * longest <= self.left()

    def took(self, candidate: Candidate, n_fits: int, seconds: float) -> None:
        self._taken.append((self._cost(candidate) * n_fits, seconds))

    def quickest(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        few = [with_draw(self._at(one, 1), min(LEAST_ROWS, self._rows_of(one))) for one in candidates]
        return sorted(few, key=self._cost)

    @staticmethod
    def to_json(candidate: Candidate, chosen: Candidate | str) -> str:
        if isinstance(chosen, str):
            return json.dumps(chosen)
        names = [name for name in _PLANNED if chosen.parameters.get(name) != candidate.parameters.get(name)]
        parameters = {name: chosen.parameters[name] for name in names}
        return json.dumps([chosen.n_fits, chosen.max_rows, parameters])

    @staticmethod
    def from_json(candidate: Candidate, text: str) -> Candidate | str:
        found = json.loads(text)
        if isinstance(found, str):
            return found
        n_fits, max_rows, parameters = found
        return replace(candidate, n_fits=n_fits, max_rows=max_rows, parameters=candidate.parameters | parameters)

    def _rows_of(self, candidate: Candidate) -> int:
        return self.n if candidate.out_of_bag else self.n_train

    def _cost(self, candidate: Candidate) -> float:
        n = self._rows_of(candidate)
        n = n if candidate.max_rows is None else min(n, candidate.max_rows)
        if candidate.name not in self._measured:
            return self.costs.seconds(candidate, n)
        most, seconds, growth = self._measured[candidate.name]
        return float(seconds * (n / most) ** growth)

    def _seconds(self, candidate: Candidate, level: int) -> float:
        one = self._at(candidate, level)
        fits = 1 if one.out_of_bag else level
        return MARGIN * self._factor(candidate.name) * fits * self._cost(one)

    def _factor(self, name: str) -> float:
        # measured over estimated seconds, of the candidate's sample or of all fits so far
        if name in self._factors:
            return self._factors[name]
        if not self._taken or name in self._measured:
            return 1.0
        estimates, seconds = np.array(self._taken).T
        return float(seconds.sum() / estimates.sum())

    def _at(self, candidate: Candidate, level: int) -> Candidate:
        if not candidate.out_of_bag:
            return replace(candidate, n_fits=level if level < self.n_folds else candidate.n_fits)
        if level == self.n_folds:
            return candidate
        whole = int(candidate.settings["n_estimators"])
        fewer = max(_FEWEST_VOTERS.get(candidate.name, 1), round(whole * level / self.n_folds))
        return replace(candidate, parameters=candidate.parameters | {"n_estimators": min(whole, fewer)})

    def _time_foreign(self, candidate: Candidate, sample: Callable[[Candidate, int], Any]) -> None:
        whole, most = self._rows_of(candidate), _FOREIGN_SHARE * max(self.left(), 0.0)
        rows, times = [min(whole, LEAST_ROWS)], list[float]()
        growth, begun = _GROWTH, time.perf_counter()
        while True:
            start = time.perf_counter()
            sample(candidate, rows[-1])
            times.append(max(time.perf_counter() - start, 1e-6))
            if len(times) > 1:  # without the smallest samples, which take the time of preparations
                slope = np.polyfit(np.log(rows[-3:]), np.log(times[-3:]), 1)[0]
                growth = float(np.clip(slope, _LEAST_GROWTH, _MOST_GROWTH))
            more = 2 * rows[-1]
            if more > whole // 2 or time.perf_counter() - begun + times[-1] * 2.0**growth > most:
                break
            rows.append(more)
        self._measured[candidate.name] = rows[-1], times[-1], growth

    def _time_sample(self, candidate: Candidate, sample: Callable[[Candidate, int], Any]) -> None:
        whole, most = self._rows_of(candidate), _PILOT_SHARE * max(self.left(), 0.0)
        lowest = self._at(candidate, 1)
        factor = self._factor(candidate.name)
        few = min(whole, LEAST_ROWS)
        while 2 * few <= whole // 4 and factor * self.costs.seconds(lowest, 2 * few) <= most:
            few *= 2
        estimate = self.costs.seconds(lowest, few)
        if factor * estimate > 0.5 * self.left() or few == whole:
            return
        begun = time.perf_counter()
        sample(replace(lowest, seconds=self.left()), few)
        seconds = time.perf_counter() - begun
        self._factors[candidate.name] = seconds / estimate

    def _on_fewer_rows(self, candidate: Candidate, left: float, *, first: bool) -> Candidate | str:
        lowest, whole = self._at(candidate, 1), self._rows_of(candidate)
        factor = MARGIN * self._factor(candidate.name)

        def seconds(n: int) -> float:
            return factor * self._cost(with_draw(lowest, n))

        few, many = min(LEAST_ROWS, whole), whole
        least = few if first else max(few, int(LEAST_SHARE * whole))
        if seconds(least) > left:
            return f"{NO_TIME}: a fit takes about {seconds(whole):.2g} s, and {max(left, 0.0):.2g} s were left"
        while many - few > max(1, few // 20):
            middle = (few + many) // 2
            few, many = (middle, many) if seconds(middle) <= left else (few, middle)
        return with_draw(lowest, few)
