"""Warnings that name the line of the user's code."""

from __future__ import annotations

import sys
import warnings

_OWN = ("committee", "sklearn", "contextlib", "joblib")  # packages whose frames are skipped


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost frame outside the library and the packages through which it is called."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _OWN:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
