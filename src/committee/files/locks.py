"""Locks on open files, by which processes of this library see each other; they end with the process."""

import os
import sys


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
