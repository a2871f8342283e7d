"""Scratch folders are removed: by their process, or by the next one."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from committee.files.scratch import LOCK, PREFIX, remove_left_folders, scratch_folder


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_there_while_it_is_used_and_no_longer(temporary):
    with scratch_folder() as folder, scratch_folder() as other:
        assert {folder, other} == set(temporary.iterdir()), "the second has not removed the first"
        (folder / "table").write_bytes(b"rows")
    assert not list(temporary.iterdir())


def test_an_error_removes_it_too(temporary):
    with pytest.raises(RuntimeError), scratch_folder():
        raise RuntimeError
    assert not list(temporary.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="processes are killed by SIGKILL (2026-11-22)")
def test_what_a_killed_process_left_is_removed_by_the_next(temporary):
    code = "import time\nfrom committee.files.scratch import scratch_folder\n"
    code += "with scratch_folder() as folder:\n    (folder / 'table').touch()\n    print(folder, flush=True)\n"
    child = subprocess.Popen(
        [sys.executable, "-c", code + "    time.sleep(300)"],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env=os.environ | {"TMPDIR": str(temporary)},
    )
    assert child.stdout is not None
    left = Path(child.stdout.readline().strip())
    remove_left_folders()
    assert (left / "table").exists(), "its process is alive"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    with scratch_folder() as folder:
        assert list(temporary.iterdir()) == [folder]


def test_only_own_scratch_folders_are_removed(temporary):
    for name in ("committee-analysis", f"{PREFIX}mine"):  # without the file that says what it is
        (temporary / name).mkdir()
        (temporary / name / "data").touch()
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / LOCK).touch()
    (temporary / f"{PREFIX}link").symlink_to(temporary / "elsewhere")
    before = sorted(temporary.rglob("*"))
    remove_left_folders()
    assert sorted(temporary.rglob("*")) == before
