"""Cost of a vote: voters, nodes, bytes, and microseconds a row."""

from __future__ import annotations

from collections.abc import Mapping
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.extras import needed
from committee.learners.trained.trained_ensemble import trained_committee

if TYPE_CHECKING:
    import polars as pl

REPEATS = 5
"""Votes that are timed; the median counts."""


def vote_costs(ensembles: Mapping[str, Any], X: Any) -> pl.DataFrame:
    """The sizes of several votes side by side, and how long each takes.

    Parameters
    ----------
    ensembles : mapping of str to fitted classifier or Committee
        Names and what they name: learners of this library, or what `Committee.from_estimator` takes, which is timed as
        the committee that it becomes.
    X : table or array-like (n, p)
        Rows to vote on, by one thread.

    Returns
    -------
    polars.DataFrame
        A row for each: `ensemble`, `voters`, `nodes`, `bytes` of the voters in memory, and `microseconds` a row.

    Raises
    ------
    NotFittedError, TypeError, ValueError
        If one of them is no fitted vote, or `X` does not suit it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import LeafReweighter
    >>> from committee.learners.trained.vote_costs import vote_costs
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    >>> table = vote_costs({"forest": forest, "small": LeafReweighter(forest).fit(X, y)}, X)
    >>> table.columns
    ['ensemble', 'voters', 'nodes', 'bytes', 'microseconds']
    >>> bool(table["nodes"][1] <= 0.1 * table["nodes"][0])
    True
    """
    needed("polars", "the table of costs")
    import polars as pl

    rows = []
    for name, ensemble in ensembles.items():
        committee = trained_committee(ensemble)
        seconds = []
        for _ in range(REPEATS):
            start = perf_counter()
            scores = committee.decision_function(X)
            seconds.append(perf_counter() - start)
        microseconds = 1e6 * float(np.median(seconds)) / max(1, len(scores))
        rows.append((name, committee.n_voters, committee.n_nodes, committee.nbytes, microseconds))
    return pl.DataFrame(rows, schema=["ensemble", "voters", "nodes", "bytes", "microseconds"], orient="row")
