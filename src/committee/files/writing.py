"""Files that are written whole or not at all, and scratch folders."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_UNFINISHED = re.compile(r"\.committee-[0-9a-f]{16}\.tmp")  # unlocked: left by a killed process
SCRATCH_PREFIX = "committee-scratch-"
SCRATCH_LOCK = "locked-while-in-use"  # file in a scratch folder that its process has locked


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that replaces `path` when the context ends without an error."""
    found = check_replaceable(path)
    place = Path(os.path.realpath(path))
    remove_unfinished(place.parent)
    temporary, handle = _create_locked(place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            if found is not None:  # before there is anything to read
                _like(temporary, found)
            yield file
            file.flush()
            os.fsync(file.fileno())
            if os.name == "nt":
                file.close()  # an open file cannot be moved there; elsewhere it stays locked until it is moved
            temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(place.parent)


def check_replaceable(path: str | os.PathLike[str]) -> os.stat_result | None:
    path = Path(path)
    folder = Path(os.path.realpath(path)).parent
    found = path.stat() if path.exists() else None
    if found is not None:
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"path {str(path)!r} exists and is not a regular file; give the name of a file.")
        # moving a file over it needs no permission of its own, and root has every permission
        if not os.access(path, os.W_OK) or not found.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "The file is write-protected", str(path))
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder to write in", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "The folder is write-protected", str(folder))
    return found


def remove_unfinished(folder: Path) -> None:
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if _UNFINISHED.fullmatch(entry.name)]
    except OSError:
        return  # a folder may be writable but not listable
    for path in left:
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                lock(handle)  # raises if its process still writes
                if os.name != "nt":
                    Path(path).unlink()
            finally:
                os.close(handle)
            if os.name == "nt":
                Path(path).unlink()


def _create_locked(folder: Path) -> tuple[Path, int]:
    while True:
        path = folder / f".committee-{secrets.token_hex(8)}.tmp"
        # created with 0o666 the file gets the umask; to read the umask instead is not thread-safe
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            lock(handle)
        except BlockingIOError:
            pass  # another process just takes it for unfinished, and removes it
        except OSError:
            return path, handle  # a file system without locks, where unfinished files stay
        else:
            if os.fstat(handle).st_nlink:
                return path, handle
        os.close(handle)


def _like(path: Path, found: os.stat_result) -> None:
    own = path.stat()
    if os.name == "posix" and (own.st_uid, own.st_gid) != (found.st_uid, found.st_gid):
        with suppress(PermissionError):
            os.chown(path, found.st_uid, found.st_gid)
    path.chmod(stat.S_IMODE(found.st_mode) & 0o777)


def _sync_folder(folder: Path) -> None:
    if os.name != "posix":
        return
    with suppress(OSError):  # not possible for all folders and network file systems; the file itself is synced
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def lock(handle: int) -> None:
    """Lock an open file until it is closed, or raise ``BlockingIOError``."""
    if sys.platform == "win32":
        import msvcrt

        place = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, 2**62, os.SEEK_SET)  # a locked byte cannot be read on Windows, so one beyond any file
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            os.lseek(handle, place, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    remove_left_folders(parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=SCRATCH_PREFIX, dir=parent))
    except OSError as error:
        where = str(parent or tempfile.gettempdir())
        remedy = "by TMPDIR" if parent is None else "by scan(..., scratch=...), or by --scratch"
        raise OSError(
            error.errno,
            f"no scratch folder can be made here ({error.strerror}); choose another {remedy}",
            where,
        ) from error
    try:
        with (folder / "new").open("wb") as file:
            with suppress(OSError):  # a file system without locks
                lock(file.fileno())
                (folder / "new").rename(folder / SCRATCH_LOCK)  # locked before it has its name
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_folders(parent: Path | None = None) -> None:
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{SCRATCH_PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or (os.name == "posix" and found.st_uid != os.geteuid()):
                continue  # a link, or a folder of another user
            handle = os.open(folder / SCRATCH_LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                lock(handle)  # raises if its process is alive
                if os.name == "posix":
                    shutil.rmtree(folder)
            finally:
                os.close(handle)
            if os.name != "posix":  # where an open file cannot be removed
                shutil.rmtree(folder)
