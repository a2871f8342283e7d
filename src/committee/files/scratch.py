"""Scratch folders: removed when they are left, or else, if their process was killed, when the next one is made."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from committee.files.replacement import lock

PREFIX = "committee-scratch-"
LOCK = "locked-while-in-use"
"""A scratch folder holds a file of this name, which its process has locked."""


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Make a folder for temporary files that only this user can read; it is removed when the context ends.

    It lies in the folder `parent`, or in the system's for temporary files.

    Examples
    --------
    >>> from committee.files.scratch import scratch_folder
    >>> with scratch_folder() as folder:
    ...     bytes_written = (folder / "table").write_bytes(b"rows")
    >>> folder.exists()
    False
    """
    remove_left_folders(parent)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
    except OSError as error:
        where = str(parent or tempfile.gettempdir())
        raise OSError(
            error.errno,
            f"no scratch folder can be made here ({error.strerror}); choose another by scan(..., scratch=...)",
            where,
        ) from error
    try:
        with (folder / "new").open("wb") as file:
            with suppress(OSError):  # a file system without locks, where nobody removes the folder either
                lock(file.fileno())
                (folder / "new").rename(folder / LOCK)  # locked before it has the name that others look for
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_left_folders(parent: Path | None = None) -> None:
    """Remove the scratch folders of this user whose processes were killed."""
    for folder in (parent or Path(tempfile.gettempdir())).glob(f"{PREFIX}*"):
        with suppress(OSError):
            found = folder.lstat()
            if not stat.S_ISDIR(found.st_mode) or (os.name == "posix" and found.st_uid != os.geteuid()):
                continue  # a link, or somebody else's
            handle = os.open(folder / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                lock(handle)  # not while its process is alive
                if os.name == "posix":
                    shutil.rmtree(folder)
            finally:
                os.close(handle)
            if os.name != "posix":  # where an open file cannot be removed
                shutil.rmtree(folder)
