"""What a model's file says of its training, in words."""

from __future__ import annotations

from typing import Any

from committee.files.documents import Estimate, Provenance
from committee.report.evaluation import Evaluation
from committee.report.measured import Measured

NOT_KNOWN = "not recorded: the model was fitted in Python, or by an earlier version"


def training_terms(model: Any) -> list[tuple[str, str]]:
    """Data, day, versions and estimate of the training of a model, each with its heading.

    Examples
    --------
    >>> from committee import TreeVoter
    >>> from committee.files.documents import Provenance
    >>> model = TreeVoter().fit([[0.0], [1.0]], ["a", "b"])
    >>> model.provenance_ = Provenance("letter", "letters.csv", 2, versions={"committee": "0.1.0"})
    >>> training_terms(model)[0]
    ('trained on', "letters.csv: 2 rows, target 'letter'")
    """
    made: Provenance | None = getattr(model, "provenance_", None)
    if made is None:
        return [("trained on", NOT_KNOWN)]
    plural = "" if made.n_rows == 1 else "s"
    rows = f"{made.data or 'a table'}: {made.n_rows:,} row{plural}"
    terms = [
        ("trained on", f"{rows}, target {made.target!r}" if made.target else rows),
        ("trained", f"{made.trained.isoformat()}, by {', '.join(f'{n} {v}' for n, v in made.versions.items())}"),
    ]
    if made.estimate is not None:
        terms.append(("estimate", f"{estimate_words(made.estimate)} on rows not seen in training ({made.estimate.by})"))
    kept = "none" if made.rows is None else f"digests of {len(made.rows.digests):,} rows, by which they are known again"
    return [*terms, ("kept of its rows", kept)]


def estimate_words(estimate: Estimate) -> str:
    """Figures of an estimate in a line.

    Examples
    --------
    >>> estimate_words(Estimate("5 folds", 150, {"d2": 0.5, "mean absolute error": 1.25}))
    'D2 0.5, mean absolute error 1.25'
    """
    figures = dict(estimate.figures)
    usual = {"accuracy", "accuracy_of_most_frequent"} <= figures.keys() or "rmse" in figures
    if usual or any(name.startswith("pinball_") and f"coverage_{name[8:]}" in figures for name in figures):
        return Evaluation(
            estimate.n_rows, tuple(Measured(name, name, value) for name, value in figures.items())
        ).brief()
    return ", ".join(f"{name.upper() if name == 'd2' else name} {value:.4g}" for name, value in figures.items())
