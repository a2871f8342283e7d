"""Faults put into the modules where a silent error costs most, one at a time: the tests must notice them.

Run as ``python tests/mutants.py [module ...] [--most N]``; ``docs/decisions.md`` says why this is no library.
Each mutant is a module whose syntax tree differs in one place. A process is forked for each, which imports the mutant
in place of the module and runs the tests that reach the changed line, the quickest first, until one fails. Those that
survive are printed; the ones that are known stand in ``tests/surviving_mutants.toml`` with a reason, and any other
makes the command fail, as do less than 85 % killed of a module.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.util
import os
import random
import signal
import sys
import time
import tomllib
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, SourceFileLoader
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from types import CodeType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "tests/surviving_mutants.toml"
LEAST_KILLED = 0.85
TESTS = {
    "vote.links.probability": ("tests/vote/test_links.py", "tests/vote/test_committee_files.py"),
    "vote.links.mean": ("tests/vote/test_regression.py",),
    "vote.margin_distribution": ("tests/vote/test_margin_distribution.py",),
    "bounds.pac_bayes": ("tests/bounds/test_pac_bayes.py", "tests/bounds/test_bounds.py"),
    "objectives.pac_bayes": ("tests/bounds/test_pac_bayes.py", "tests/objectives/margins/test_tandem.py"),
    "learners.certificates.certificates": (
        "tests/learners/certificates/test_certificates.py",
        "tests/learners/certificates/test_fitted_bounds.py",
        "tests/learners/blend/test_out_of_fold.py",
    ),
    "files.store": ("tests/files/test_store.py", "tests/files/test_kinds.py", "tests/test_golden_files.py"),
}
"""Modules to mutate, and the tests that are to notice."""

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}
RENAMED = {
    "min": "max", "minimum": "maximum", "argmin": "argmax", "floor": "ceil", "any": "all",
    "log": "log1p", "exp": "expm1", "cumsum": "cumprod",
}  # fmt: skip
RENAMED |= {there: here for here, there in RENAMED.items()}
SIDES = {"left": "right", "right": "left"}

Change = Callable[[Any], None]


@dataclass(frozen=True)
class Mutant:
    """One changed place of a module."""

    module: str
    function: str
    line: int
    place: int
    """Which of the changes of `changes`."""
    was: str
    text: str
    source: str
    """The text of the line."""
    same: int
    """How many changes before it read the same."""

    def __str__(self) -> str:
        """Its name among the known survivors; without the line's number, which moves."""
        nth = f" ({self.same + 1})" if self.same else ""
        return f"{self.module}.{self.function}: {self.was} -> {self.text}{nth} in `{self.source}`"


def _set(name: str, value: Any) -> Change:
    return lambda node: setattr(node, name, value)


def changes(node: ast.AST) -> Iterator[Change]:
    """Each change of a node; a change is made in place."""
    match node:
        case ast.Compare(ops=[op, *_]) if type(op) in SWAPPED:
            yield lambda node: node.ops.__setitem__(0, SWAPPED[type(op)]())
        case ast.BoolOp(op=op) | ast.BinOp(op=op) | ast.AugAssign(op=op) if type(op) in SWAPPED:
            yield _set("op", SWAPPED[type(op)]())
        case ast.UnaryOp(op=ast.USub()):
            yield _set("op", ast.UAdd())
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield _set("operand", ast.UnaryOp(ast.Not(), operand))
        case ast.Constant(value=bool(value)):
            yield _set("value", not value)
        case ast.Constant(value=int(value)):
            yield _set("value", value + 1)
        case ast.Constant(value=float(value)):
            yield _set("value", 2.0 * value if value else 1.0)
        case ast.Constant(value=str(value)) if value in SIDES:
            yield _set("value", SIDES[value])
        case ast.Call(func=ast.Name(id=name) as called) if name in RENAMED:
            yield lambda node: setattr(node.func, "id", RENAMED[called.id])
        case ast.Call(func=ast.Attribute(attr=name) as called) if name in RENAMED:
            yield lambda node: setattr(node.func, "attr", RENAMED[called.attr])
        case ast.If(body=[ast.Raise(), *_]):
            yield _set("test", ast.Constant(False))  # a check less
        case ast.Expr(value=ast.Call()):
            yield _set("value", ast.Constant(None))  # a call less


