"""One row's explanation in words and as a table."""

from __future__ import annotations

import numpy as np

from committee.report.grid import Grid
from committee.report.row_explanation import RowExplanation

MOST_NAMED = 3
"""Columns that a sentence names."""


def row_sentences(found: RowExplanation) -> list[str]:
    """Say where the sum starts and ends, and which columns raise and lower it most.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.report.row_sentences import row_sentences
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = RowExplanation.of(RandomForestClassifier(10, random_state=0).fit(X, y), X, 7)
    >>> row_sentences(found)[1].partition(" (+")[0]
    'Raised most by: petal width (cm) = 0.2'
    """
    bias, end = _fixed(found, float(found.contributions[-1]), float(found.contributions.sum()))
    what, _, meaning = found.subject.partition(": ")
    # the link of the mean score is no mean of what the link makes, so that it is not the share of the class
    known = f"the {'answer to the mean score' if found.total == 'probability' else 'mean'} of the training rows"
    sentences = [f"The {what} is {end}{f' ({meaning})' if meaning else ''}; it starts at {bias}, {known}."]
    shown, _ = found.largest(len(found.labels))
    for words, sign in (("Raised", 1.0), ("Lowered", -1.0)):
        named = [f"{label} ({share:+.3g})" for label, share in shown if share * sign > 0.0][:MOST_NAMED]
        if named:
            sentences.append(f"{words} most by: {', '.join(named)}.")
    return sentences


def row_grid(found: RowExplanation, most: int) -> Grid:
    """The sum line by line: where it starts, the columns that add most, the others together, and where it ends."""
    shown, (n_others, others) = found.largest(most)
    start, end = _fixed(found, float(found.contributions[-1]), float(found.contributions.sum()))
    shares = _fixed(found, *(share for _, share in shown), others, signed=True)
    rows = [(f"({found.start})", start), *((label, share) for (label, _), share in zip(shown, shares, strict=False))]
    if n_others:
        rows.append((f"({n_others:,} other column{'' if n_others == 1 else 's'})", shares[-1]))
    rows.append((f"({found.total})", end))
    return Grid("What the columns add", ("column", "adds"), tuple(rows), "lr")


def _fixed(found: RowExplanation, *values: float, signed: bool = False) -> list[str]:
    """Numbers with the same decimals, of which the largest part of the sum has four digits."""
    largest = float(np.abs(found.contributions).max())
    decimals = 4 if largest == 0.0 else max(0, 3 - int(np.floor(np.log10(largest))))
    if decimals > 9:
        return [f"{value:{'+' if signed else ''}.4g}" for value in values]
    rounded = [round(value, decimals) + 0.0 for value in values]  # no minus before zero
    return [f"{value:{'+' if signed else ''},.{decimals}f}" for value in rounded]
