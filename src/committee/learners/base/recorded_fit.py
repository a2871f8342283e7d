"""A fit whose costly results are kept in a checkpoint."""

from __future__ import annotations

import json
import os
import time
import warnings
from contextlib import suppress
from dataclasses import fields
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from sklearn.utils import check_random_state

from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.sparse import SparseMatrix
from committee.data.typed_json import field
from committee.files.checkpoint import Checkpoint, CheckpointError, digest_of
from committee.files.replacement import check_replaceable, lock
from committee.files.store import CHECKPOINT, read_contents, write_contents
from committee.files.tensors import Document
from committee.learners.base.fit_record import FitRecord

SCHEMA_VERSION = 1
LEAST_PAUSE = 9.0
"""The file is not written again before this many times what the last writing took: a tenth of the time at most."""
SOON = 0.2
"""Seconds that an interrupt waits for the file to be written."""
_OF_NO_MATTER = frozenset({"n_jobs", "on_interrupt"})
"""Parameters that do not change a bit of a fit that ends by itself."""


class RecordedFit:
    """A fit with a checkpoint: the record of its results, in a file, and the draws that it begins with.

    Parameters
    ----------
    checkpoint : Checkpoint
        Where the file is.
    estimator : estimator
        The learner that is fitted.
    rows : Rows or TargetRows
        Its training rows.

    Raises
    ------
    CheckpointError
        If there is a file, and it is damaged or of another fit.
    ValueError
        If a parameter cannot be compared with that of an earlier attempt.
    """

    def __init__(self, checkpoint: Checkpoint, estimator: Any, rows: Any) -> None:
        self.path: Path = Path(checkpoint.path)
        self.interval: float = checkpoint.interval
        self._document: Document = {
            "format": CHECKPOINT,
            "schema_version": SCHEMA_VERSION,
            "package_version": version("committee"),
            "learner": f"{type(estimator).__module__}.{type(estimator).__qualname__}",
            "parameters": _digests(estimator),
            "rows": _digest_of_rows(estimator, rows),
        }
        seed: int | np.random.RandomState | None = getattr(estimator, "random_state", 0)
        self._own = isinstance(seed, np.random.RandomState)
        self._drawn = seed is None or self._own
        self.random: np.random.RandomState = check_random_state(seed)
        self._unwritten, self._seconds = False, 0.0
        self._held: int | None = None
        self.record: FitRecord = FitRecord(self._added, self._refusal)
        check_replaceable(self.path)
        self._goes_on = self.path.exists()
        if self._goes_on:
            self._hold()
            try:
                self._read()
            except BaseException:
                self._release()
                raise
        else:
            self._state = _state_of(self.random) if self._drawn else None
            self._unwritten = True
            self.write()  # a file that cannot be written is no surprise hours later
            self._hold()
        self._next = time.perf_counter() + self.interval

    def write(self) -> None:
        """Write the file, if there is anything new; where it cannot be written, the fit goes on."""
        if not self._unwritten:
            return
        begun, held = time.perf_counter(), self._held is not None
        try:
            kinds, arrays = self.record.contents()
            text = json.dumps({**self._document, "random": self._state, "results": kinds}, separators=(",", ":"))
            self._release()  # what is open cannot be replaced everywhere
            write_contents(self.path, text, arrays)
            self._unwritten = False
        except (OSError, ValueError, MemoryError) as error:  # ValueError: by now a folder stands there, for example
            reason = str(error).rstrip(".") or type(error).__name__
            warnings.warn(f"checkpoint {str(self.path)!r} cannot be written ({reason}); the fit goes on.", stacklevel=2)
        if held:
            with suppress(CheckpointError, OSError):  # another fit that came in between writes what is as whole
                self._hold()
        self._seconds = time.perf_counter() - begun
        self._next = begun + self._seconds + max(self.interval, LEAST_PAUSE * self._seconds)

    def interrupt(self) -> None:
        """Let the newest results go if they would keep an interrupt waiting."""
        if self._seconds > SOON:
            self._unwritten = False

    def close(self) -> None:
        """Write what the file does not hold yet, and leave it to others."""
        try:
            self.write()
        finally:
            self._release()

    def _hold(self) -> None:
        """Lock the file, so that no other fit goes on from it meanwhile."""
        self._release()
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
            self._held = handle

    def _release(self) -> None:
        if self._held is not None:
            os.close(self._held)
            self._held = None

    def add_note(self, error: Exception) -> None:
        """Add to an error that the fit went on from the file, if it did."""
        if self._goes_on and not isinstance(error, CheckpointError):
            error.add_note(f"The fit went on from checkpoint {str(self.path)!r}; if it fails only so, remove the file.")

    def _added(self) -> None:
        self._unwritten = True
        if time.perf_counter() >= self._next:
            self.write()

    def _refusal(self, reason: str) -> CheckpointError:
        """Return the error of a file that cannot be gone on from."""
        return CheckpointError(
            f"checkpoint {str(self.path)!r} cannot be gone on from: {reason.rstrip('.')}. Remove the file to begin "
            "anew, or name another one."
        )

    def _read(self) -> None:
        try:
            document, arrays = read_contents(self.path)
            self._compare(document)
            self._state = field(document, "random", dict, None)
            begun = _random_of(self._state) if self._drawn else None
            self.record.take(field(document, "results", dict), arrays)
            if begun is not None:
                self._go_back(begun)
        except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
            raise self._refusal(str(error) or type(error).__name__) from error

    def _go_back(self, begun: np.random.RandomState) -> None:
        """Draw as the first attempt did; a generator of the user's is left as an only attempt would have left it."""
        if self._own:
            self.random.set_state(begun.get_state())
        else:
            self.random = begun  # no seed: all of the process draw from that one, and may have drawn since

    def _compare(self, document: Document) -> None:
        """Refuse the file of another fit."""
        if field(document, "format", str) != CHECKPOINT:
            raise ValueError("it is no checkpoint")
        here = self._document
        if field(document, "package_version", str) != here["package_version"]:
            raise ValueError(
                f"it is of committee {document['package_version'][:40]}, and this is {version('committee')}"
            )
        if field(document, "learner", str) != here["learner"]:
            raise ValueError(f"it is of a {document['learner'][:120]}, and this is a {here['learner']}")
        parameters: Document = field(document, "parameters", dict)
        other = [name for name, value in here["parameters"].items() if parameters.get(name) != value]
        if other or len(parameters) != len(here["parameters"]):
            raise ValueError(f"it is of a fit with another {' and another '.join(other) or 'set of parameters'}")
        if field(document, "rows", str) != here["rows"]:
            raise ValueError("it is of a fit on other rows, weights, labels or names of columns")


