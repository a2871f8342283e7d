"""What is done with models of classes alone, and what there is for models of numbers instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_INSTEAD = {
    "certified": "bounds are on how often a class is wrong; committee evaluate says how large errors are on new rows",
    "asked for margins": "margins are of votes for classes; committee evaluate says how large errors are, and with"
    " --report on which rows",
}


def refuse_numbers(learner: Any, model: Path, what: str) -> None:
    """Refuse a model of numbers where classes are needed.

    Parameters
    ----------
    learner : fitted learner
    model : path
        Its file.
    what : str
        What cannot be done: a key of the words above.

    Raises
    ------
    ValueError
        If the learner predicts numbers, saying what is possible.
    """
    if not hasattr(learner, "classes_"):
        raise ValueError(f"{model} cannot be {what}: it predicts numbers, and {_INSTEAD[what]}")
