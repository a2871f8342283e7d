"""Rows of a table with their answers, for commands that judge or explain a model that is trained already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.columns import features_of, learned_columns, read_for
from committee.cli.table_options import TableOptions
from committee.cli.terminal import note, say_notes
from committee.cli.unknown_categories import notes_of_unknown
from committee.data.labels import all_integers
from committee.data.text import pluralize, quoted


@dataclass(frozen=True)
class LabelledRows:
    """Columns that a model learned from, and the answers."""

    X: Any
    y: NDArray[Any]
    target: str


def labelled_rows(learner: Any, data: Path | Sequence[Path], target: str | None, table: TableOptions) -> LabelledRows:
    """Read a table for a model: its columns, and the labels or numbers of the target.

    Categories that the model has not learned are counted in notes.

    Parameters
    ----------
    learner : fitted learner
    data : path, or sequence of path
        A file; several, a folder or a pattern are put together.
    target : str or None
        Column of the answers. None: the one that the model predicts, if its file says so and the table has it; else
        the only one that the model does not know.
    table : TableOptions
        How it is written, and columns to leave out.

    Raises
    ------
    ValueError
        If the target is not given and cannot be told, labels are none of the model's classes, or numbers none.
    """
    from committee.cli.inputs import are_in_pieces, name_of_data
    from committee.cli.tables_together import read_together
    from committee.data.readers.tables import split_target

    if target in _learned(learner):
        raise ValueError(f"target {target!r} is a column that the model learned from; name the one that it predicts")
    paths = [data] if isinstance(data, Path) else list(data)
    if are_in_pieces(paths):
        frame, target = read_together(learner, paths, table, lambda names: target or _target_of(learner, names))
    else:
        answers = [] if hasattr(learner, "classes_") else [target or _predicted(learner) or ""]
        frame = read_for(learner, paths[0], table, answers=answers)
        target = target or _target_of(learner, frame.columns)
    others, y = split_target(frame, target)
    X = features_of(learner, others, str(paths[0]) if len(paths) == 1 else name_of_data(paths))
    say_notes(notes_of_unknown(learner, X))
    classes = getattr(learner, "classes_", None)
    if classes is not None:
        return LabelledRows(X, like_classes(y, classes, target), target)
    if y.dtype.kind not in "iuf":
        raise ValueError(f"target {target!r} is text, and the model predicts numbers; give the column of these")
    return LabelledRows(X, y, target)


def _target_of(learner: Any, columns: list[str]) -> str:
    """The column of the answers, where the user names none."""
    predicted = _predicted(learner)
    return predicted if predicted in columns else _only_unknown(learner, columns)


def _predicted(learner: Any) -> str | None:
    """The column that the model predicts, if its file says so."""
    made = getattr(learner, "provenance_", None)
    return None if made is None else made.target


def _only_unknown(learner: Any, columns: list[str]) -> str:
    learned = _learned(learner)
    unknown = [name for name in columns if name not in learned] if learned else []
    if len(unknown) != 1:
        among = f": one of {quoted(unknown)}" if unknown else ""
        raise ValueError(f"--target is missing: name the column that holds the answers{among}")
    note(f"target {unknown[0]!r}: the only column that the model does not know")
    return unknown[0]


def _learned(learner: Any) -> set[str]:
    """Names of the columns that the model learned from; none if it was an array."""
    names = learned_columns(learner)[0]
    return set() if names is None else {str(name) for name in names}


def like_classes(y: NDArray[Any], classes: NDArray[Any], target: str) -> NDArray[Any]:
    """Labels as the model spells them: a file may hold as numbers what was learned as text.

    Raises
    ------
    ValueError
        If none is a class of the model, or one that is none is of another kind than the classes.
    """
    spelled = {_text(label): label for label in classes.tolist()}
    values, place = np.unique(y, return_inverse=True)
    texts = [_text(value) for value in values.tolist()]
    unknown = np.array([text not in spelled for text in texts])
    if unknown.all():
        raise ValueError(
            f"target {target!r} holds {quoted(texts, 5)}, none of which is a class of the model: {quoted(spelled, 5)}"
        )
    if not unknown.any():
        return np.asarray(np.array([spelled[text] for text in texts])[place])
    others = [text for text in texts if text not in spelled]
    if classes.dtype.kind != "U" and values.dtype.kind != classes.dtype.kind:
        raise ValueError(
            f"target {target!r} holds {quoted(others, 5)}, and the classes of the model are numbers;"
            " leave these rows out"
        )
    n = int(unknown[place].sum())
    unknown_ones = f"{pluralize(n, 'row')} of {quoted(others, 5)}, which the model does not know"
    note(f"target {target!r}: {unknown_ones}, {'counts' if n == 1 else 'count'} as wrong")
    known = [spelled.get(text, value) for text, value in zip(texts, values.tolist(), strict=True)]
    return np.asarray(np.array([str(label) for label in known] if classes.dtype.kind == "U" else known)[place])


def _text(label: Any) -> str:
    """A label in words; 1.0 is 1, as files hold it now as the one and now as the other."""
    return str(int(label)) if isinstance(label, float) and all_integers(np.array([label])) else str(label)
