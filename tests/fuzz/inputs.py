"""Random tables, weights and parameters into every learner: a sound model or a clear refusal, and nothing else."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal
from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils._param_validation import Interval, StrOptions

import committee
from committee.objectives.losses import CLASSIFICATION_LOSSES, REGRESSION_LOSSES
from tests.fuzz import tables
from tests.fuzz.tables import Generator, choose

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
        self.folder = folder

    def case(self, random: Random) -> bytes:
        return json.dumps({"learner": random.choice(LEARNERS), "seed": random.getrandbits(32)}).encode()

    def run(self, case: bytes) -> str:
        made = json.loads(case)
        rng = np.random.default_rng(made["seed"])
        n, p = self.size(rng)
        names, columns, plain = tables.columns_of(rng, n, p, self.storm)
        table = tables.as_table(rng, names, columns, plain)
        try:
            X, later = table(columns), table(tables.later_rows(rng, columns, plain))
        except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
            return f"no table: {type(error).__name__}"  # pandas, polars or pyarrow do not take it
        model = learner_of(rng, made["learner"], names)
        y = tables.targets(rng, n, self.storm) if is_regressor(model) else tables.labels(rng, n)
        weights = tables.row_weights(rng, n, self.storm)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            return self.outcome(rng, model, X, y, weights, later)

    def size(self, rng: Generator) -> tuple[int, int]:
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
            except RefusedByVoterError:
                return "rows refused by a voter of the user's"
            except (ValueError, TypeError) as error:
                assert rows is later, f"rows of training are refused: {error}"
                return f"later rows {refusal(error)}"
            assert len(answers) == n
            if is_regressor(model):
                assert np.isfinite(answers).all(), "a number predicted is not finite"
            else:
                check_classifier(model, rows, n)
        importances = getattr(model, "feature_importances_", np.zeros(1))
        assert np.isfinite(importances).all(), f"importances {importances}"
        return check_file(model, later, self.folder)


class Storms(Inputs):
    """Numbers of the whole range of float64 in columns, targets and weights."""

    storm = True


MOST = {"n_estimators": 12, "n_boosting_rounds": 4, "max_voters": 12, "max_estimators": 30, "levels": 3}
MOST |= {"n_leaf_steps": 15, "n_draws": 40, "n_paths": 40, "n_alphas": 5, "n_start": 8, "n_thresholds": 20}
"""Larger values of what makes a fit long find nothing more."""

FIXED: dict[str, Any] = {"n_jobs": 1, "cv": 2, "time_budget": None, "time_limit": None, "effort": "fast"}
"""Threads change no bits, which other tests hold; a budget of seconds ends where it likes; little effort is enough."""

INSIDE: dict[str, list[Any]] = {
    "ConformalClassifier": [committee.RandomForestClassifier(5), committee.ProbabilisticAdaBoostClassifier(3)],
    "ConformalRegressor": [committee.RandomForestRegressor(5), committee.GradientBoostingRegressor(3)],
}
"""What is fitted many times inside another, so it has to be small; they leave rows out by themselves, or do not."""


class RefusedByVoterError(ValueError):
    """What a voter of the user's says of rows that it does not take."""


