"""Finished fits of a comparison in a file, from which the same comparison goes on."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from committee.report.crossvalidation import Cells, FoldResult, Table
from committee.report.metric_choice import metrics_of
from committee.report.models import ComparedModel
from committee.report.targets import Numbers

if TYPE_CHECKING:
    from committee.files.journal import Journal

FITS = "committee.comparison/2"
"""Name and version of the fits in the file."""


@contextmanager
def finished_fits(
    checkpoint: str | os.PathLike[str] | None,
    table: Table,
    models: list[ComparedModel],
    settings: dict[str, int],
    versions: dict[str, str],
) -> Iterator[tuple[Cells, Callable[[int, int, FoldResult], None] | None]]:
    """Fits that a checkpoint holds, by the numbers of model and fold, and how one more is written."""
    if checkpoint is None:
        yield {}, None
        return
    from committee.files.journal import Journal, pickle_digest

    def described(model: ComparedModel) -> str:
        if model.estimator is None:
            return json.dumps(dict(model.parameters), default=repr, sort_keys=True) if model.parameters else ""
        return f"{model.estimator!r} {pickle_digest(model.name, model.estimator)}"  # the first leaves out what is long

    schema, matrix = table.encoded()
    rows = blake2b(json.dumps(schema.to_json(), default=repr).encode(), digest_size=16)
    labels = table.labels
    answers = labels.values if isinstance(labels, Numbers) else labels.codes
    for array in (np.ascontiguousarray(matrix), answers):
        rows.update(array.data)
    run = {
        "comparison": FITS,
        **settings,
        "models": {model.name: described(model) for model in models},
        "classes": [str(label) for label in table.labels.classes.tolist()],
        "rows": rows.hexdigest(),
        "versions": versions,
    }
    with Journal(Path(checkpoint), run) as journal:
        names = [model.name for model in models]
        figures = metrics_of(isinstance(labels, Numbers)).keys()
        known = _known_fits(journal, names, figures, settings["folds"] * settings["repeats"])

        def finish(m: int, f: int, result: FoldResult) -> None:
            if result.error is None:
                journal.append({"model": models[m].name, "fold": f, "result": result.to_json()})

        yield known, finish


def _known_fits(
    journal: Journal, names: list[str], figures: Set[str], n_folds: int
) -> dict[tuple[int, int], FoldResult]:
    """Take the fits of a journal, by the numbers of model and fold; ``ValueError`` for what are none."""
    known = {}
    for cell in journal.cells:
        try:
            result = FoldResult.from_json(cell["result"])
            if result.figures.keys() != figures:
                raise ValueError("figures are missing")
            known[names.index(cell["model"]), range(n_folds).index(cell["fold"])] = result
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise ValueError(
                f"{journal.path} holds a line that no comparison has written ({error}); remove that file to begin anew"
            ) from error
    return known
