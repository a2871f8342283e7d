"""Files from which an interrupted run or fit resumes: journals of finished cells, and checkpoints."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.util import find_spec
from numbers import Real
from pathlib import Path
from typing import Any, TypeAlias

from committee import _core
from committee.data.packages import stub_imports
from committee.files.writing import check_replaceable, lock

Cell: TypeAlias = dict[str, Any]  # JSON values of one cell of an experiment, such as one fold of one table

_BEGINNING = b'{"run": '  # beginning of every journal; a file with another one is not a journal

OUTPUT_MODULES = ("committee.cli", "committee.report.displays", "committee.report.page")  # affect no results


class Journal:
    """Finished cells of one run, a line of JSON each, below a first line with `run`, all that the cells depend on.

    `code` returns the `code_digest` of a cell; cells of other code are `stale`.
    """

    def __init__(
        self,
        path: Path,
        run: dict[str, Any],
        elsewhere: str = "name another file",
        *,
        code: Callable[[Cell], str | None] | None = None,
    ) -> None:
        self.path: Path = path
        self._elsewhere = elsewhere
        self.run: dict[str, Any] = run
        self._code = code
        self.cells: list[Cell] = []
        self.stale: list[Cell] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        check_replaceable(path)
        self._file = path.open("a+b")
        try:
            self._lock()
            self._file.seek(0)
            kept = self._read(self._file.read())
            self._file.truncate(kept)
            if kept == 0:
                self._write({"run": run})
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def append(self, cell: Cell) -> None:
        self._write(cell if self._code is None else {"code": self._code(cell), **cell})
        self.cells.append(cell)

    def _lock(self) -> None:
        try:
            lock(self._file.fileno())
        except BlockingIOError as error:
            raise ValueError(
                f"another run is writing its results to {self.path}; wait until it ends, or {self._elsewhere}"
            ) from error
        except OSError:
            pass  # a file system without locks

    def _write(self, values: dict[str, Any]) -> None:
        self._file.write(json.dumps(values, allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, content: bytes) -> int:
        # returns the length of the complete lines
        *lines, rest = content.split(b"\n")
        if not lines and not _BEGINNING.startswith(rest[: len(_BEGINNING)]):
            raise self._no_cell(1)
        for number, line in enumerate(lines, start=1):
            try:
                values = json.loads(line)
            except ValueError:
                values = None
            if not isinstance(values, dict) or (number == 1 and not isinstance(values.get("run"), dict)):
                raise self._no_cell(number)
            if number == 1:
                self._same_run(values["run"])
            elif self._code is None or values.pop("code", None) == self._code(values):
                self.cells.append(values)
            else:
                self.stale.append(values)
        return sum(len(line) + 1 for line in lines)

    def _no_cell(self, number: int) -> ValueError:
        return ValueError(f"line {number} of {self.path} is not one that a run writes; move the file away or mend it")

    def _same_run(self, found: dict[str, Any]) -> None:
        here = json.loads(json.dumps(self.run))
        other = [name for name in {**found, **here} if found.get(name) != here.get(name)]
        if other:
            name = other[0]
            raise ValueError(
                f"{self.path} holds the results of another run, with {name} {found.get(name)!r} instead of"
                f" {here.get(name)!r}; {self._elsewhere}, or remove that file to begin anew"
            )


@cache
def code_digest(module: str) -> str:
    """Return a digest, 16 hexadecimal digits, of the code that the results of a module depend on."""
    found = blake2b(_core.source_digest.encode(), digest_size=8)
    for name in sorted(dependencies(module)):
        found.update(f"\n{name}\n{_code(name)}".encode())
    return found.hexdigest()


def dependencies(module: str) -> frozenset[str]:
    found, open_ends = {module}, [module]
    packages = (module.partition(".")[0], "committee")
    while open_ends:
        for name in _imported(open_ends.pop(), packages):
            if name not in found and not name.startswith(OUTPUT_MODULES):
                found.add(name)
                open_ends.append(name)
    return frozenset(found)


def _imported(module: str, packages: tuple[str, ...]) -> Iterator[str]:
    for node in ast.walk(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in packages)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in packages:
            yield from (_defining(node.module, alias.name) for alias in node.names)


@cache
def _defining(module: str, name: str) -> str:
    # the module of a name of a lazy package is in its stub
    source = _source(module)
    if source is None or source.name != "__init__.py":
        return module
    if _source(f"{module}.{name}"):
        return f"{module}.{name}"
    return stub_imports(str(source)).get(name, module) if source.with_suffix(".pyi").exists() else module


@cache
def _source(module: str) -> Path | None:
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):  # its parent is not a package, or it has no spec
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


@cache
def _tree(module: str) -> ast.Module:
    source = _source(module)
    tree = ast.parse(source.read_bytes() if source else b"")
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [part for part in node.body if not (_is_text(part) or _is_for_type_checkers(part))]
            if not (node.body or isinstance(node, ast.Module)):
                node.body = [ast.Pass()]
    return tree


@cache
def _code(module: str) -> str:
    return ast.unparse(_tree(module))


def _is_text(part: ast.stmt) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)


def _is_for_type_checkers(part: ast.stmt) -> bool:
    return isinstance(part, ast.If) and isinstance(part.test, ast.Name) and part.test.id == "TYPE_CHECKING"


class CheckpointError(ValueError):
    """A checkpoint is damaged, or of another fit."""


def pickle_digest(name: str, value: object) -> str:
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception as error:  # pickling an object of the user may raise anything
        raise ValueError(
            f"{name}={value!r} cannot be compared with that of an earlier attempt ({error}); give it as something "
            "that can be pickled, or leave checkpoint out."
        ) from error


@dataclass(frozen=True)
class Checkpoint:
    """File from which an interrupted fit resumes, and how often it is written.

    ``fit(X, y, checkpoint=path)`` means ``checkpoint=Checkpoint(path)``. A fit resumes from an existing file and writes
    it as it goes on, always as a whole. Only a fit of the same learner of the same version, with the same parameters
    (except `n_jobs` and `on_interrupt`) on the same rows, resumes; others raise `CheckpointError`. A resumed fit ends
    with the same bits as an uninterrupted one (a committee with a `time_limit`: with other members perhaps). The file
    stays when the fit has ended, so that the same fit is then done at once: remove it when the model is saved.

    Loading the file never runs code and takes up to four times its size in memory. After Ctrl-C it is written once
    more, unless that takes long. It is locked during its fit: other fits with the same file, such as those of a
    cross-validation, are refused.

    Parameters
    ----------
    path : str or path
        The file.
    interval : float, default=30.0
        Least number of seconds between two writes, except for the last one, at the end of the fit. A pause of at least
        nine times its duration follows each write. 0: after every round or member, but for these pauses.

    Raises
    ------
    TypeError, ValueError
        If `path` is not a path, or `interval` not a finite number of at least 0.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from committee import Checkpoint, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "forest.checkpoint")
    ...     forest = RandomForestClassifier(20, random_state=0).fit(X, y, checkpoint=path)
    ...     again = RandomForestClassifier(20, random_state=0).fit(X, y, checkpoint=Checkpoint(path, interval=5.0))
    >>> bool((forest.predict_proba(X) == again.predict_proba(X)).all())
    True
    """

    path: str | os.PathLike[str]
    interval: float = 30.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"checkpoint={self.path!r} is not a path; give the name of a file, or a Checkpoint.")
        number = isinstance(self.interval, Real) and not isinstance(self.interval, bool)
        if not (number and 0.0 <= self.interval < float("inf")):
            raise ValueError(f"interval={self.interval!r} must be a finite number of seconds, 0 or more.")
