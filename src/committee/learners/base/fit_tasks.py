"""One fit: its tasks for scikit-learn's callbacks, and its checkpoint."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import fields
from hashlib import blake2b
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.random import Generator, RandomState
from numpy.typing import NDArray
from sklearn.callback import CallbackContext

from committee.data.matrices import SparseMatrix
from committee.data.number_types import Index
from committee.data.out_of_core.training_pieces import OutOfCoreMatrix
from committee.data.parallel import trained_members
from committee.data.rows import Offsets, Rows, TargetRows, nonzero_sample_weights
from committee.data.text import warn_user
from committee.data.typed_json import field
from committee.files.documents import Document
from committee.files.journal import Checkpoint, CheckpointError, pickle_digest
from committee.files.store import CHECKPOINT, read_contents, write_contents
from committee.files.writing import check_replaceable, lock
from committee.learners.base.fit_record import Codec, FitRecord
from committee.learners.base.row_sampling import fit_generator, group_numbers
from committee.learners.base.stored_learner import CallbackSupportMixin

T = TypeVar("T")
Fitted = Callable[[], dict[str, Any] | None]
"""Function that returns the fitted attributes so far, or None without a model."""

SCHEMA_VERSION = 1
LEAST_PAUSE = 9.0
"""Least pause between writes of the file, in durations of the last write."""
SOON = 0.2
"""Seconds of the last write above which an interrupted fit does not write the file."""
_IRRELEVANT = frozenset({"n_jobs", "on_interrupt"})
"""Parameters that do not change the result of an uninterrupted fit."""


class FitTasks:
    """One fit as tasks of scikit-learn's callbacks: the fit, its rounds or voters, and parts of these."""

    def __init__(
        self,
        estimator: CallbackSupportMixin,
        context: CallbackContext,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
    ) -> None:
        self.sample_weight: Any = sample_weight  # of all the user's rows, times class weights once both are checked
        self.groups = groups
        self.begun: float = time.perf_counter()
        self.y, self.given_weight = y, sample_weight
        self.offsets: Offsets | None = None
        self._estimator, self._context = estimator, context
        self._open: list[CallbackContext] = []  # nested, the innermost last
        self._checkpoint: FitCheckpoint | None = None
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        self._about: dict[str, Any] = {"estimator": estimator, "X": X, "y": y, "metadata": metadata}

    def open_checkpoint(self, checkpoint: Checkpoint | str | os.PathLike[str], rows: Any) -> None:
        given = checkpoint if isinstance(checkpoint, Checkpoint) else Checkpoint(checkpoint)
        self._checkpoint = FitCheckpoint(given, self._estimator, rows, self.groups)

    @property
    def table(self) -> Any:
        return self._about["X"]

    @property
    def record(self) -> FitRecord | None:
        return None if self._checkpoint is None else self._checkpoint.record

    def random(self, rows: Rows | TargetRows) -> RandomState:
        kept = self._checkpoint
        return kept.random if kept is not None and kept.drawn else _generator(self._estimator, rows)

    def group_of(self, rows: Rows | TargetRows) -> Index | None:
        """Index of the group of each row with weight, ``(n,)``."""
        if self.groups is None:
            return None
        return group_numbers(self.groups, nonzero_sample_weights(self.sample_weight, len(rows)))

    def result(self, kind: str, given: Iterable[Any], compute: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        return compute() if self.record is None else self.record.array(kind, given, compute)

    @contextmanager
    def in_parallel(self, jobs: Iterable[Any], n_jobs: int | None, form: Codec[T]) -> Iterator[Iterator[T]]:
        with ExitStack() as pools:

            def computed(n_known: int) -> Iterator[T]:
                return pools.enter_context(trained_members(islice(jobs, n_known, None), n_jobs))

            yield computed(0) if self.record is None else self.record.each("member", form, computed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if self._checkpoint is not None:
            self._checkpoint.close(error)

    def begin(self) -> None:
        self._context.call_on_fit_task_begin(**self._about)

    def begin_part(self, name: str, n_parts: int = 0) -> None:
        # to open tasks without callbacks takes as long as a round on a hundred rows
        if self._context.max_subtasks != 0 and getattr(self._estimator, "_skl_callbacks", None):
            whole = self._open[-1] if self._open else self._context
            self._open.append(whole.subcontext(task_name=name, max_subtasks=n_parts))
            self._open[-1].call_on_fit_task_begin(**self._about)

    def end_part(self, fitted: Fitted) -> bool:
        """End the open task; True if a callback stops the fit."""
        if not self._open:
            return False
        return bool(self._open.pop().call_on_fit_task_end(**self._about, reconstruction_attributes=fitted))

    def end_parts(self, fitted: Fitted) -> None:
        while self._open:
            self.end_part(fitted)

    def each(self, name: str, trained: Iterable[T], fitted: Callable[[list[T]], dict[str, Any]]) -> list[T]:
        gathered: list[T] = []
        for one in trained:
            gathered.append(one)
            self.begin_part(name)
            if self.end_part(lambda: fitted(gathered)):
                break
        return gathered

    def end(self, fitted: dict[str, Any]) -> None:
        self._estimator.__dict__.update(fitted)
        self._context.call_on_fit_task_end(**self._about, reconstruction_attributes=fitted)


class FitCheckpoint:
    def __init__(self, checkpoint: Checkpoint, estimator: Any, rows: Any, groups: Any) -> None:
        self.path: Path = Path(checkpoint.path)
        self.interval: float = checkpoint.interval
        self._document: Document = {
            "format": CHECKPOINT,
            "schema_version": SCHEMA_VERSION,
            "package_version": version("committee"),
            "learner": f"{type(estimator).__module__}.{type(estimator).__qualname__}",
            "parameters": _digests(estimator),
            "rows": _digest_of_rows(estimator, rows, groups),
        }
        self.drawn = isinstance(getattr(estimator, "random_state", None), RandomState | Generator)
        self.random: RandomState = _generator(estimator, rows)
        self._unwritten, self._seconds = False, 0.0
        self._locked: int | None = None
        self.record: FitRecord = FitRecord(self._added, self._refusal)
        check_replaceable(self.path)
        self._resumed = self.path.exists()
        if self._resumed:
            self._lock()
            try:
                self._read()
            except BaseException:
                self._unlock()
                raise
        else:
            self._state = _state_of(self.random) if self.drawn else None
            self._unwritten = True
            self.write()  # a file that cannot be written is found now, not hours later
            if self.path.exists():
                self._lock()
        self._next = time.perf_counter() + self.interval

    def write(self) -> None:
        if not self._unwritten:
            return
        begun, locked = time.perf_counter(), self._locked is not None
        try:
            kinds, arrays = self.record.contents()
            text = json.dumps({**self._document, "random": self._state, "results": kinds}, separators=(",", ":"))
            self._unlock()  # not every system replaces an open file
            write_contents(self.path, text, arrays)
            self._unwritten = False
        except (OSError, ValueError, MemoryError) as error:  # ValueError: by now the path is a folder, for example
            reason = str(error).rstrip(".") or type(error).__name__
            warn_user(f"checkpoint {str(self.path)!r} cannot be written ({reason}); the fit works without it.")
        if locked:
            with suppress(CheckpointError, OSError):  # another fit may hold the file by now, which is complete too
                self._lock()
        self._seconds = time.perf_counter() - begun
        self._next = begun + self._seconds + max(self.interval, LEAST_PAUSE * self._seconds)

    def close(self, error: BaseException | None) -> None:
        if isinstance(error, KeyboardInterrupt) and self._seconds > SOON:
            self._unwritten = False
        if isinstance(error, Exception) and self._resumed and not isinstance(error, CheckpointError):
            error.add_note(f"Resumed from checkpoint {str(self.path)!r}; if only resumed fits fail, remove the file.")
        try:
            self.write()
        finally:
            self._unlock()

    def _lock(self) -> None:
        self._unlock()
        handle = os.open(self.path, os.O_RDWR)
        try:
            lock(handle)
        except BlockingIOError as error:
            os.close(handle)
            raise CheckpointError(
                f"checkpoint {str(self.path)!r} is that of another fit under way; wait until it ends, or name another "
                "file."
            ) from error
        except OSError:
            os.close(handle)  # a file system without locks
        else:
            self._locked = handle

    def _unlock(self) -> None:
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def _added(self) -> None:
        self._unwritten = True
        if time.perf_counter() >= self._next:
            self.write()

    def _refusal(self, reason: str) -> CheckpointError:
        return CheckpointError(
            f"checkpoint {str(self.path)!r} cannot be resumed: {reason.rstrip('.')}. Remove the file to begin "
            "anew, or name another one."
        )

    def _read(self) -> None:
        try:
            document, arrays = read_contents(self.path)
            self._compare(document)
            self._state = field(document, "random", dict, None)
            begun = _random_of(self._state) if self.drawn else None
            self.record.take(field(document, "results", dict), arrays)
            if begun is not None:  # the user's generator is left as a single attempt would have left it
                self.random.set_state(begun.get_state())
        except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
            raise self._refusal(str(error) or type(error).__name__) from error

    def _compare(self, document: Document) -> None:
        here = self._document
        if field(document, "format", str) != here["format"]:
            raise ValueError("it is not a checkpoint")
        if field(document, "package_version", str) != here["package_version"]:
            raise ValueError(
                f"it was written by committee {document['package_version'][:40]}, and this is {version('committee')}"
            )
        if field(document, "learner", str) != here["learner"]:
            raise ValueError(f"it was written by a {document['learner'][:120]}, and this is a {here['learner']}")
        parameters: Document = field(document, "parameters", dict)
        other = [name for name, value in here["parameters"].items() if parameters.get(name) != value]
        if other or len(parameters) != len(here["parameters"]):
            raise ValueError(f"it was written by a fit with other parameters{': ' * bool(other)}{', '.join(other)}")
        if field(document, "rows", str) != here["rows"]:
            raise ValueError("it was written by a fit on other rows, weights, targets, offsets, groups or columns")


def _generator(estimator: Any, rows: Rows | TargetRows) -> RandomState:
    return fit_generator(getattr(estimator, "random_state", None), rows.class_numbers, rows.weights)


def _digests(estimator: Any) -> dict[str, str]:
    digests = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _IRRELEVANT:
            continue
        if name == "random_state" and isinstance(value, RandomState | Generator):
            digests[name] = "drawn"
            continue
        digests[name] = pickle_digest(name, value)
    return digests


def _digest_of_rows(estimator: Any, rows: Any, groups: Any) -> str:
    # of the encoded rows, the columns' names and kinds, the classes and the groups
    digest = blake2b(digest_size=16)
    arrays = {each.name: getattr(rows, each.name) for each in fields(rows)}
    if isinstance(matrix := arrays["X"], SparseMatrix):
        arrays |= vars(matrix)
    elif isinstance(matrix, OutOfCoreMatrix):
        arrays |= matrix.sampled_cells
    for name, value in arrays.items():
        if isinstance(value, np.ndarray):
            digest.update(repr((name, value.shape, value.dtype.str)).encode())
            digest.update(np.ascontiguousarray(value).data)
    classes = getattr(estimator, "classes_", np.empty(0)).tolist()
    digest.update(json.dumps(estimator.table_.to_json(), sort_keys=True, default=repr).encode())
    digest.update(repr(classes).encode())
    if groups is not None:
        digest.update(repr(np.asarray(groups, dtype=object).tolist()).encode())
    return digest.hexdigest()


def _state_of(random: RandomState) -> Document:
    found: Any = random.get_state(legacy=False)
    if (name := found["bit_generator"]) != "MT19937":
        raise ValueError(f"random_state draws by {name}; a checkpoint holds MT19937 alone. Give a seed.")
    keys, position = found["state"]["key"].tolist(), int(found["state"]["pos"])
    return {"keys": keys, "position": position, "has_gauss": int(found["has_gauss"]), "gauss": float(found["gauss"])}


def _random_of(state: Document | None) -> RandomState:
    if state is None:
        raise ValueError("it has no state of the random generator")
    random = RandomState()
    keys = np.array(field(state, "keys", list), dtype=np.uint32)
    position, has_gauss = field(state, "position", int), field(state, "has_gauss", int)
    if keys.shape != (624,) or not 0 <= position <= 624:
        raise ValueError("the state of its random generator is invalid")
    random.set_state(("MT19937", keys, position, has_gauss, field(state, "gauss", float)))
    return random
