"""Random tables, weights and parameters into every learner: a sound model or a clear refusal, and nothing else."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import is_regressor

import committee
from tests.fuzz import parameters, tables
from tests.fuzz.tables import Generator

LEARNERS = [name for name in committee.LEARNERS if "Reweighter" not in name]
"""Those that train on rows; the others take what is trained."""

NAMED = re.compile(
    r"\b(X|y|sample_weight|rows?|columns?|features?|class(es)?|labels?|targets?|weights?|samples?|parameter|c\d)\b|\w=|_\w"
)
"""What the message of a refusal must speak of."""

ROUNDING = 1e-9
"""By how much the greatest probabilities of a row may differ where its votes are tied."""


def refusal(error: Exception) -> str:
    """How a refused case ended; a message that names nothing is a fault."""
    message = str(error)
    assert NAMED.search(message), f"the message names nothing: {message!r}"
    return f"refused by {type(error).__name__}"


def check_classifier(model: Any, X: Any, n: int) -> None:
    """Probabilities are finite and sum to one, and the class predicted is one of the likeliest."""
    p = model.predict_proba(X)
    assert p.shape == (n, len(model.classes_)), p.shape
    assert np.isfinite(p).all(), f"probabilities are not finite: {p[~np.isfinite(p).all(axis=1)][0]}"
    assert p.min(initial=0.0) >= 0.0
    assert np.abs(p.sum(axis=1) - 1.0).max(initial=0.0) <= ROUNDING
    predicted = np.searchsorted(model.classes_, model.predict(X))
    short = p.max(axis=1) - p[np.arange(n), predicted]
    assert short.max(initial=0.0) <= ROUNDING, f"a class is predicted that is less likely by {short.max()}"
    assert np.isfinite(model.decision_function(X)).all()


def check_importances(model: Any) -> None:
    """Importances are finite, where the learner has them."""
    importances = getattr(model, "feature_importances_", np.zeros(1))
    assert np.isfinite(importances).all(), f"importances {importances}"


def check_file(model: Any, X: Any, folder: Path) -> str:
    """A saved model predicts the same bits; only voters of the user's own are refused, by TypeError."""
    path = folder / "model"
    try:
        model.save(path)
    except TypeError as error:
        assert "cannot be saved" in str(error) or "model file" in str(error), error
        return "fitted with voters of the user's"
    twin = committee.load(path)
    path.unlink()
    assert_array_equal(twin.predict(X), model.predict(X))
    if not is_regressor(model):
        assert_array_equal(twin.predict_proba(X), model.predict_proba(X))
    return "fitted"


class Inputs:
    """Tables, weights and parameters of every kind; see `tests.fuzz.Fuzzer`."""

    storm = False
    """Whether numbers are of the whole range of float64 mostly."""

    def __init__(self, folder: Path) -> None:
        """Models are saved in the folder."""
        self.folder = folder

    def case(self, random: Random) -> bytes:
        """Make the next case: a learner, and the seed of all else."""
        return json.dumps({"learner": random.choice(LEARNERS), "seed": random.getrandbits(32)}).encode()

    def run(self, case: bytes) -> str:
        """Fit, predict, save and load."""
        made = json.loads(case)
        rng = np.random.default_rng(made["seed"])
        n, p = self.size(rng)
        names, columns, plain = tables.columns_of(rng, n, p, self.storm)
        table = tables.as_table(rng, names, columns, plain)
        try:
            X, later = table(columns), table(tables.later_rows(rng, columns, plain))
        except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
            return f"no table: {type(error).__name__}"  # pandas, polars or pyarrow do not take it
        model = parameters.learner_of(rng, made["learner"], names)
        y = tables.targets(rng, n, self.storm) if is_regressor(model) else tables.labels(rng, n)
        weights = tables.row_weights(rng, n, self.storm)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            return self.outcome(rng, model, X, y, weights, later)

    def size(self, rng: Generator) -> tuple[int, int]:
        """Rows and columns, few mostly."""
        return int(rng.choice([1, 2, 3, 8, 20, 40, 60, 60, 250])), int(rng.choice([1, 1, 2, 3, 5, 9]))

    def outcome(self, rng: Generator, model: Any, X: Any, y: Any, weights: Any, later: Any) -> str:
        """Fit and check; a refusal is well where it says why."""
        try:
            model.fit(X, y, weights)
        except (ValueError, TypeError) as error:
            assert not hasattr(model, "committee_"), "a refused fit left results"
            return refusal(error)
        for rows in (X, later):
            n = len(rows)
            try:
                answers = model.predict(rows)
            except parameters.RefusedByVoterError:
                return "rows refused by a voter of the user's"
            except (ValueError, TypeError) as error:
                assert rows is later, f"rows of training are refused: {error}"
                return f"later rows {refusal(error)}"
            assert len(answers) == n
            if is_regressor(model):
                assert np.isfinite(answers).all(), "a number predicted is not finite"
            else:
                check_classifier(model, rows, n)
        check_importances(model)
        return check_file(model, later, self.folder)


class Storms(Inputs):
    """Numbers of the whole range of float64 in columns, targets and weights."""

    storm = True