def mutable(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a module's functions that decide what they compute: no annotations, no messages, no defaults."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(tree, ast.Module | ast.ClassDef) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert | ast.Import | ast.ImportFrom):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.expr) and node in _declarations(tree):
            continue
        if isinstance(node, ast.arguments):
            continue
        yield node
        yield from mutable(node)


def _declarations(parent: ast.AST) -> list[ast.expr]:
    """Annotations and decorators of a node."""
    match parent:
        case ast.AnnAssign():
            return [parent.annotation]
        case ast.FunctionDef():
            return [*parent.decorator_list, *([parent.returns] if parent.returns else [])]
        case ast.ClassDef():
            return parent.decorator_list
    return []


def mutants_of(module: str) -> tuple[ast.Module, list[Mutant]]:
    """The syntax tree of a module and its mutants, in the order of the source."""
    text = path_of(module).read_text("utf-8")
    tree, lines = ast.parse(text), text.splitlines()
    found: list[Mutant] = []
    seen = Counter[tuple[str, ...]]()
    place = 0
    for node in mutable(tree):
        for change in changes(node):
            changed = copy.deepcopy(node)
            change(changed)
            was, now = (ast.unparse(each).splitlines()[0] for each in (node, changed))
            line: int = node.lineno  # type: ignore[attr-defined]
            function, source = _function_at(tree, line), lines[line - 1].strip()
            reads = (function, was, now, source)
            found.append(Mutant(module, function, line, place, was, now, source, seen[reads]))
            seen[reads] += 1
            place += 1
    return tree, found


def _function_at(tree: ast.Module, line: int) -> str:
    """The innermost function or class around a line."""
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return max(around, key=lambda node: node.lineno).name if around else "module"


def code_of(module: str, mutant: Mutant) -> CodeType:
    """The module with the mutant's change."""
    tree, _ = mutants_of(module)
    place = 0
    for node in list(mutable(tree)):
        for change in changes(node):
            if place == mutant.place:
                change(node)
            place += 1
    return compile(ast.fix_missing_locations(tree), str(path_of(module)), "exec")


def path_of(module: str) -> Path:
    return ROOT / "src/committee" / (module.replace(".", "/") + ".py")


class MutantFinder:
    """Imports one module from a code object that was made here."""

    def __init__(self, module: str, code: CodeType) -> None:
        self.name, self.module, self.code = f"committee.{module}", module, code

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != self.name:
            return None
        code = self.code

        class Loader(SourceFileLoader):
            def get_code(self, fullname: str) -> CodeType:
                return code

        file = path_of(self.module)
        return importlib.util.spec_from_file_location(name, file, loader=Loader(name, str(file)))


def in_child(work: Callable[[], int], seconds: float) -> int | None:
    """The status of `work` in a forked process; None if it takes longer."""
    child = os.fork()
    if child == 0:
        null = os.open(os.devnull, os.O_WRONLY)
        errors = os.dup(2)
        os.dup2(null, 1)
        os.dup2(null, 2)
        status = 99
        try:
            status = int(work())
        except BaseException:
            os.dup2(errors, 2)
            traceback.print_exc()
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


class Reached:
    """A plugin of pytest: the lines of one file that each test reaches, and how long it takes."""

    def __init__(self, path: Path) -> None:
        import coverage

        self.coverage = coverage.Coverage(data_file=None, include=[str(path)], config_file=False)
        self.path, self.seconds = str(path), dict[str, float]()
        self.coverage.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.begun = time.monotonic()
        self.coverage.switch_context(nodeid)

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        self.seconds[nodeid] = time.monotonic() - self.begun

    def lines(self) -> dict[int, list[str]]:
        """Tests by line, the quickest first."""
        self.coverage.stop()
        contexts = self.coverage.get_data().contexts_by_lineno(self.path)
        return {
            line: sorted(filter(None, tests), key=lambda test: self.seconds.get(test, 0.0))
            for line, tests in contexts.items()
        }


def run_pytest(arguments: list[str], plugins: list[Any]) -> int:
    import pytest

    quiet = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--assert=plain"]
    return int(pytest.main([*quiet, *arguments], plugins=plugins))


def reached(module: str) -> tuple[dict[int, list[str]], float]:
    """Tests by line of the module, and the seconds of all of them."""
    import json
    from tempfile import NamedTemporaryFile

    with NamedTemporaryFile(suffix=".json") as file:

        def work() -> int:
            plugin = Reached(path_of(module))
            status = run_pytest(list(TESTS[module]), [plugin])
            others = [name for name in sys.modules if name.split(".")[0] not in ("__main__", "committee", "tests")]
            Path(file.name).write_text(json.dumps([plugin.lines(), sum(plugin.seconds.values()), others]), "utf-8")
            return status

        status = in_child(work, 900.0)
        if status != 0:
            raise SystemExit(f"the tests of {module} fail without a mutant: status {status}")
        lines, seconds, others = json.loads(Path(file.name).read_text("utf-8"))
    if not lines:
        raise SystemExit(f"no test of {', '.join(TESTS[module])} reaches {module}")
    for name in others:  # what every child would import anew; the package itself is imported by the children alone
        with suppress(Exception):
            importlib.import_module(name)
    return {int(line): tests for line, tests in lines.items()}, seconds


def survives(mutant: Mutant, tests: list[str], seconds: float) -> bool:
    """Tell whether the tests notice nothing."""

    def work() -> int:
        sys.meta_path.insert(0, MutantFinder(mutant.module, code_of(mutant.module, mutant)))  # type: ignore[arg-type]
        return run_pytest(tests, [])

    return in_child(work, 20.0 + 5.0 * seconds) == 0


def survivors_of(module: str, most: int) -> tuple[int, list[Mutant]]:
    """How many mutants were tried, and those that survive."""
    lines, seconds = reached(module)
    by_name = list(dict.fromkeys(test for tests in lines.values() for test in tests))
    if in_child(lambda: run_pytest(by_name, []), 60.0 + 5.0 * seconds) != 0:
        raise SystemExit(f"the tests of {module} fail one by one, without a mutant")
    _, mutants = mutants_of(module)
    if len(mutants) > most:
        mutants = sorted(random.Random(module).sample(mutants, most), key=lambda mutant: mutant.place)
    alive = []
    for mutant in mutants:
        tests = lines.get(mutant.line, [])
        if not tests or survives(mutant, tests, seconds):
            alive.append(mutant)
            print(f"  survives: line {mutant.line}, {mutant}", flush=True)
    print(f"{module}: {len(mutants) - len(alive)} of {len(mutants)} killed", flush=True)
    return len(mutants), alive


def reasons() -> dict[str, str]:
    """Why the known survivors do no harm, by their names."""
    return {each["mutant"]: each["reason"] for each in tomllib.loads(KNOWN.read_text("utf-8"))["survivors"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", default=list(TESTS), help="default: all")
    parser.add_argument("--most", type=int, default=10_000, help="mutants of a module, drawn at random if it has more")
    parser.add_argument("--jobs", type=int, default=1, help="modules at a time")
    options = parser.parse_args()
    os.chdir(ROOT)
    known = reasons()
    gone = known.keys() - {str(mutant) for module in TESTS for mutant in mutants_of(module)[1]}
    if gone:
        raise SystemExit("\n".join(["no mutants any more, take them out of the known survivors:", *sorted(gone)]))
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as pool:
        found = dict(zip(options.modules, pool.map(survivors_of, options.modules, repeat(options.most)), strict=True))
    tried, alive = sum(n for n, _ in found.values()), [mutant for _, each in found.values() for mutant in each]
    unknown = [mutant for mutant in alive if str(mutant) not in known]
    few = [module for module, (n, each) in found.items() if n - len(each) < LEAST_KILLED * n]
    print(f"{tried - len(alive)} of {tried} mutants killed; {len(unknown)} survive without a reason")
    for mutant in unknown:
        print(f"  line {mutant.line}, {mutant}")
    for module in few:
        print(f"  less than {LEAST_KILLED:.0%} of {module}")
    return int(bool(unknown or few))


if __name__ == "__main__":
    raise SystemExit(main())
