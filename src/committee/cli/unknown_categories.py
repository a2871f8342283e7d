"""Categories in new rows that a model has not learned, which it takes for missing: counted, and said once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass
class UnknownCategories:
    """Counts of unknown categories, part by part of a table.

    Parameters
    ----------
    learner : fitted learner
        Whose categories are known.
    """

    learner: Any
    found: dict[str, Counter[str]] = field(default_factory=dict)

    def count(self, X: pl.DataFrame) -> None:
        """Count those of some rows."""
        import polars as pl

        table = self.learner.table_
        if table is None or table.names is None:
            return
        for name, categories in zip(table.names, table.categories, strict=True):
            if not categories or not isinstance(categories[0], str) or name not in X.columns:
                continue
            cells = X[name].cast(pl.String).drop_nulls()
            counts = cells.filter(~cells.is_in(list(categories))).value_counts()
            if counts.height:
                self.found.setdefault(name, Counter()).update(dict(counts.iter_rows()))

    def notes(self) -> list[str]:
        """What to say of them, a line for each column."""
        return [
            f"column {name!r}: {_cells(sum(counts.values()))} that the model has not learned and takes for missing:"
            f" {_shown(counts)}"
            for name, counts in self.found.items()
        ]


def notes_of_unknown(learner: Any, X: Any) -> list[str]:
    """What to say of those in a whole table; nothing of an array."""
    import polars as pl

    if not isinstance(X, pl.DataFrame):
        return []
    unknown = UnknownCategories(learner)
    unknown.count(X)
    return unknown.notes()


def _cells(n: int) -> str:
    return "1 cell holds a category" if n == 1 else f"{n:,} cells hold categories"


def _shown(counts: Counter[str]) -> str:
    shown = [f"{value!r} ({count:,})" for value, count in counts.most_common(3)]
    return ", ".join(shown) + (f" and {len(counts) - 3:,} more" if len(counts) > 3 else "")
