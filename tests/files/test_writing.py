"""Files are replaced whole or not at all; what must not be replaced is left as it is."""

import errno
import os
import re
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from committee.files.writing import (
    SCRATCH_LOCK,
    SCRATCH_PREFIX,
    lock,
    remove_left_folders,
    remove_unfinished,
    replacing,
    scratch_folder,
    write_file,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions, links, pipes and signals")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file_has_the_users_permissions_and_an_old_one_its_own(tmp_path):
    before = os.umask(0o027)
    try:
        write_file(tmp_path / "new", "text")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640
    (tmp_path / "new").chmod(0o600)
    write_file(tmp_path / "new", b"other")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    assert (tmp_path / "new").read_bytes() == b"other"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_owner_and_group_are_kept(tmp_path):
    path = tmp_path / "theirs"
    path.write_text("old", "utf-8")
    os.chown(path, 1234, 1235)
    write_file(path, "new")
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 1235)


def test_a_link_stays_a_link_even_one_to_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder/real")
    for text in ("first", "second"):
        write_file(tmp_path / "link", text)
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "folder" / "real").read_text("utf-8") == text
    assert names(tmp_path / "folder") == ["real"]


def test_devices_pipes_and_folders_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "null").symlink_to(os.devnull)
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "null", "folder"):
        with pytest.raises(ValueError, match=f"{name}' exists and is not a regular file; give the name of a file"):
            write_file(tmp_path / name, "text")
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    assert names(tmp_path) == ["folder", "null", "pipe"]


def test_a_write_protected_file_is_refused_to_root_too(tmp_path):
    path = tmp_path / "kept"
    path.write_text("old", "utf-8")
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="write-protected"):
        write_file(path, "new")
    assert path.read_text("utf-8") == "old"


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such folder to write in.*nowhere"):
        write_file(tmp_path / "nowhere" / "file", "text")


def test_a_folder_that_must_not_be_written_in_is_named(tmp_path, monkeypatch):
    """As everyone but root finds it."""
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path)
    with pytest.raises(PermissionError, match=re.escape(f"The folder is write-protected: '{tmp_path}'")):
        write_file(tmp_path / "a", "new")
    assert names(tmp_path) == []


