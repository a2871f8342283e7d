"""Finished cells on the disk, kept over interruptions."""

import errno
import importlib
import os
import sys

import pytest

from committee import _core
from committee.files import journal as journal_module
from committee.files.journal import Journal, code_digest, dependencies


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cells.jsonl"


def write(path, *cells, run=None):
    with Journal(path, run or {"seed": 0}) as journal:
        for cell in cells:
            journal.append(cell)


def cells_of(path):
    with Journal(path, {"seed": 0}) as journal:
        return journal.cells


def test_a_journal_keeps_what_was_appended(tmp_path):
    path, run = tmp_path / "new" / "cells.jsonl", {"seed": 0, "ratio": (1, 2)}
    with Journal(path, run) as journal:
        journal.append({"fold": 0})
        assert path.read_text("utf-8").endswith('{"fold": 0}\n'), "on the disk before the next cell starts"
    write(path, {"fold": 1}, run=run)
    with Journal(path, run) as journal:
        assert journal.cells == [{"fold": 0}, {"fold": 1}]


@pytest.mark.parametrize("rest", ['{"fold": 1', '{"fold": 1}', "\x00\x00"])
def test_a_line_cut_short_is_dropped(path, rest):
    write(path, {"fold": 0})
    with path.open("a", encoding="utf-8") as file:
        file.write(rest)
    assert cells_of(path) == [{"fold": 0}]
    write(path, {"fold": 2})
    assert cells_of(path) == [{"fold": 0}, {"fold": 2}]


@pytest.mark.parametrize("start", ["", '{"run": {"se'])
def test_a_journal_cut_short_in_its_first_line_begins_anew(path, start):
    path.write_text(start, "utf-8")
    write(path, {"fold": 0})
    assert cells_of(path) == [{"fold": 0}]


def test_cells_of_another_run_are_not_mixed(path):
    write(path, {"fold": 0}, run={"seed": 0, "depth": 6})
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"another run, with depth 6 instead of None; name another file, or remove"):
        Journal(path, {"seed": 0})
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", ["no cells\n", "one line of notes", '{"fold": 1}\n', "[1]\n", '{"run": {"seed": 0}}\nbroken\n{"fold": 1}\n']
)
def test_a_file_that_is_no_journal_is_left_alone(path, text):
    path.write_text(text, "utf-8")
    with pytest.raises(ValueError, match=r"line \d of .* is not one that a run writes"):
        Journal(path, {"seed": 0})
    assert path.read_text("utf-8") == text


def test_one_run_at_a_time_writes(path):
    with Journal(path, {"seed": 0}) as journal:
        journal.append({"fold": 0})
        with pytest.raises(ValueError, match=r"another run is writing its results to .*cells.jsonl; wait until it"):
            Journal(path, {"seed": 0})
        journal.append({"fold": 1})
    assert cells_of(path) == [{"fold": 0}, {"fold": 1}]


def test_a_file_system_without_locks_is_written_all_the_same(path, monkeypatch):
    def refuse(descriptor):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(journal_module, "lock", refuse)
    write(path, {"fold": 0})
    assert cells_of(path) == [{"fold": 0}]


def test_what_somebody_else_adds_is_never_written_over(path):
    with Journal(path, {"seed": 0}) as journal, path.open("a", encoding="utf-8") as other:
        other.write('{"fold": 7}\n')
        other.flush()
        journal.append({"fold": 0})
    assert cells_of(path) == [{"fold": 7}, {"fold": 0}]


def test_what_is_no_regular_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(ValueError, match="exists and is not a regular file; give the name of a file"):
            Journal(path, {"seed": 0})


CELL = '''
"""What a cell does."""
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    import experiment.told
SIZE = 3
"""Trees."""

def cell():
    """Run it."""
    from experiment.inner import number
    return number * SIZE  # so many
'''


INNER = "from committee.bounds.result import Bound\nnumber = 2\n"


@pytest.fixture
def digest_of(tmp_path, monkeypatch):
    """Return the digest of a package of modules: changed sources by name."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "experiment").mkdir()

    def digest(**sources):
        for name, text in {"__init__": "", "cell": CELL, "inner": INNER, "told": "", **sources}.items():
            (tmp_path / "experiment" / f"{name}.py").write_text(text, "utf-8")
        importlib.invalidate_caches()
        forget()
        return code_digest("experiment.cell")

    yield digest
    forget()
    sys.modules.pop("experiment", None)


def forget():
    for known in (code_digest, *(getattr(journal_module, name) for name in ("_defining", "_source", "_tree", "_code"))):
        known.cache_clear()


def test_words_do_not_count_and_code_does(digest_of):
    told = CELL.replace("What a cell does", "Other words").replace("so many", "more").replace("Trees.", "Of trees.")
    assert digest_of() == digest_of(cell=told + "\n\n", told="import nothing_of_that_name")
    assert len({digest_of(), digest_of(cell=CELL.replace("3", "4")), digest_of(inner="number = 3\n")}) == 3


def test_the_kernels_count(digest_of, monkeypatch):
    assert len(_core.source_digest) == 16
    before = digest_of()
    monkeypatch.setattr(_core, "source_digest", "another")
    assert before != digest_of()


def test_what_results_depend_on():
    of_cells = dependencies("committee.papers.quadboost.methods")
    assert {"committee.papers.quadboost.methods", "committee.learners.boosting.quadboost"} <= of_cells
    of_functions = {"committee.objectives.programs.linear_programs", "committee.data.packages"}
    assert of_functions <= of_cells, "imports of functions too"
    assert "committee.report.folds" in of_cells, "which draws the folds"
    assert "committee.report.models" in dependencies("committee.papers.sbpmt.rivals"), "which encodes columns"
    others = ("cli", "dask", "report.displays", "learners.nesting", "learners.blend")
    assert not [name for name in of_cells if name.startswith(tuple(f"committee.{other}" for other in others))]
    assert not any(name.endswith((".report", ".figures")) for name in of_cells), "pages and pictures make no cells"


def test_a_module_without_a_file():
    assert len(code_digest("no_module_of_that_name.at_all")) == 16
    assert code_digest("builtins") != code_digest("no_module_of_that_name")
