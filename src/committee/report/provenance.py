"""Provenance of a fitted model: its record of training, and the detection of training rows among others."""

from __future__ import annotations

from typing import Any

from scipy.stats import binomtest

from committee.data.bins import U64, RowOverlap, RowSketch, row_digests
from committee.data.matrices import SparseMatrix, is_out_of_core
from committee.data.parallel import n_threads
from committee.data.text import pluralize
from committee.files.documents import Estimate, Provenance
from committee.learners.base.fitted_learner import predict_pieces
from committee.learners.trained_ensembles.out_of_bag import BY_CHANCE, suspicious_accuracy
from committee.report.evaluation import Evaluation
from committee.report.figures import Measured

OFTEN = 0.01
"""Least share of repeated training rows that messages mention."""

NOT_KNOWN = "not recorded: the model was fitted in Python or by an earlier version, or converted"


def provenance_of(
    model: Any, X: Any, *, target: str = "", data: str = "", estimate: Estimate | None = None, sketch: bool = True
) -> Provenance:
    """Return the record of the training of a fitted model on rows `X`, for ``model.provenance_`` before it is saved.

    `target` and `data` name the target column and the table; `estimate` has figures on rows not used in training. A
    `sketch` stores digests of at most 4,096 of the rows, by which `known_rows` detects them. Digests do not contain
    the rows, but anyone with the file and all columns of a row can test whether it is one of these.

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
    n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    return Provenance(target, data, n_rows, estimate=estimate, rows=row_sketch(model, X) if sketch else None)


def row_sketch(model: Any, X: Any) -> RowSketch | None:
    digests = _digests(model, X)
    return None if digests is None else RowSketch.of(digests)


def _digests(model: Any, X: Any) -> U64 | None:
    table, threads = getattr(model, "table_", None), n_threads(getattr(model, "n_jobs", None))
    if table is None:
        return None

    def of_rows(rows: Any) -> U64:
        rows = model.validate_rows(rows)
        return row_digests(table.encode_sparse(rows) if isinstance(rows, SparseMatrix) else table.encode(rows), threads)

    if not is_out_of_core(X):
        return of_rows(X)
    return predict_pieces(X, of_rows, getattr(model, "feature_names_in_", None))


def known_rows(model: Any, X: Any) -> RowOverlap | None:
    """Count the training rows of a model among rows."""
    made: Provenance | None = getattr(model, "provenance_", None)
    if made is None or made.rows is None or (digests := _digests(model, X)) is None:
        return None
    return made.rows.known(digests)


def known_rows_sentence(model: Any, known: RowOverlap | None, found: Evaluation | None) -> str | None:
    if known is None:
        if found is None or not hasattr(model, "classes_"):
            return None
        return suspicious_accuracy(model, found["accuracy"], found.n_rows)
    learned = learned_from(model, known)
    return learned and f"{learned}; give rows not used in training to estimate the figures of new rows"


def learned_from(model: Any, known: RowOverlap | None) -> str | None:
    if known is None:
        return None
    sketch = model.provenance_.rows
    repeated = sketch.n_repeated / sketch.n_rows  # about this share of new rows equals a training row
    if not known.n_known or binomtest(known.n_known, known.n_judged, repeated, "greater").pvalue > BY_CHANCE:
        return None
    by_sample = "" if known.exact else f", judged by {known.n_judged:,} of them"
    if known.n_known == known.n_judged:
        which = f"all of these rows{by_sample}"
    elif known.exact:
        which = f"{known.n_known:,} of these {known.n_rows:,} rows ({known.share:.1%})"
    else:
        which = f"about {known.share:.1%} of these rows{by_sample}"
    chance = f" (by chance about {repeated:.1%})" if repeated >= OFTEN else ""
    return f"the model was trained on {which}, or on equal ones{chance}"


def training_terms(model: Any) -> list[tuple[str, str]]:
    made: Provenance | None = getattr(model, "provenance_", None)
    if made is None:
        return [("trained on", NOT_KNOWN)]
    rows = f"{made.data or 'a table'}: {pluralize(made.n_rows, 'row')}"
    terms = [
        ("trained on", f"{rows}, target {made.target!r}" if made.target else rows),
        ("trained", f"{made.trained.isoformat()}, by {', '.join(f'{n} {v}' for n, v in made.versions.items())}"),
    ]
    if made.exposure is not None:
        terms.append(("predicts per unit of", f"exposure {made.exposure!r}"))
    if made.estimate is not None:
        terms.append(("estimate", f"{_figures(made.estimate)} on rows not seen in training ({made.estimate.by})"))
    digests = "none" if made.rows is None else f"{len(made.rows.digests):,}, by which training rows are detected"
    return [*terms, ("row digests", digests)]


def _figures(estimate: Estimate) -> str:
    figures = dict(estimate.figures)
    usual = {"accuracy", "accuracy_of_most_frequent"} <= figures.keys() or "rmse" in figures
    if usual or any(name.startswith("pinball_") and f"coverage_{name[8:]}" in figures for name in figures):
        measured = tuple(Measured(name, name, value) for name, value in figures.items())
        return Evaluation(estimate.n_rows, measured).brief()
    return ", ".join(f"{name.upper() if name == 'd2' else name} {value:.4g}" for name, value in figures.items())