def _digests(estimator: Any) -> dict[str, str]:
    """Digest of each parameter's value; "drawn" for a random state that is no seed."""
    digests = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in _OF_NO_MATTER:
            continue
        if name == "random_state" and (value is None or isinstance(value, np.random.RandomState)):
            digests[name] = "drawn"
            continue
        digests[name] = digest_of(name, value)
    return digests


def _digest_of_rows(estimator: Any, rows: Any) -> str:
    """Digest of the encoded rows, the columns' names and kinds, and the classes."""
    digest = blake2b(digest_size=16)
    arrays = {each.name: getattr(rows, each.name) for each in fields(rows)}
    if isinstance(matrix := arrays["X"], SparseMatrix):
        arrays |= vars(matrix)
    elif isinstance(matrix, PiecedMatrix):
        arrays |= matrix.known_cells
    for name, value in arrays.items():
        if isinstance(value, np.ndarray):
            digest.update(repr((name, value.shape, value.dtype.str)).encode())
            digest.update(np.ascontiguousarray(value).data)
    classes = getattr(estimator, "classes_", np.empty(0)).tolist()
    digest.update(json.dumps(estimator.table_.to_json(), sort_keys=True, default=repr).encode())
    digest.update(repr(classes).encode())
    return digest.hexdigest()


def _state_of(random: np.random.RandomState) -> Document:
    name, keys, position, has_gauss, gauss = cast("tuple[str, Any, int, int, float]", random.get_state(legacy=True))
    if name != "MT19937":
        raise ValueError(f"random_state draws by {name}; a checkpoint knows MT19937 alone. Give a seed.")
    return {"keys": keys.tolist(), "position": int(position), "has_gauss": int(has_gauss), "gauss": float(gauss)}


def _random_of(state: Document | None) -> np.random.RandomState:
    if state is None:
        raise ValueError("it has no state of the random generator")
    random = np.random.RandomState()
    keys = np.array(field(state, "keys", list), dtype=np.uint32)
    position, has_gauss = field(state, "position", int), field(state, "has_gauss", int)
    if keys.shape != (624,) or not 0 <= position <= 624:
        raise ValueError("the state of its random generator is none")
    random.set_state(("MT19937", keys, position, has_gauss, field(state, "gauss", float)))
    return random
