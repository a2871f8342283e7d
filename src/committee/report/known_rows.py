"""Where a model comes from, to be kept with it; and whether it has learned from the rows that it is judged by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from committee.data.matrices import is_out_of_core
from committee.data.parallel import n_threads
from committee.data.row_digests import U64, RowOverlap, RowSketch, row_digests
from committee.files.documents import Estimate, Provenance

if TYPE_CHECKING:
    from committee.report.evaluation import Evaluation

BY_CHANCE = 1e-4
"""Probability of so many right answers, or known rows, below which rows are thought to be known."""
OFTEN = 0.01
"""Share of training rows that equal another one, from which on it is said."""


def provenance_of(
    model: Any,
    X: Any,
    *,
    target: str = "",
    data: str = "",
    estimate: Estimate | None = None,
    sketch: bool = True,
) -> Provenance:
    """Return what a file of a fitted model should say of its training, to be assigned to ``model.provenance_``.

    Parameters
    ----------
    model : fitted learner
    X : table or array-like (n, p)
        The rows that it was trained on.
    target : str, default=""
        Name of the column that is predicted.
    data : str, default=""
        What the table is called.
    estimate : Estimate or None, default=None
        What the model is worth on rows that it was not trained on.
    sketch : bool, default=True
        Whether to keep digests of at most 4,096 of the rows. `evaluate` then knows these rows again. So does whoever
        has the file: the rows cannot be read off their digests, but who knows or guesses all columns of a row
        can find out whether the model was trained on it.

    Returns
    -------
    Provenance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> X, y = load_iris(return_X_y=True)
    >>> model = TreeVoter().fit(X, y)
    >>> model.provenance_ = provenance_of(model, X, target="species", data="iris")
    >>> known_rows(model, X[100:]).share
    1.0
    """
    rows = row_sketch(model, X) if sketch else None
    return Provenance(target, data, _length(X), estimate=estimate, rows=rows)


def row_sketch(model: Any, X: Any) -> RowSketch | None:
    """Return a sketch of rows as a model reads them; None where it has no table."""
    digests = digests_of(model, X)
    return None if digests is None else RowSketch.of(digests)


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def digests_of(model: Any, X: Any) -> U64 | None:
    """Numbers ``(n,)`` of rows by what they hold in the columns that a model uses; None where it has no table."""
    table, threads = getattr(model, "table_", None), n_threads(getattr(model, "n_jobs", None))
    if table is None:
        return None

    def of_rows(rows: Any) -> U64:
        from committee.data.matrices import SparseMatrix

        rows = model.validate_rows(rows)
        return row_digests(table.encode_sparse(rows) if isinstance(rows, SparseMatrix) else table.encode(rows), threads)

    if not is_out_of_core(X):
        return of_rows(X)
    from committee.learners.base.pieced_rows import predict_pieces

    return predict_pieces(X, of_rows, getattr(model, "feature_names_in_", None))


def known_rows(model: Any, X: Any) -> RowOverlap | None:
    """Count the rows that a model learned from; None where its file does not tell."""
    made: Provenance | None = getattr(model, "provenance_", None)
    if made is None or made.rows is None or (digests := digests_of(model, X)) is None:
        return None
    return made.rows.known(digests)


def known_rows_sentence(model: Any, known: RowOverlap | None, found: Evaluation) -> str | None:
    """Say that figures are of rows that the model learned from, by the rows or else by how good it is; else None.

    A few rows may equal some of the training by chance: in tables of few columns of few values most do.
    """
    if known is None:
        return _by_accuracy(model, found)
    learned = learned_from(model, known)
    return learned and f"{learned}; of new rows the figures say less"


def learned_from(model: Any, known: RowOverlap | None) -> str | None:
    """Say that, and of how many of the rows, a model has learned; None where that is not known, or may be by chance."""
    if known is None:
        return None
    from scipy.stats import binomtest

    sketch = model.provenance_.rows
    repeated = sketch.n_repeated / sketch.n_rows  # of new rows about as many equal one of the training
    if not known.n_known or binomtest(known.n_known, known.n_judged, repeated, "greater").pvalue > BY_CHANCE:
        return None
    if known.n_known == known.n_judged:
        which = "all of these rows" if known.exact else f"these rows, as {known.n_judged:,} of them tell"
    elif known.exact:
        which = f"{known.n_known:,} of these {known.n_rows:,} rows ({known.share:.1%})"
    else:
        which = f"about {known.share:.1%} of these rows, as {known.n_judged:,} of them tell"
    chance = f" (by chance it would be about {repeated:.1%})" if repeated >= OFTEN else ""
    return f"the model has learned from {which}, or from equal ones{chance}"


def _by_accuracy(model: Any, found: Evaluation) -> str | None:
    """A classifier that is better here than chance allows, by its accuracy on rows not seen in training."""
    from scipy.stats import binomtest

    before = getattr(model, "oof_score_", getattr(model, "oob_score_", float("nan")))
    if not hasattr(model, "classes_") or not 0.0 <= before <= 1.0:
        return None
    right = round(found["accuracy"] * found.n_rows)
    if binomtest(right, found.n_rows, before, alternative="greater").pvalue > BY_CHANCE:
        return None
    return (
        f"on rows not seen in training the accuracy was {before:.4f}, and {found['accuracy']:.4f} is more than "
        "chance allows; if the model has learned from these rows the figures say nothing of new ones"
    )
