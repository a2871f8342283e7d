"""What a model answers to rows, as a table: columns that name the rows, predictions, probabilities."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from committee.cli.unknown_categories import UnknownCategories

if TYPE_CHECKING:
    import polars as pl


@dataclass
class Answers:
    """Predictions of one model.

    Parameters
    ----------
    learner : fitted learner
    proba : bool
        Whether to add the probability of every class.
    safe_cells : bool
        Whether to put an apostrophe before text that a spreadsheet would run as a formula.
    ids : tuple of str
        Columns that name the rows.
    alpha : float, default=None
        Share of rows that sets or intervals may miss, of models that have them; None: what the model was trained for.
    """

    learner: Any
    proba: bool = False
    safe_cells: bool = False
    ids: tuple[str, ...] = ()
    alpha: float | None = None
    unknown: UnknownCategories = field(init=False)

    def __post_init__(self) -> None:
        self.unknown = UnknownCategories(self.learner)

    def of(self, X: Any, ids: pl.DataFrame) -> pl.DataFrame:
        """Answer rows; `ids` are their names.

        Raises
        ------
        ValueError
            If a column of `ids` is called like one of the predictions.
        """
        import polars as pl

        if not len(X):
            return self.of_no_rows(ids.schema)
        if isinstance(X, pl.DataFrame):
            self.unknown.count(X)
        found = self._predictions(X)
        taken = [name for name in ids.columns if name in found.columns]
        if taken:
            raise ValueError(
                f"--id names {taken[0]!r}, as a column of the predictions is called; rename it in the file"
            )
        result = ids.hstack(found) if ids.width else found
        return _without_formulas(result) if self.safe_cells else result

    def of_no_rows(self, ids: Any = None) -> pl.DataFrame:
        """The table of answers without a row: its columns are those of a row of which nothing is known."""
        import numpy as np
        import polars as pl

        table = self.learner.table_
        row = np.full((1, self.learner.n_features_in_), np.nan)
        if table is None or table.names is None:
            found = self._predictions(row)
        else:
            categories = zip(table.names, table.categories, strict=True)
            kinds = {name: pl.String if each and isinstance(each[0], str) else pl.Float64 for name, each in categories}
            found = self._predictions(pl.DataFrame({name: [None] for name in kinds}, schema=kinds))
        empty = pl.DataFrame(schema=ids or dict.fromkeys(self.ids, pl.String))
        return empty.hstack(found.head(0)) if empty.width else found.head(0)

    def _predictions(self, X: Any) -> pl.DataFrame:
        """Predictions by column, and probabilities where they are asked for."""
        import polars as pl

        result = pl.DataFrame(_named(self.learner, self.learner.predict(X)))
        if self.proba:
            chances = self.learner.predict_proba(X)
            names = [f"probability:{label}" for label in self.learner.classes_]
            result = result.with_columns(pl.Series(n, chances[:, k]) for k, n in enumerate(names))
        if hasattr(self.learner, "predict_interval"):
            ends = self.learner.predict_interval(X, self.alpha)
            return result.with_columns(pl.Series(n, ends[:, k]) for k, n in enumerate(("lower", "upper")))
        if hasattr(self.learner, "predict_set"):
            inside = self.learner.predict_set(X, self.alpha)
            names = [f"in set:{label}" for label in self.learner.classes_]
            return result.with_columns(pl.Series(n, inside[:, k]) for k, n in enumerate(names))
        return result


def _without_formulas(frame: pl.DataFrame) -> pl.DataFrame:
    """Put an apostrophe before text that begins as formulas of spreadsheets do, and is no number."""
    import polars as pl

    text = pl.col(pl.String)
    formulas = text.str.contains(r"^[=+\-@\t\r]") & text.cast(pl.Float64, strict=False).is_null()
    return frame.with_columns(pl.when(formulas).then("'" + text).otherwise(text).name.keep())


def _named(learner: Any, predicted: Any) -> dict[str, Any]:
    """Predictions by column: one, or one for each quantile."""
    if predicted.ndim == 1:
        return {"prediction": predicted}
    from committee.report.number_figures import quantile_levels
    from committee.report.prediction_sets import model_inside

    levels = quantile_levels(model_inside(learner), predicted.shape[1])
    return {f"prediction:{q:g}": predicted[:, k] for k, q in enumerate(levels)}
