"""What a committee made of another library's ensemble can do: all that our own can."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from committee import Committee, MarginReweighter, certify, load, prune
from committee.vote.explain.tree_contributions import tree_contributions


def assert_saved_and_explained(committee: Any, X: Any, file: Path) -> None:
    """The loaded committee is the one that was saved; contributions add up to the score."""
    committee.save(file)
    score = committee.decision_function(X)
    assert_array_equal(load(file).decision_function(X), score)
    shares = tree_contributions(committee, X)
    assert_allclose(shares.sum(axis=1), score, rtol=1e-9, atol=1e-9)


def assert_every_use(committee: Any, X: Any, y: Any, file: Path) -> None:
    """Saved, explained, pruned to half its nodes, and of classes re-weighted and certified."""
    assert_saved_and_explained(committee, X.iloc[:40] if hasattr(X, "iloc") else X[:40], file)
    some = slice(200)  # enough, as it is not asked here how good it is
    small = prune(committee, X[some], y[some], max_nodes=0.5, on="validation")
    assert 0 < small.committee_.n_nodes <= 0.5 * committee.n_nodes
    small.save(file)
    assert_array_equal(load(file).predict(X), small.predict(X))
    if isinstance(committee, Committee):
        reweighted = MarginReweighter(committee, on="validation").fit(X, y)
        assert 0 < reweighted.committee_.n_voters <= committee.n_voters
        assert set(reweighted.predict(X).tolist()) <= set(committee.classes.tolist())
        error = np.mean(committee.predict(X) != np.asarray(y))
        assert error <= certify(committee, X, y).headline.value < 1.0
