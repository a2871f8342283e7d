"""A figure of a model on some rows, with what it is to be compared with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    """A figure of a model on some rows.

    Attributes
    ----------
    name : str
        In files, such as "log_loss".
    heading : str
        In tables.
    value : float
    remark : str, default=""
        What stands beside it: what it is to be compared with.
    """

    name: str
    heading: str
    value: float
    remark: str = ""