class TreeOfUser(DecisionTreeClassifier):
    """A voter of the user's, which says nothing of the numbers that it cannot take but refuses them."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Any:
        with np.errstate(all="ignore"):
            return super().fit(X, y, sample_weight, check_input)

    def predict_proba(self, X: Any, check_input: bool = True) -> Any:
        with refusing():
            return super().predict_proba(X, check_input)

    def predict(self, X: Any, check_input: bool = True) -> Any:
        with refusing():
            return super().predict(X, check_input)


@contextmanager
def refusing() -> Iterator[None]:
    try:
        with np.errstate(all="ignore"):
            yield
    except ValueError as error:
        raise RefusedByVoterError(str(error)) from error


def number(rng: Generator, name: str, interval: Interval) -> float | int:
    """A number of an interval: its ends, its inside, every magnitude, and now and then outside."""
    whole = interval.type is Integral
    low = -1e3 if interval.left is None else float(interval.left)
    high = max(low, 50.0 if whole else 1e3) if interval.right is None else float(interval.right)
    high = min(high, MOST.get(name, high))
    inside = rng.uniform(low, high)
    magnitude = low + 10.0 ** rng.uniform(-12, 1) * min(1.0, high - low)
    value = choose(rng, inside, inside, min(high, magnitude), low, high)
    if interval.closed in ("neither", "right") and value == low:
        value = np.nextafter(low, np.inf)
    if interval.closed in ("neither", "left") and value == high and interval.right is not None:
        value = np.nextafter(high, -np.inf)
    if rng.random() < 0.02:
        value = choose(rng, low - 1, -1e300)
    if not whole:
        return float(value)
    return int(np.ceil(np.clip(value, -(2**62), 2**62))) if value > low else int(low)


def value_of(rng: Generator, name: str, constraints: Any) -> Any:
    """A value that one of a parameter's constraints allows."""
    constraint = choose(rng, *constraints)
    if isinstance(constraint, Interval):
        return number(rng, name, constraint)
    if isinstance(constraint, StrOptions):
        return choose(rng, *sorted(constraint.options))
    if constraint == "boolean":
        return bool(rng.integers(2))
    return None


def columns_that_are_categories(rng: Generator, names: list[str]) -> Any:
    mask = rng.random(len(names)) < 0.4
    numbers = np.flatnonzero(mask).tolist()
    named = [names[j] for j in numbers] + (["absent"] if rng.random() < 0.1 else [])
    return choose(rng, "from_dtype", "from_dtype", None, numbers, numbers, mask, named)


def learner_of(rng: Generator, name: str, columns: list[str]) -> Any:
    """An unfitted learner, about half of its parameters drawn."""
    kind = committee.learner(name)
    drawn: dict[str, Any] = {}
    for parameter, declared in kind.declared_parameters.items():
        constraints = kind._parameter_constraints[parameter]
        if parameter in MOST and isinstance(declared.default, int):
            drawn[parameter] = int(rng.integers(1, MOST[parameter] + 1))
        if parameter in FIXED:
            drawn[parameter] = FIXED[parameter]
        elif parameter == "random_state":
            drawn[parameter] = int(rng.integers(100))
        elif parameter == "estimator" and name.startswith("Conformal"):
            drawn[parameter] = choose(rng, *INSIDE[name])
        elif rng.random() < 0.5:
            continue
        elif parameter in ("voter", "estimator", "dictionary"):
            texts = [text for each in constraints if isinstance(each, StrOptions) for text in sorted(each.options)]
            drawn[parameter] = choose(rng, *texts, committee.TreeVoter(max_depth=2), TreeOfUser(max_depth=2))
        elif parameter == "loss":
            losses = CLASSIFICATION_LOSSES if name.endswith("Classifier") else REGRESSION_LOSSES
            drawn[parameter] = choose(rng, *losses)
        elif parameter == "quantile":
            drawn[parameter] = choose(rng, 0.5, 0.01, [0.1, 0.5, 0.9])
        elif parameter == "monotonic_constraints":
            n_rows = choose(rng, (), (), (3,))
            drawn[parameter] = rng.integers(-1, 2, (*n_rows, len(columns))).tolist()
        elif parameter == "interaction_constraints":
            group = np.flatnonzero(rng.random(len(columns)) < 0.5).tolist()
            drawn[parameter] = choose(rng, "pairwise", "no_interactions", [group, [0]])
        elif parameter == "shape":
            drawn[parameter] = choose(rng, "binary", "greedy", [2, 4])
        elif parameter == "categorical_features":
            drawn[parameter] = columns_that_are_categories(rng, columns) if columns else None
        elif isinstance(constraints, list):
            drawn[parameter] = value_of(rng, parameter, constraints)
    return kind(**{name: value for name, value in drawn.items() if name in kind.declared_parameters})
