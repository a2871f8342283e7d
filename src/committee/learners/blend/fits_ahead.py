"""Fits on folds that an executor trains at the same time, before a run asks for them one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from joblib import delayed

from committee.data.parallel import MemberExecutor, member_executor
from committee.learners.blend.fold_fits import FoldFits, Outcome
from committee.learners.blend.trained_fit import TrainedFit

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import Candidate

Asked: TypeAlias = "tuple[Candidate, dict[str, Any], int]"
"""A candidate, its settings and the number of a fold."""


class FitsAhead:
    """Fits on folds by an executor, each as a run has it that trains one after the other.

    The first fit of a candidate that tries out steps finds those of its other folds, which wait for it. All fits that
    need no other are trained at the same time, and then all that need these. Leaving the context ends those left.

    Parameters
    ----------
    executor : MemberExecutor
        Trains them.
    fits : FoldFits
        What they are trained on.
    candidates : sequence of Candidate
        Those on folds, in the order in which they are asked for; only these are begun before they are.
    """

    def __init__(self, executor: MemberExecutor, fits: FoldFits, candidates: Sequence[Candidate]) -> None:
        self._executor, self._fits, self._candidates = executor, fits, candidates
        self._under_way, self._begun = ExitStack(), set[tuple[str, int]]()
        self._results: Iterator[Outcome] = iter(())
        self._found: dict[tuple[str, int], Outcome] = {}
        self._rates: dict[str, float] = {}
        self.seconds: dict[str, float] = {}
        """What the fits of each candidate took that were asked for."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._under_way.close()

    def fit(self, candidate: Candidate, settings: dict[str, Any], number: int) -> TrainedFit:
        """Return the fit on the others of a fold, or raise its error."""
        place = candidate.name, number
        if place not in self._begun:
            self._begin(candidate, settings, number)
        while place not in self._found:
            self._keep(next(self._results))
        outcome = self._found.pop(place)
        self.seconds[candidate.name] = self.seconds.get(candidate.name, 0.0) + outcome.seconds
        if isinstance(outcome.fit, Exception):
            raise outcome.fit
        return outcome.fit

    def _keep(self, outcome: Outcome) -> None:
        self._found[outcome.name, outcome.number] = outcome
        if isinstance(outcome.fit, TrainedFit):
            self._rates.setdefault(outcome.name, outcome.fit.rate)

    def _begin(self, candidate: Candidate, settings: dict[str, Any], number: int) -> None:
        """Begin a fit, and all that can be begun besides."""
        for outcome in self._results:
            self._keep(outcome)
        names = [one.name for one in self._candidates]
        later = self._candidates[names.index(candidate.name) + 1 :] if candidate.name in names else []
        first, others = [], list(self._folds(candidate, settings, number))
        if _tries_steps(candidate, settings):
            first, others = others[:1], []
        for one in later:
            if not _tries_steps(one, one.parameters):
                others += self._folds(one, one.parameters, 0)
            elif one.name in self._rates:
                others += self._folds(one, one.parameters | {"learning_rate": self._rates[one.name]}, 1)
            elif (one.name, 0) not in self._begun:
                first.append((one, dict(one.parameters), 0))
        asked = first + others
        self._begun |= {(one.name, k) for one, _, k in asked}
        train = self._fits.outcome  # one object, which is sent once
        self._results = self._under_way.enter_context(self._executor.results(delayed(train)(*one) for one in asked))

    def _folds(self, candidate: Candidate, settings: dict[str, Any], first: int) -> Iterator[Asked]:
        """Yield a candidate's fits from the first of these numbers on that are not begun."""
        for number in range(first, len(self._fits.folds)):
            if (candidate.name, number) not in self._begun:
                yield candidate, dict(settings), number


def fits_ahead(
    fits: FoldFits, wanted: Sequence[Candidate], *, in_time: bool
) -> AbstractContextManager[FitsAhead | None]:
    """Fits on folds by the executor in force; None where there is none.

    None of a candidate that is not asked for yet is begun where the candidates must be ready `in_time`.
    """
    executor = member_executor()
    if executor is None:
        return nullcontext()
    return FitsAhead(executor, fits, [] if in_time else [one for one in wanted if not one.out_of_bag])


def _tries_steps(candidate: Candidate, settings: dict[str, Any]) -> bool:
    """Tell whether the first fit of a candidate finds the rate of the steps of all."""
    return bool(getattr(candidate.learner(**settings), "learning_rate", None) == "auto")
