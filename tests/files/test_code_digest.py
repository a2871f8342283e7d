"""A digest of code changes with what results depend on, and with nothing else."""

import importlib
import sys

import pytest

from committee import _core
from committee.files import code_digest as digests
from committee.files.code_digest import code_digest, modules_of

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
        texts = {
            "cell": CELL,
            "inner": "from committee.bounds.result import Bound\nnumber = 2\n",
            "told": "",
            **sources,
        }
        for name, text in {"__init__": "", **texts}.items():
            (tmp_path / "experiment" / f"{name}.py").write_text(text, "utf-8")
        importlib.invalidate_caches()
        forget()
        return code_digest("experiment.cell")

    yield digest
    forget()
    sys.modules.pop("experiment", None)


def forget():
    for known in (digests.code_digest, digests._defining, digests._source, digests._tree, digests._code):
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
    of_cells = modules_of("committee.papers.quadboost.cells")
    assert {"committee.papers.quadboost.adaboost", "committee.learners.quadboost.quadboost"} <= of_cells
    assert {"committee.objectives.programs.highs", "committee.data.lazy_names"} <= of_cells, "imports of functions too"
    rooms = {name.split(".")[1] for name in of_cells if "." in name}
    assert not rooms & {"cli", "dask"}
    assert "committee.report.crossvalidation" in of_cells, "which draws the folds"
    assert "committee.report.peers" in modules_of("committee.papers.sbpmt.rivals"), "which encodes columns for rivals"
    assert not any(name.startswith("committee.report.displays") for name in of_cells)
    for learner in ("nesting", "blend"):
        assert not any(name.startswith(f"committee.learners.{learner}") for name in of_cells)
    assert not any(name.endswith((".report", ".figures")) for name in of_cells), "pages and pictures make no cells"


def test_a_module_without_a_file():
    assert len(code_digest("no_module_of_that_name.at_all")) == 16
    assert code_digest("builtins") != code_digest("no_module_of_that_name")
