"""The candidates of a fit trained one after the other, until all are or something ends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from committee.learners.blend.member import LeftOut, Member, Training
from committee.learners.blend.time_limit import OutOfTimeError

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import Candidate


class _Weighed(Protocol):
    @property
    def left_out(self) -> Sequence[LeftOut]: ...


class _StoppedError(Exception):
    """A callback wants no further fit."""


class CandidateRun:
    """The training of candidates in their order; each is a task for callbacks, and so is each of several fits of one.

    Parameters
    ----------
    training : Training
        What they are trained on.
    candidates : sequence of Candidate
        In the order of their training.
    unsuited : sequence of LeftOut
        Others that the rows do not suit.
    weigh : callable
        Weighs members.
    attributes : callable
        Makes the fitted attributes of weighed members and of all candidates that are none.
    """

    def __init__(
        self,
        training: Training,
        candidates: Sequence[Candidate],
        unsuited: Sequence[LeftOut],
        weigh: Callable[[Sequence[Member]], _Weighed],
        attributes: Callable[[Any, Sequence[LeftOut]], dict[str, Any]],
    ) -> None:
        self._training, self._candidates, self._tasks = training, candidates, training.tasks
        self._weigh, self._attributes = weigh, attributes
        self._weighed: tuple[int, _Weighed] | None = None
        self._ended = "no time"
        self.members: list[Member] = []
        self.failed: list[LeftOut] = list(unsuited)

    def train(self) -> None:
        """Train the candidates.

        Raises
        ------
        KeyboardInterrupt
            If it is interrupted; the members are those that were ready then.
        """
        try:
            for candidate in self._candidates:
                self._train(candidate)
        except OutOfTimeError:
            self._tasks.end_parts(self._so_far)
        except _StoppedError:
            self._ended = "stopped"
            self._tasks.end_parts(self._so_far)
        except KeyboardInterrupt:
            self._ended = "interrupted"
            raise

    def _train(self, candidate: Candidate) -> None:
        self._training.limit.check()
        self._tasks.begin_part(candidate.name, self._training.n_folds(candidate))
        trained = self._training.trained(candidate, self._end_part)
        if isinstance(trained, Member):
            self.members.append(trained)
            self._training.limit.binding = True
        else:
            self.failed.append(trained)
        self._end_part()

    def _end_part(self) -> None:
        """End a candidate, or one of its fits; without a member the first one is not stopped."""
        if self._tasks.end_part(self._so_far) and self.members:
            raise _StoppedError

    def _so_far(self) -> dict[str, Any] | None:
        return self.fitted() if self.members else None

    def fitted(self) -> dict[str, Any]:
        """Return the fitted attributes as of now.

        Raises
        ------
        ValueError
            If there is no member.
        """
        if not self.members:
            reasons = "; ".join(f"{one.name}: {one.reason}" for one in self.failed)
            raise ValueError(f"no member could be trained on {len(self._training.rows)} rows ({reasons})")
        if self._weighed is None or self._weighed[0] != len(self.members):
            self._weighed = len(self.members), self._weigh(self.members)
        weighed = self._weighed[1]
        known = {one.name for one in self.members} | {one.name for one in self.failed}
        others = [LeftOut(one.name, self._ended) for one in self._candidates if one.name not in known]
        return self._attributes(weighed, [*weighed.left_out, *self.failed, *others])
