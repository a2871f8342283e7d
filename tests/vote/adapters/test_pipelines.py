"""Ensembles at the end of pipelines: the pipeline's own predictions on its own input, in trees that look at it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from committee import Committee, RegressionCommittee
from tests.vote.adapters.every_use import assert_every_use


def table(n: int, seed: int, *, n_kinds: int = 6) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    size, depth, kind = rng.normal(size=n).round(1), rng.exponential(size=n), rng.integers(0, n_kinds, n)
    y = size * (kind % 2) + depth + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame({"name": rng.permutation(n).astype(str), "size": size, "kind": kind, "depth": depth})
    frame["kind"] = frame["kind"].map("kind {}".format)
    return frame.mask(rng.random((n, 4)) < 0.08), y


ROWS, NUMBER = table(800, 0)
NEW = table(10_000, 1, n_kinds=8)[0]
LABELS = np.array(["low", "middle", "top"])[np.digitize(NUMBER, [0.5, 1.5])]
KINDS = [f"kind {k}" for k in range(6)]
SMALL = {"n_estimators": 8, "random_state": 0}
NUMBERS, KIND = ["depth", "size"], ["kind"]
FILL = SimpleImputer(strategy="most_frequent")
PIPELINES = {
    "one-hot": make_pipeline(
        make_column_transformer(
            (make_pipeline(OneHotEncoder(handle_unknown="ignore", categories=[KINDS])), KIND),
            (make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        ),
        RandomForestClassifier(**SMALL),
    ),
    "codes": make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), RobustScaler(), MinMaxScaler(clip=True)), NUMBERS),
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1), KIND),
        ),
        GradientBoostingClassifier(**SMALL),
    ),
    "codes as categories": make_pipeline(
        make_column_transformer(
            (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), KIND), ("passthrough", NUMBERS)
        ),
        HistGradientBoostingClassifier(max_iter=8, categorical_features=[0]),
    ),
}


@pytest.mark.filterwarnings("ignore:pruned to")
@pytest.mark.parametrize("name", PIPELINES)
def test_classes(name, tmp_path):
    pipeline = PIPELINES[name].fit(ROWS, LABELS)
    committee = Committee.from_estimator(pipeline)
    assert_allclose(committee.predict_proba(NEW), pipeline.predict_proba(NEW), rtol=1e-12, atol=1e-12)
    assert_array_equal(committee.predict(NEW), pipeline.predict(NEW))
    assert committee.table is not None and committee.table.names == tuple(ROWS.columns)
    if name == "one-hot":
        assert_every_use(committee, ROWS, LABELS, tmp_path / "model")


def test_numbers_of_an_array_whose_columns_are_scaled_and_selected():
    X, new = (frame[NUMBERS].to_numpy() for frame in (ROWS, NEW))
    X, new = (np.column_stack([part, part[:, 0] ** 2]) for part in (X, new))
    steps = (SimpleImputer(), MaxAbsScaler(), StandardScaler(with_mean=False), SelectKBest(k=2))
    pipeline = make_pipeline(*steps, ExtraTreesRegressor(**SMALL)).fit(X, LABELS == "top")
    committee = RegressionCommittee.from_estimator(pipeline)
    assert_allclose(committee.predict(new), pipeline.predict(new), rtol=1e-12, atol=1e-12)
    # numbers beside every threshold go the same way
    used = committee.voters.feature >= 0
    for step in (-np.inf, np.inf):
        beside = np.zeros((used.sum(), 3))
        beside[np.arange(used.sum()), committee.voters.feature[used]] = committee.voters.threshold[used]
        beside = np.nextafter(beside, step)
        assert_allclose(committee.predict(beside), pipeline.predict(beside), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("steps", "error", "match"),
    [
        ((SimpleImputer(), PCA(2), RandomForestClassifier(2)), TypeError, r"PCA.* from_estimator\(pipeline\[-1\]\)"),
        ((SimpleImputer(), QuantileTransformer(n_quantiles=9), RandomForestClassifier(2)), TypeError, "QuantileTr"),
        ((SimpleImputer(add_indicator=True), RandomForestClassifier(2)), ValueError, "has add_indicator"),
        ((SimpleImputer(), LogisticRegression()), TypeError, "no adapter for its last step LogisticRegression"),
    ],
)
def test_what_is_refused(steps, error, match):
    with pytest.raises(error, match=match):
        Committee.from_estimator(make_pipeline(*steps).fit(ROWS[NUMBERS], LABELS))


def test_unknown_categories_that_go_elsewhere_than_missing_values_are_errors():
    steps = make_column_transformer((make_pipeline(FILL, OneHotEncoder(handle_unknown="ignore")), KIND))
    pipeline = make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(ROWS, LABELS)
    committee = Committee.from_estimator(pipeline)
    seen = NEW[NEW["kind"].isin(ROWS["kind"].dropna()) | NEW["kind"].isna()]
    assert_allclose(committee.predict_proba(seen), pipeline.predict_proba(seen), rtol=1e-12, atol=1e-12)
    with pytest.raises(ValueError, match=r"holds the category .kind [67]."):
        committee.predict(NEW)
