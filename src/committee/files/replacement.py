"""Files written whole or not at all: beside their destination, onto the disk, and then moved into place.

All that the package writes goes through `replacing`. A reader never sees half a file, and what fails or is killed
leaves the old one as it was. A file that exists keeps its permissions, a link stays a link; what is no regular file
(a folder, a device, a named pipe) and what is write-protected is refused.
"""

import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

_UNFINISHED = re.compile(r"\.committee-[0-9a-f]{16}\.tmp")
"""Names of files that are being written. A file of such a name that no process has locked was left by one killed."""


def write_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file whole or not at all; text as UTF-8.

    Raises
    ------
    ValueError
        If `path` is there and no regular file.
    OSError
        If it cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from committee.files.replacement import write_file
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.txt"
    >>> write_file(path, "text")
    >>> path.read_text()
    'text'
    """
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file that takes the place of `path` when the context ends without an error.

    Errors are those of `write_file`.
    """
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
    """Return what is known of the file that would be replaced, None if there is none; refuse what must not be.

    Errors are those of `write_file`, as far as they can be foreseen.
    """
    path = Path(path)
    folder = Path(os.path.realpath(path)).parent
    found = path.stat() if path.exists() else None
    if found is not None:
        if not stat.S_ISREG(found.st_mode):
            raise ValueError(f"path {str(path)!r} exists and is not a regular file; give the name of a file.")
        # moving a new file over it would need no permission of its own, and root has every permission
        if not os.access(path, os.W_OK) or not found.st_mode & 0o222:
            raise PermissionError(errno.EACCES, "The file is write-protected", str(path))
    if not folder.is_dir():
        raise FileNotFoundError(errno.ENOENT, "There is no such folder to write in", str(folder))
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, "The folder is write-protected", str(folder))
    return found


def remove_unfinished(folder: Path) -> None:
    """Remove the files that killed processes left half written in a folder."""
    try:
        with os.scandir(folder) as entries:
            left = [entry.path for entry in entries if _UNFINISHED.fullmatch(entry.name)]
    except OSError:
        return  # a folder may be written in and not listed
    for path in left:
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
            try:
                lock(handle)  # not where its process still writes
                if os.name != "nt":
                    Path(path).unlink()
            finally:
                os.close(handle)
            if os.name == "nt":
                Path(path).unlink()


def _create_locked(folder: Path) -> tuple[Path, int]:
    """New file of a name that nobody can foresee, open and locked."""
    while True:
        path = folder / f".committee-{secrets.token_hex(8)}.tmp"
        # created as any new file, so that the user's umask holds without being read, which is not thread-safe
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
        try:
            lock(handle)
        except BlockingIOError:
            pass  # a process that looked just then takes it for unfinished, and removes it
        except OSError:
            return path, handle  # no locks there, so nobody removes it either
        else:
            if os.fstat(handle).st_nlink:
                return path, handle
        os.close(handle)


def _like(path: Path, found: os.stat_result) -> None:
    """Give a file the permissions, and where that is allowed the owner and group, of another."""
    own = path.stat()
    if os.name == "posix" and (own.st_uid, own.st_gid) != (found.st_uid, found.st_gid):
        with suppress(PermissionError):
            os.chown(path, found.st_uid, found.st_gid)
    path.chmod(stat.S_IMODE(found.st_mode) & 0o777)


def _sync_folder(folder: Path) -> None:
    """Make the move itself last through a power failure, where the system can."""
    if os.name != "posix":
        return
    with suppress(OSError):  # a folder may not be readable, and some network file systems sync none; the file is safe
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def lock(handle: int) -> None:
    """Lock an open file for this process until the file is closed.

    Raises
    ------
    BlockingIOError
        If another process, or another opening of the file in this one, has it.
    OSError
        If the file system knows no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        place = os.lseek(handle, 0, os.SEEK_CUR)
        os.lseek(handle, 2**62, os.SEEK_SET)  # a locked byte cannot be read there, so one that no file has
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            raise BlockingIOError(error.errno, error.strerror) from error
        finally:
            os.lseek(handle, place, os.SEEK_SET)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
