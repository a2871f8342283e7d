"""Columns of new tables as a fitted model or reader takes them: names, kinds, formats and marks for missing cells."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from committee.data.dates import kind_of_format
from committee.data.readers.cells import strip_cells, strip_to_levels
from committee.data.readers.file_format import FileFormat, KnownColumns

if TYPE_CHECKING:
    import polars as pl


def table_schema(model: Any) -> Any:
    return None if model.table_ is None else model.table_.source


@dataclass(frozen=True)
class LearnedColumns:
    """Feature columns by name, with the formats in which their numbers and dates were written in training."""

    names: tuple[str, ...] | None = None
    """Names of the features; None for a model fitted on an array, whose columns match by position."""
    text: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    """Columns of numbers without a format of their own."""
    forms: Mapping[str, str] = field(default_factory=dict)
    typed: Mapping[str, str] = field(default_factory=dict)
    """Formats of the columns that become typed dates, times or durations."""
    missing: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] | None = None
    """Categories of columns of text, for `strip_to_levels`; None: blanks around all cells are stripped."""
    target: str | None = None
    target_kind: Literal["text", "booleans", "numbers"] | None = None
    target_form: str | None = None
    """Format of the target's numbers, None if these are plain or the target is text."""
    declared: tuple[str, ...] = ()
    """Columns of a categorical type, without which a learner refuses text that could be numbers or dates."""

    @classmethod
    def of_model(cls, model: Any) -> Self:
        table, made = table_schema(model), getattr(model, "provenance_", None)
        target: dict[str, Any] = {}
        if made is not None:
            kind: str | None = None if hasattr(model, "classes_") else "numbers"
            if kind is None and np.asarray(model.classes_).dtype.kind == "U":
                kind = "text"
            target = {"target": made.target or None, "target_kind": kind, "target_form": made.written}
        if table is None:  # voters that read the table themselves
            names = getattr(model, "feature_names_in_", None)
            return cls(None if names is None else tuple(map(str, names)), levels={}, **target)
        dates = {name: form for name, form in table.forms.items() if kind_of_format(form) == "date"}
        known: dict[str, Any] = {"forms": table.forms, "typed": dates | model.table_.typed_forms, **target}
        known["missing"] = model.table_.missing
        if table.names is None:
            return cls(levels={}, **known)
        columns = list(zip(table.names, table.categories, strict=True))
        levels = {name: tuple(map(str, found)) for name, found in columns if found and isinstance(found[0], str)}
        text = frozenset([*levels, *model.table_.texts])
        numbers = frozenset(name for name, found in columns if found is None and name not in table.forms)
        return cls(table.names, text, numbers, levels=levels, **known)

    @classmethod
    def of_frame(cls, X: pl.DataFrame, forms: Mapping[str, str], **known: Any) -> Self:
        import polars as pl

        kinds = X.schema
        text = frozenset(name for name, kind in kinds.items() if kind in (pl.String, pl.Categorical, pl.Enum))
        numbers = frozenset(name for name, kind in kinds.items() if kind.is_numeric() and name not in forms)
        typed = {name: form for name, form in forms.items() if kinds[name].is_temporal()}
        declared = tuple(name for name, kind in kinds.items() if kind == pl.Categorical)
        return cls(tuple(X.columns), text, numbers, dict(forms), typed, declared=declared, **known)

    @property
    def used(self) -> tuple[str, ...]:
        return () if self.names is None else self.names

    def known(self, ids: Sequence[str] = (), answers: Sequence[str] = (), texts: Sequence[str] = ()) -> KnownColumns:
        """Return the kinds of columns: `ids` but features stay unchanged, `answers` become numbers, `texts` text."""
        of_answers: dict[str, str] = {}
        if self.target is not None and self.target in answers and self.target_form is not None:
            of_answers[self.target] = self.target_form
        return KnownColumns(
            self.text.union(texts),
            self.numbers,
            {**self.forms, **of_answers},
            frozenset(ids).difference(self.used),
            frozenset(answers).difference(of_answers),
        )

    def file_format(self, form: FileFormat) -> FileFormat:
        """Add the training's marks for missing cells, and detect the header if columns are ``column_1``, ..."""
        numbered = bool(self.used) and all(re.fullmatch(r"column_\d+", name) for name in self.used)
        header = None if numbered and form.header else form.header
        return replace(form, missing=tuple(dict.fromkeys([*form.missing, *self.missing])), header=header)

    def declare(self, frame: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        texts = [name for name in self.declared if frame.schema[name] == pl.String]
        return frame.with_columns(pl.col(texts).cast(pl.Categorical))

    def strip(self, frame: pl.DataFrame) -> pl.DataFrame:
        return strip_cells(frame)[0] if self.levels is None else strip_to_levels(frame, self.levels)