def test_a_folder_that_cannot_be_listed_or_synced_is_written_in(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("not for you")

    monkeypatch.setattr(os, "scandir", refuse)
    write_file(tmp_path / "a", "new")
    opened = os.open
    monkeypatch.setattr(os, "open", lambda path, *rest: refuse() if path == tmp_path else opened(path, *rest))
    write_file(tmp_path / "a", "newer")
    assert (tmp_path / "a").read_text("utf-8") == "newer"


def test_a_file_system_without_locks_is_written_in(tmp_path, monkeypatch):
    def refuse(handle):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("committee.files.writing.lock", refuse)
    write_file(tmp_path / "a", "new")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text("utf-8") == "new"
    (tmp_path / f".committee-{'0' * 16}.tmp").touch()  # perhaps of a live process
    write_file(tmp_path / "a", "newer")
    assert names(tmp_path) == [f".committee-{'0' * 16}.tmp", "a"]


def test_a_new_file_that_another_process_takes_for_unfinished_is_followed_by_another(tmp_path, monkeypatch):
    """It may hold the lock at that moment, or have removed the file before it was locked."""
    happens = iter(["locked", "removed", "nothing"])

    def lock_late(handle):
        match next(happens):
            case "locked":
                raise BlockingIOError
            case "removed":
                for path in tmp_path.iterdir():
                    path.unlink()
        lock(handle)

    monkeypatch.setattr("committee.files.writing.remove_unfinished", lambda _: None)
    monkeypatch.setattr("committee.files.writing.lock", lock_late)
    closed, close = [], os.close
    monkeypatch.setattr(os, "close", lambda handle: (closed.append(handle), close(handle)))
    monkeypatch.setattr("committee.files.writing._sync_folder", lambda _: None)
    write_file(tmp_path / "a", "new")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text("utf-8") == "new"
    assert next(happens, None) is None
    assert len(closed) == 2, "the handles of the two files that were given up"


def test_the_temporary_name_cannot_be_foreseen_and_is_not_followed(tmp_path, monkeypatch):
    """A link planted at the very name is an error, and what it points to stays."""
    with replacing(tmp_path / "a") as file:
        first = file.name, names(tmp_path)
        file.write(b"x")
    assert re.fullmatch(r"\.committee-[0-9a-f]{16}\.tmp", first[1][0])
    (tmp_path / "victim").write_text("old", "utf-8")
    monkeypatch.setattr("secrets.token_hex", lambda _: "0" * 16)
    monkeypatch.setattr("committee.files.writing.remove_unfinished", lambda _: None)
    (tmp_path / f".committee-{'0' * 16}.tmp").symlink_to("victim")
    with pytest.raises(FileExistsError):
        write_file(tmp_path / "a", "new")
    assert (tmp_path / "victim").read_text("utf-8") == "old"
    assert (tmp_path / "a").read_text("utf-8") == "x"


def test_names_as_long_as_the_file_system_takes(tmp_path):
    for name in ("n" * 255, os.fsdecode("ü".encode() * 127)):  # of bytes, in any locale
        write_file(tmp_path / name, "text")
        assert (tmp_path / name).read_text("utf-8") == "text"
    with pytest.raises(OSError, match="too long"):
        write_file(tmp_path / ("n" * 256), "text")


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path):
    write_file(tmp_path / "a", "old")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a") as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert names(tmp_path) == ["a"]
    assert (tmp_path / "a").read_text("utf-8") == "old"


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_a_live_one_writes_is_not(tmp_path):
    script = (
        "import os, signal, sys, time; from committee.files.writing import replacing\n"
        "with replacing(sys.argv[1]) as file:\n"
        "    file.write(b'half'); file.flush(); print('written', flush=True); time.sleep(300)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "slow")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        child.stdout.readline()
        write_file(tmp_path / "other", "text")
        assert len(names(tmp_path)) == 2  # the child's unfinished file is left alone
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert len(names(tmp_path)) == 2
    write_file(tmp_path / "other", "text")
    assert names(tmp_path) == ["other"]


def test_only_files_of_that_name_are_taken_for_unfinished(tmp_path):
    kept = ["data.tmp", ".committee-0.tmp", f".committee-{'g' * 16}.tmp", f"committee-{'0' * 16}.tmp"]
    for name in kept:
        (tmp_path / name).write_text("x", "utf-8")
    (tmp_path / "victim").write_text("x", "utf-8")
    (tmp_path / f".committee-{'a' * 16}.tmp").symlink_to("victim")
    (tmp_path / f".committee-{'b' * 16}.tmp").mkdir()
    (tmp_path / f".committee-{'c' * 16}.tmp").write_text("x", "utf-8")
    remove_unfinished(tmp_path)
    assert names(tmp_path) == sorted([*kept, "victim", *(f".committee-{letter * 16}.tmp" for letter in "ab")])


def test_a_second_lock_is_refused(tmp_path):
    (tmp_path / "a").touch()
    with (tmp_path / "a").open(encoding="utf-8") as first, (tmp_path / "a").open(encoding="utf-8") as second:
        lock(first.fileno())
        with pytest.raises(BlockingIOError):
            lock(second.fileno())
        first.close()
        lock(second.fileno())


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
    code = "import time\nfrom committee.files.writing import scratch_folder\n"
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
    for name in ("committee-analysis", f"{SCRATCH_PREFIX}mine"):  # without the file that says what it is
        (temporary / name).mkdir()
        (temporary / name / "data").touch()
    (temporary / "elsewhere").mkdir()
    (temporary / "elsewhere" / SCRATCH_LOCK).touch()
    (temporary / f"{SCRATCH_PREFIX}link").symlink_to(temporary / "elsewhere")
    before = sorted(temporary.rglob("*"))
    remove_left_folders()
    assert sorted(temporary.rglob("*")) == before
