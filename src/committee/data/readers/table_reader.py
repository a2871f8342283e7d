"""Reader of tables: files and frames as features and target, as the command line reads them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from committee.data.dates import restore_times
from committee.data.packages import require_package
from committee.data.readers.cell_forms import PLAIN, convert_columns
from committee.data.readers.cells import (
    NUMBER_FORMATS,
    blanks_note,
    missing_marks_note,
    reject_infinity,
    strip_cells,
)
from committee.data.readers.features import LearnedColumns, learned_features
from committee.data.readers.file_format import FileFormat, KnownColumns
from committee.data.readers.tables import (
    FilePath,
    ReadTable,
    case_notes,
    drop_unlabelled,
    polars_frame,
    read_table_with_notes,
    reject_infinite_cells,
    split_target,
)
from committee.data.text import check_names, pluralize, quoted, reworded_errors

if TYPE_CHECKING:
    import polars as pl

_OPTIONS = {"sep": "separator", "skip-lines": "skip_lines", "no-header": "header=False", "strict": "strict=True"}
_COLUMN = re.compile(r"--(keep|drop|categorical) ('[^']*'|\S+?)(?= learns| takes| makes|,| when)")
_CHOICE = re.compile(r"--(dates|missing|encoding) (day-first|month-first|iso|inf|cp1252)\b")


class TableReader(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):  # type: ignore[misc, call-arg]
    """Read tables for models: numbers, dates, categories and text of files and of data frames.

    The formats of each column are found in the training table from all its cells, and later tables are read by them. A
    column of text becomes numbers or dates if all present cells are, and stays text otherwise; integers with leading
    zeros, such as postcodes, are text. Columns that only identify the rows are left out. ``committee fit`` reads
    whole tables by this class.

    Parameters
    ----------
    target : str, default=None
        Column that `read` and `fit_read` return apart, as text, numbers or booleans. None: all columns are features.
    categorical : sequence of str, default=()
        Columns that are categories although they hold numbers or dates.
    numeric : sequence of str, default=()
        Columns that hold numbers, such as a target that has percentages, or the exposure of a count; these are no
        identifiers.
    drop : sequence of str, default=()
        Columns to leave out.
    keep : sequence of str or "all", default=()
        Columns to learn from although they look like identifiers of rows. "all": no column is left out, and no text is
        too long.
    separator : str, default=None
        Character between the cells of a text file; None: of comma, semicolon, tab and pipe the one that splits the
        first lines into the same number of cells, the most if several do, else runs of blanks if these do.
    decimal : {".", ","}, default=None
        Decimal mark of text; None: detected by the cells of a column, or else by other columns.
    encoding : str, default=None
        Encoding of a text file, as Python names it; None: UTF-8, or UTF-16 if the file has its byte order mark.
    sheet : str, default=None
        Sheet of a spreadsheet, by name, or by number from 1; None: the first.
    missing : sequence of str, default=()
        Further cells that are missing; a number such as ``"-999"`` is missing in columns of numbers, and ``"inf"`` is
        infinity of either sign.
    dates : {"day-first", "month-first", "iso"}, default=None
        Order of day and month in dates such as 01/02/2024. None: that of other cells of the column, else the day first,
        with a note. "iso": only dates that begin with the year are dates.
    skip_lines : int, default=None
        Lines of a text file before the column names; None: detected.
    comment : str, default=None
        Start of lines of a text file that are left out, such as ``"#"``.
    header : bool, default=True
        Whether a text file has column names; False: they are ``column_1``, ``column_2``, ...
    strict : bool, default=False
        Refuse rows without a target. By default `fit`, `read` and `fit_read` leave these out.
    free_text : bool, default=True
        Keep columns of sentences, which a committee encodes by their words. False: they are left out like identifiers
        if nearly all differ, and are refused above 1,000 characters, as a category.

    Attributes
    ----------
    feature_names_in_ : array (n_features_in_,)
        Columns of the training table without target and dropped columns.
    n_features_in_ : int
        Number of these columns.
    forms_ : dict of str to str
        Formats of columns that are not written as plain numbers, such as ``"0,5"`` (decimal comma), ``"1,000 $"`` and
        ``"%d.%m.%Y"``.
    left_out_ : tuple of str
        Columns that are no features, as they identify the rows.
    target_form_ : str or None
        Format of the target's numbers; None if these are plain, or the target is text.
    notes_ : tuple of str
        Notes on what was not read literally, a sentence each.

    Examples
    --------
    >>> import polars as pl
    >>> from committee import TableReader
    >>> text = {"since": ["13.01.2024", "04.02.2024"], "price": ["1.250,5", "?"], "zip": ["01067", "80331"]}
    >>> reader = TableReader().fit(pl.DataFrame(text))
    >>> reader.forms_
    {'price': '0,5', 'since': '%d.%m.%Y'}
    >>> reader.transform(pl.DataFrame(text)).dtypes
    [Datetime(time_unit='us', time_zone=None), Float64, String]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "target": [str, None],
        "header": ["boolean"],
        "strict": ["boolean"],
        "free_text": ["boolean"],
    }

    def __init__(
        self,
        target: str | None = None,
        *,
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        drop: Sequence[str] = (),
        keep: Sequence[str] | Literal["all"] = (),
        separator: str | None = None,
        decimal: str | None = None,
        encoding: str | None = None,
        sheet: str | None = None,
        missing: Sequence[str] = (),
        dates: str | None = None,
        skip_lines: int | None = None,
        comment: str | None = None,
        header: bool = True,
        strict: bool = False,
        free_text: bool = True,
    ) -> None:
        self.target = target
        self.categorical = categorical
        self.numeric = numeric
        self.drop = drop
        self.keep = keep
        self.separator = separator
        self.decimal = decimal
        self.encoding = encoding
        self.sheet = sheet
        self.missing = missing
        self.dates = dates
        self.skip_lines = skip_lines
        self.comment = comment
        self.header = header
        self.strict = strict
        self.free_text = free_text

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the columns and formats of a training table.

        Parameters
        ----------
        X : path or frame (n, p)
            File (text, spreadsheet, JSON lines, Parquet or Feather, also packed), or a frame of pandas, polars or
            Arrow.
        y : None
            Ignored; `target` names the column of the target.

        Returns
        -------
        self

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        TypeError
            If `X` is neither a path nor a frame whose columns have names.
        ValueError
            If the file is damaged or has no rows, a parameter names an unknown column, a column holds infinity, or the
            target is missing in all rows.
        """
        self._learn(X)
        return self

    def fit_read(self, X: Any) -> tuple[pl.DataFrame, NDArray[Any]]:
        """Learn from a labelled table, and return its features ``(n, q)`` and its target ``(n,)``.

        `X` and errors are those of `fit`; without a `target` it raises ValueError.
        """
        self._named_target()
        return self._learn(X)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> pl.DataFrame:
        """Learn from a table, and return the features of all its rows; see `fit` and `transform`."""
        features, _ = self._learn(X)
        return features if self.target is None else self.transform(X)

    def transform(self, X: Any) -> pl.DataFrame:
        """Return the features of a table ``(n, q)``, read by the learned formats.

        Parameters
        ----------
        X : path or frame (n, any)
            Table with the learned features in any order; other columns, such as the target, are ignored. Of a model
            that was fitted on an array, the features are x0, x1, ..., or else all columns except the target, in the
            order of the array.

        Returns
        -------
        polars.DataFrame (n, q)
            Columns named by `get_feature_names_out`: numbers, booleans, text, and dates in UTC. Columns of
            `categorical`, and other text that could be numbers or dates, have polars' type ``Categorical``, unless the
            reader is one of `of_model`.

        Raises
        ------
        FileNotFoundError, TypeError
            As `fit`.
        ValueError
            If a feature is missing, a table without x0, x1, ... has more or fewer columns than the array, or a cell is
            infinite or does not fit the learned formats.
        """
        check_is_fitted(self)
        with reworded_errors(self._worded):
            return self._features(self.rows(X, rows_needed=False))

    def read(self, X: Any) -> tuple[pl.DataFrame, NDArray[Any]]:
        """Return the features ``(n, q)`` and the target ``(n,)`` of a labelled table.

        Leave out rows without a target; `strict` refuses them. Errors are those of `transform`, or of a missing target.
        """
        target = self._named_target()
        check_is_fitted(self)
        with reworded_errors(self._worded):
            answers, texts = ([target], []) if self._columns.target_kind == "numbers" else ([], [target])
            frame = self.rows(X, answers=answers, texts=texts if self._columns.target_kind == "text" else [])
            frame, _ = drop_unlabelled(frame, target, strict=self.strict)
            others, y = split_target(frame, target)
            return self._features(others), y

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features ``(q,)``; x0, x1, ... of a model that was fitted on an array."""
        check_is_fitted(self)
        return np.array(self.feature_names_in_ if self._columns.names is None else self._columns.names, dtype=object)

    def store(self, model: Any) -> None:
        """Store the learned formats in a model that was fitted to features of this reader; `save` writes them, too.

        `of_model` makes a reader of the model, also after `committee.load`, and the command line reads tables for the
        model by these formats.

        Parameters
        ----------
        model : learner
            Fitted learner of the library.

        Raises
        ------
        ValueError
            If the model was fitted to other columns.
        TypeError
            If `model` is no learner of the library.
        """
        check_is_fitted(self)
        _check_model(model)
        names = None if model.table_ is None else model.table_.source.names
        if names != self._columns.names:
            raise ValueError(
                f"the model encodes {f'the columns {quoted(names)}' if names else 'no columns with names'}, and the"
                f" reader returns {quoted(self._columns.used)}; fit the model to what the reader returns"
            )
        if self._columns.forms or self._columns.missing:
            model.table_ = model.table_.with_forms(self._columns.forms, self._columns.missing)

    @classmethod
    def of_model(cls, model: Any, **parameters: Any) -> Self:
        """Return a fitted reader of tables for a fitted or loaded model.

        Parameters
        ----------
        model : learner
            Fitted learner whose formats `store` or ``committee fit`` has stored.
        **parameters
            Parameters of the reader, such as the `separator` of new files. `target` is by default that of the model's
            ``provenance_``; marks for missing cells are added to those of the training.

        Returns
        -------
        TableReader

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        TypeError
            If `model` is no learner of the library.
        """
        _check_model(model)
        columns = LearnedColumns.of_model(model)
        reader = cls(**{"target": columns.target, **parameters})
        names = columns.names
        if names is None:
            names = tuple(f"x{j}" for j in range(getattr(model, "n_features_in_", 0)))
        reader._keep(columns, (), (), names)
        return reader

    # -- reading ------------------------------------------------------------------------------------------------

    def _learn(self, X: Any) -> tuple[pl.DataFrame, Any]:
        self._validate_params()
        numeric, notes = tuple(self.numeric), list[str]()

        def tell(found: Sequence[str]) -> None:
            notes.extend(map(self._worded, found))
            self._tell(found)

        with reworded_errors(self._worded):
            read = self._read(X, self._form, KnownColumns(answers=frozenset(numeric)), self.categorical, self.drop)
            frame, blanks = strip_cells(read.frame)
            of_rows: tuple[str, ...] = ()
            if self.target is not None:
                frame, of_rows = drop_unlabelled(frame, self.target, strict=self.strict)
            tell((*read.notes, *blanks_note(blanks), *of_rows))
            given, y = (frame, None) if self.target is None else split_target(frame, self.target)
            if y is not None:
                tell(case_notes(str(self.target), y))
            check_names([name for name in numeric if name != self.target], given.columns, "numeric")
            found = learned_features(
                given, self.dates, self.keep, numeric, tuple(self.categorical), free_text=self.free_text
            )
            tell(found.notes)
        forms = {name: form for name, form in read.forms.items() if name in found.X.columns} | found.forms
        kind = None if y is None else {"U": "text", "b": "booleans"}.get(y.dtype.kind, "numbers")
        columns = LearnedColumns.of_frame(
            found.X,
            forms,
            missing=self._form.missing,
            target=self.target,
            target_kind=kind,
            target_form=None if self.target is None else read.forms.get(self.target),
        )
        self._keep(columns, notes, found.left_out, given.columns)
        return found.X, y

    def _keep(
        self, columns: LearnedColumns, notes: Sequence[str], left_out: Sequence[str], names: Sequence[str]
    ) -> None:
        self._columns = columns
        self.forms_: dict[str, str] = dict(columns.forms)
        self.target_form_: str | None = columns.target_form
        self.left_out_: tuple[str, ...] = tuple(left_out)
        self.notes_: tuple[str, ...] = tuple(dict.fromkeys(notes))
        self.feature_names_in_: NDArray[Any] = np.array(names, dtype=object)
        self.n_features_in_: int = len(names)

    def rows(
        self,
        X: Any,
        *,
        ids: Sequence[str] = (),
        answers: Sequence[str] = (),
        texts: Sequence[str] = (),
        drop: Sequence[str] = (),
        rows_needed: bool = True,
    ) -> pl.DataFrame:
        """Return all columns of a table, the features by the learned formats.

        `ids` are not converted, also features, `answers` become numbers, `texts` text, and `drop` are left out.
        """
        known, form = self._columns.known(ids, answers, texts), self._columns.file_format(self._form)
        read = self._read(X, form, known, (), drop, rows_needed, {*self._columns.used}.difference(ids).union(answers))
        marks: dict[str, Counter[str]] = {}
        self._tell(read.notes)
        times = {name: own for name, own in known.forms.items() if own not in NUMBER_FORMATS}
        stripped = self._columns.strip(read.frame.drop(ids, strict=False))
        frame = convert_columns(read.frame.with_columns(stripped), times, self.dates, marks)
        self._tell([missing_marks_note(name, counts, learned=True) for name, counts in marks.items()])
        return frame

    def _features(self, frame: pl.DataFrame) -> pl.DataFrame:
        missing = [name for name in self._columns.used if name not in frame.columns]
        if missing:
            columns, them = ("column", "it") if len(missing) == 1 else ("columns", "them")
            raise ValueError(f"the table lacks the {columns} {quoted(missing)} of the fit; add {them}")
        import polars as pl

        frame = self._of_array(frame) if self._columns.names is None else frame.select(self._columns.used)
        frame = restore_times(frame, self._columns.typed)
        texts = [name for name in self._columns.declared if frame.schema[name] == pl.String]
        return frame.with_columns(pl.col(texts).cast(pl.Categorical))

    def _of_array(self, frame: pl.DataFrame) -> pl.DataFrame:
        import polars as pl

        names = self.feature_names_in_.tolist()
        if not set(names) <= set(frame.columns):
            frame = frame if self.target is None else frame.drop(self.target, strict=False)
            if frame.width != len(names):
                raise ValueError(
                    f"the table has {pluralize(frame.width, 'feature')}, and the model was fitted on an array of"
                    f" {len(names)}; give {pluralize(len(names), 'column')} in its order, or columns {quoted(names)}"
                )
            frame = frame.rename(dict(zip(frame.columns, names, strict=True)))
            forms = {**dict.fromkeys(self._columns.numbers, PLAIN), **self._columns.forms}
            frame = convert_columns(frame.with_columns(pl.col(list(self._columns.text)).cast(pl.String)), forms)
        frame = frame.select(names)
        reject_infinity(frame.get_columns(), lambda row: f"row {row:,} of the table")
        return frame

    def _read(
        self,
        X: Any,
        form: FileFormat,
        known: KnownColumns,
        categorical: Sequence[str],
        drop: Sequence[str],
        rows_needed: bool = True,
        finite: set[str] | None = None,
    ) -> ReadTable:
        require_package("polars", "reading a table")
        source = X if isinstance(X, str | os.PathLike) else polars_frame(X)
        how: dict[str, Any] = {"categorical": categorical, "drop": drop, "form": form, "known": known}
        read = read_table_with_notes(source, **how, rows_needed=rows_needed)
        reject_infinite_cells(source, read.frame, form, finite)
        return read

    @property
    def _form(self) -> FileFormat:
        if isinstance(self.missing, str):
            raise TypeError(
                f"missing must be a list of cells, got the string {self.missing!r}; write [{self.missing!r}]"
            )
        settings = {each.name: getattr(self, each.name) for each in fields(FileFormat)}
        return FileFormat.of_words(**(settings | {"missing": tuple(self.missing)}))

    def _named_target(self) -> str:
        if self.target is None:
            raise ValueError("target=None, but a labelled table is read with its target; name that column by target")
        return self.target

    # -- notes and errors ---------------------------------------------------------------------------------------

    @staticmethod
    def _worded(text: str) -> str:
        """Replace options of the command line in a message by parameters."""
        text = _COLUMN.sub(lambda found: f"{found[1]}={[found[2].strip(chr(39))]!r}", text)
        text = _CHOICE.sub(lambda found: f"{found[1]}={[found[2]] if found[1] == 'missing' else found[2]!r}", text)
        return re.sub(
            r"--(sep|skip-lines|no-header|strict|keep|drop|categorical|dates|missing|encoding|decimal|sheet)\b",
            lambda found: _OPTIONS.get(found[1], found[1]),
            text,
        )

    def _tell(self, notes: Sequence[str]) -> None:
        pass  # the command line prints them


def _check_model(model: Any) -> None:
    if not hasattr(model, "table_") and not hasattr(type(model), "stored_attributes"):
        raise TypeError(
            f"model is {type(model).__name__}; give a fitted or loaded learner of this library, or for other models"
            " fit a TableReader to the training table"
        )
    check_is_fitted(model, "table_")


def read_table(path: FilePath, **parameters: Any) -> pl.DataFrame:
    """Read all columns of a file or frame, with the parameters of `TableReader`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "people.csv"
    >>> _ = path.write_text("age,zip,city\\n31,0150,Oslo\\nNA,3011,Bern\\n")
    >>> read_table(path, missing=["Bern"]).rows()
    [(31, '0150', 'Oslo'), (None, '3011', None)]
    """
    return TableReader(**parameters, keep="all").fit_transform(path)
