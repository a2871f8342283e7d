"""Read tables for a fitted model: the columns that it uses, and for labelled rows the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.files import check_columns, check_not_dropped, name_of_data, reads_in_chunks
from committee.cli.options import LabelledOptions, TableOptions
from committee.cli.row_columns import RowColumns, fitted_exposure, take_exposure, take_row_columns
from committee.cli.terminal import note, print_notes
from committee.data.dates import restore_times
from committee.data.labels import all_integers
from committee.data.readers.features import LearnedColumns, table_schema
from committee.data.readers.tables import drop_unlabelled, split_target
from committee.data.text import pluralize, quoted

if TYPE_CHECKING:
    import polars as pl


def read_features(learner: Any, data: Path, table: TableOptions) -> Any:
    frame = read_for_model(learner, data, table)
    if (exposure := fitted_exposure(learner, None)) is not None:
        note(f"explained for an exposure of 1; multiply the prediction by {exposure!r}")
        frame = frame.drop(exposure, strict=False)
    X = select_features(learner, frame, str(data))
    note_unknown_categories(learner, X)
    return X


def read_for_model(
    learner: Any,
    data: Path,
    table: TableOptions,
    *,
    ids: Sequence[str] = (),
    answers: Sequence[str] = (),
    rows_needed: bool = True,
) -> pl.DataFrame:
    """Read a table by the column formats of a model, with the columns `ids` and `answers`."""
    from committee.cli.training_table import PrintingReader

    check_not_dropped(learner, table.dropped)
    reader = PrintingReader.of_model(learner, **table.reader_settings)
    others = [name for name in ids if name not in LearnedColumns.of_model(learner).used]
    frame = reader.rows(data, ids=others, answers=answers, drop=table.dropped, rows_needed=rows_needed)
    return _with_model_names(learner, frame)


def _with_model_names(learner: Any, frame: pl.DataFrame) -> pl.DataFrame:
    # LightGBM stores column names with underscores in place of spaces; older models have names with blanks around them
    missing = set(LearnedColumns.of_model(learner).used).difference(frame.columns)
    blanks = {name.strip(): name for name in missing if name.strip() != name and name.strip() in frame.columns}
    frame = frame.rename(blanks)
    missing = missing.difference(blanks.values())
    written: dict[str, list[str]] = {}
    for name in frame.columns:
        written.setdefault(name.replace(" ", "_"), []).append(name)
    same = {written[name][0]: name for name in missing if len(written.get(name, ())) == 1}
    if same:
        note(f"matched with columns of the model that have underscores for spaces: {quoted(same)}")
    return frame.rename(same)


def select_features(learner: Any, frame: pl.DataFrame, data: str, ids: Sequence[str] = ()) -> Any:
    columns = LearnedColumns.of_model(learner)
    names = columns.names
    if names is not None:
        check_columns(learner, data, names, [name for name in frame.columns if name not in ids or name in names])
        return restore_times(frame.select(names), columns.typed)
    # fitted on an array: columns are matched by position; converted models may have text categories even so
    X, table = frame.drop(ids, strict=False), table_schema(learner)
    has_text = table is not None and any(levels and isinstance(levels[0], str) for levels in table.categories)
    return X if has_text else X.to_numpy()


@dataclass
class UnknownCategories:
    learner: Any
    counts: dict[str, Counter[str]] = field(default_factory=dict)

    def add(self, X: Any) -> None:
        import polars as pl

        table = table_schema(self.learner)
        if not isinstance(X, pl.DataFrame) or table is None or table.names is None:
            return
        for name, categories in zip(table.names, table.categories, strict=True):
            if not categories or not isinstance(categories[0], str) or name not in X.columns:
                continue
            cells = X[name].cast(pl.String).drop_nulls()
            counts = cells.filter(~cells.is_in(list(categories))).value_counts()
            if counts.height:
                self.counts.setdefault(name, Counter()).update(dict(counts.iter_rows()))

    def notes(self) -> list[str]:
        table, notes = table_schema(self.learner), []
        for name, counts in self.counts.items():
            read_as = "the mean of all rows" if table.coded(table.names.index(name)) is None else "missing"
            n = sum(counts.values())
            cells = "1 cell holds an unknown category" if n == 1 else f"{n:,} cells hold unknown categories"
            shown = ", ".join(f"{value!r} ({count:,})" for value, count in counts.most_common(3))
            more = f" and {len(counts) - 3:,} more" if len(counts) > 3 else ""
            notes.append(f"column {name!r}: {cells}, read as {read_as}: {shown}{more}")
        return notes


def note_unknown_categories(learner: Any, X: Any) -> None:
    unknown = UnknownCategories(learner)
    unknown.add(X)
    print_notes(unknown.notes())


@dataclass(frozen=True)
class LabelledRows:
    X: Any
    y: NDArray[Any]
    target: str
    offset: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None

    @property
    def per_unit(self) -> NDArray[Any]:
        return self.y if self.offset is None else self.y / np.exp(self.offset)


def read_labelled_rows(
    learner: Any,
    data: Path | Sequence[Path],
    target: str | None,
    table: LabelledOptions,
    exposure: str | None = None,
    weight: str | None = None,
) -> LabelledRows:
    used = set(LearnedColumns.of_model(learner).used)
    if target in used:
        raise ValueError(f"target {target!r} is a column that the model uses; name the column that it predicts")
    if weight in used:
        raise ValueError(f"--weight {weight!r} is a column that the model uses; name another column")
    made = getattr(learner, "provenance_", None)
    trained_on: str | None = None if made is None or made.target in used else made.target

    def target_of(names: list[str]) -> str:
        if target is not None:
            return target
        if trained_on is not None and trained_on in names:
            return trained_on
        return _only_unused(used, names, weight, trained_on if trained_on in table.dropped else None)

    paths = [data] if isinstance(data, Path) else list(data)
    if reads_in_chunks(paths):
        from committee.cli.chunks import read_all_chunks

        further = {"--exposure": exposure, "--weight": weight}
        frame, target = read_all_chunks(learner, paths, table, target_of, further)
    else:
        answers = [name for name in (exposure, weight) if name is not None]
        named = trained_on if target is None else target
        if not hasattr(learner, "classes_") and named is not None:
            answers.append(named)
        frame = read_for_model(learner, paths[0], table, answers=answers)
        target = target_of(frame.columns)
    frame, notes = drop_unlabelled(frame, target, strict=table.strict)
    print_notes(notes)
    offset = weights = None
    if exposure is not None:
        frame, exposed = take_exposure(frame, exposure)
        offset = np.log(exposed)
    if weight is not None:
        columns = RowColumns(weight=weight)
        columns.check(target)
        frame, values = take_row_columns(frame, columns)
        weights = values.weights
    others, y = split_target(frame, target)
    X = select_features(learner, others, str(paths[0]) if len(paths) == 1 else name_of_data(paths))
    note_unknown_categories(learner, X)
    if (classes := getattr(learner, "classes_", None)) is not None:
        return LabelledRows(X, match_classes(y, classes, target), target, weights=weights)
    if y.dtype.kind not in "iuf":
        kind = "boolean" if y.dtype.kind == "b" else "text"
        raise ValueError(f"target {target!r} is {kind}, and the model predicts numbers; name a column of numbers")
    return LabelledRows(X, y, target, offset, weights)


def _only_unused(used: set[str], columns: list[str], weight: str | None, dropped: str | None) -> str:
    unused = [name for name in columns if name not in used and name != weight] if used else []
    if len(unused) != 1:
        if dropped is not None:
            raise ValueError(
                f"--drop names the target {dropped!r}; leave it out of --drop, or name another by --target"
            )
        if used and not unused:
            also = "" if weight is None else " besides --weight"
            raise ValueError(f"the table has no target: the model uses all columns{also}; add the labels or numbers")
        among = f": one of {quoted(unused)}" if unused else ""
        raise ValueError(f"--target is missing: name the column of the labels or numbers{among}")
    besides = "" if weight is None else ", besides --weight"
    note(f"target {unused[0]!r}: the only column that the model does not use{besides}")
    return unused[0]


def out_of_bag_advice(learner: Any, *, checked: bool) -> str:
    from committee.learners.blend.committees import CommitteeClassifier
    from committee.learners.trained_ensembles.out_of_bag import has_checkable_draws, has_out_of_bag_rows

    if isinstance(learner, CommitteeClassifier) and not hasattr(learner, "reserved_rows_"):
        return ", or fit with -p reserve=0.1 for --on oob"
    if not has_out_of_bag_rows(learner):
        return ""
    if checked and not has_checkable_draws(learner):
        return ", or fit with -p oob_score=True for --on oob"
    return ", or --on oob to use out-of-bag voters"


def match_classes(y: NDArray[Any], classes: NDArray[Any], target: str) -> NDArray[Any]:
    by_text = {_label_text(label): label for label in classes.tolist()}
    values, place = np.unique(y, return_inverse=True)
    texts = [_label_text(value) for value in values.tolist()]
    texts = [text.strip() if text not in by_text and text.strip() in by_text else text for text in texts]
    unknown = np.array([text not in by_text for text in texts])
    if not unknown.any():
        return np.asarray(np.array([by_text[text] for text in texts])[place])
    others = quoted([text for text in texts if text not in by_text], 5)
    known = f"the classes of the model are {quoted(by_text, 5)}"
    numbers = classes.dtype.kind == "i" and classes.tolist() == list(range(len(classes)))
    naming = "; of a converted model, name the classes by committee convert --classes" if numbers else ""
    if unknown.all():
        raise ValueError(f"target {target!r} holds {others}; {known}; name another target, or another model{naming}")
    if classes.dtype.kind != "U" and values.dtype.kind != classes.dtype.kind:
        raise ValueError(f"target {target!r} holds {others}; {known}; drop these rows")
    n = int(unknown[place].sum())
    rows = f"{pluralize(n, 'row')} of {others}, unknown to the model, which metrics count as wrong"
    note(f"target {target!r}: {rows}{naming}")
    labels = [by_text.get(text, value) for text, value in zip(texts, values.tolist(), strict=True)]
    return np.asarray(np.array([str(label) for label in labels] if classes.dtype.kind == "U" else labels)[place])


def _label_text(label: Any) -> str:
    # files hold the same label as 1 or as 1.0
    return str(int(label)) if isinstance(label, float) and all_integers(np.array([label])) else str(label)
