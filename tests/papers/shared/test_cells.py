"""Cells of a run: computed once, kept when finished, refused from another run or table; comparisons of methods."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from committee.papers.shared import cells as shared_cells
from committee.papers.shared.cells import Task, finished_cells
from committee.papers.shared.options import check_at_least_one, in_order
from committee.papers.shared.pages import compared, packed, signs_text, standard_error, unpacked


def square(number, runs):
    runs.append(number)
    return {"square": number**2}


def squares(path, numbers, runs, *, seed=0, table="t", digest="d", **options):
    tasks = [Task({"table": table, "digest": digest, "number": n}, partial(square, n, runs)) for n in numbers]
    return finished_cells(path, {"seed": seed}, tasks, **options)


def test_an_interrupted_run_goes_on(tmp_path):
    path, runs, seen = tmp_path / "cells.jsonl", [], []

    def breaks(*step):
        seen.append(step)
        if step[0] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        squares(path, [3, 1, 2], runs, progress=breaks)
    assert seen == [(1, 3, "t"), (2, 3, "t")] and path.read_text("utf-8").count("\n") == 3
    runs.clear()
    cells = squares(path, [3, 1, 2], runs, progress=lambda *step: seen.append(step))
    assert runs == [2] and seen[-1] == (3, 3, "t")
    assert [cell["square"] for cell in cells.values()] == [9, 1, 4], "in the order of the tasks"
    assert list(squares(path, [1], runs)) == [("t", 1)] and runs == [2], "fewer tasks are read off"


def test_processes_change_nothing(tmp_path):
    one, two = (squares(tmp_path / f"{jobs}.jsonl", range(5), [], jobs=jobs) for jobs in (1, 2))
    assert one == two


def test_other_runs_and_other_tables_are_refused(tmp_path):
    path = tmp_path / "cells.jsonl"
    squares(path, [1], [])
    with pytest.raises(ValueError, match="with seed 0 instead of 1"):
        squares(path, [1], [], seed=1)
    with pytest.raises(ValueError, match="holds cells of another table 't' than the one read now"):
        squares(path, [1], [], digest="e")
    assert squares(path, [1], [], table="u", digest="e")


def test_cells_of_other_code_run_again(tmp_path, monkeypatch):
    path, runs, code = tmp_path / "cells.jsonl", [], {square.__module__: "a"}
    monkeypatch.setattr(shared_cells, "code_digest", code.__getitem__)
    squares(path, [1, 2], runs)
    code[square.__module__] = "b"
    with pytest.warns(UserWarning, match=r"2 of the 3 cells in .*cells.jsonl were computed by older code"):
        cells = squares(path, [1, 2, 3], runs)
    assert runs == [1, 2, 1, 2, 3] and [cell["square"] for cell in cells.values()] == [1, 4, 9]
    assert "code" not in cells["t", 1]
    assert squares(path, [1, 2, 3], runs) == cells and len(runs) == 5, "cells of this code are there now"
    code[square.__module__] = "a"
    squares(path, [1, 2], runs)
    assert len(runs) == 5, "those of the code before are still in the file"


def test_a_task_has_one_thread(tmp_path):
    def threads():
        return {"threads": max(pool["num_threads"] for pool in threadpool_info())}

    seen = []
    task = Task({"number": 0}, threads, "one of its kind")
    cells = finished_cells(tmp_path / "cells.jsonl", {}, [task], progress=lambda *step: seen.append(step))
    assert cells[0,] == {"number": 0, "threads": 1} and seen == [(1, 1, "one of its kind")]


def test_names_and_counts_are_checked():
    assert in_order(None, ["b", "a"]) == in_order(["a", "b"], ["b", "a"]) == ["b", "a"]
    with pytest.raises(ValueError, match="parts names 'c', which is not there"):
        in_order(["c"], ["b", "a"], "parts")
    check_at_least_one(repeats=1)
    with pytest.raises(ValueError, match="repeats, jobs and rounds must be at least 1; got repeats=1, jobs=0, rounds="):
        check_at_least_one(repeats=1, jobs=0, rounds=2)
    with pytest.raises(ValueError, match=r"^jobs must be at least 1; got jobs=0"):
        check_at_least_one(jobs=0)


def test_standard_error():
    assert standard_error([1.0, 3.0]) == pytest.approx(1.0)
    assert standard_error([1.0]) == 0.0


def test_a_comparison_counts_tables_and_rows():
    found = compared(np.array([[0.1, 0.2, 0.3], [0.2, 0.2 + 1e-16, 0.1]]), [(2, 0), (0, 0), (0, 3)])
    assert (found.signs.wins, found.signs.losses, found.signs.ties) == (1, 1, 1), "rounding decides nothing"
    assert found.less == pytest.approx(0.1 / 3)
    # better with chances 7/8, 1/2 and 1/16: on two tables at least with (105 + 7 + 1 + 7) / 256
    assert found.probability == pytest.approx(120 / 256) and signs_text(found.signs) == "1-1-1, 1.000"
    none = compared(np.zeros((2, 0)), [])
    assert np.isnan(none.probability) and np.isnan(none.less) and none.signs.pvalue == 1.0
    assert np.isnan(compared(np.zeros((2, 2))).probability), "without rows there is no such test"


def test_bits_come_back():
    right = np.random.default_rng(0).random(21) < 0.5
    assert (unpacked(packed(right), 21) == right).all()
