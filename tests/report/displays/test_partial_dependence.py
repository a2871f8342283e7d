"""Display of partial dependence: tables of every kind, lines of single rows, and refused arguments."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from matplotlib import pyplot as plt
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier as ScikitForest
from sklearn.inspection import partial_dependence
from sklearn.metrics import ConfusionMatrixDisplay, PrecisionRecallDisplay, PredictionErrorDisplay, RocCurveDisplay

from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    CommitteeRegressor,
    ConformalRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.report import PartialDependenceDisplay
from committee.report.displays.base import color, new_figure
from committee.report.model_pictures import effect_pictures
from tests.report.displays.drawn import texts_inside, whole
from tests.small_portfolio import use_small_members

FRAMES = {"pandas": pd.DataFrame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
DOTTED = ":"


def table(n=60):
    random = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "age": random.normal(40.0, 10.0, n).round(1),
            "rooms": random.integers(0, 5, n),
            "town": random.choice(["Oslo", "Bergen", "Rome"], n),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), unit="D"),
        }
    )
    X.loc[::7, "age"], X.loc[::9, "town"] = np.nan, None
    return X, np.where(X["age"].fillna(60.0) + 10.0 * (X["town"] == "Oslo") > 45.0, "yes", "no")


@pytest.fixture(scope="module")
def mixed():
    X, y = table()
    return X, y, GradientBoostingClassifier(n_estimators=5, min_samples_leaf=3, random_state=0).fit(X, y)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_integers_categories_dates_and_missing_values(mixed, kind):
    X, _, model = mixed
    display = PartialDependenceDisplay.from_estimator(model, FRAMES[kind](X), ["rooms", "town", "sold", "age"])
    texts = texts_inside(display)
    assert {"rooms", "town", "sold", "age", "probability of yes", "(missing)", "Bergen", "2021-01"} <= set(texts)
    by_name = {effect.column: effect for effect in display.effects}
    assert by_name["town"].names == ("Bergen", "Oslo", "Rome", "(missing)")
    for place, value in enumerate(["Bergen", "Oslo", "Rome", None]):
        shares = model.predict_proba(X.assign(town=value))
        assert_allclose(by_name["town"].dependence[place], shares.mean(axis=0))
    assert by_name["rooms"].places.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0]
    expected = model.predict_proba(X.assign(age=np.nan)).mean(axis=0)
    assert_allclose(by_name["age"].missing, expected)
    (level,) = [line for line in display.axes_[3].get_lines() if line.get_linestyle() == DOTTED]
    assert_allclose(level.get_ydata(), expected[1])
    legend = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert set(legend) == {
        "single rows", "mean of all rows", "accumulated local effects", "mean if the value is missing"
    }  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
def test_means_lines_and_maps_are_those_of_scikit_learn(weighted):
    X, y = load_diabetes(return_X_y=True)
    X, y = X[:40], y[:40]
    weight = np.arange(40) % 3 + 1.0 if weighted else None
    model = GradientBoostingRegressor(n_estimators=3, random_state=0).fit(X, y)
    display = PartialDependenceDisplay.from_estimator(model, X, [(2, 8), 3], sample_weight=weight)
    pair, single = display.effects
    for columns, values, found in (
        ([2, 8], {2: pair.x.places, 8: pair.y.places}, pair.dependence[:, :, 0].T),
        ([3], {3: single.places}, single.dependence[:, 0]),
    ):
        theirs = partial_dependence(model, X, columns, custom_values=values, sample_weight=weight)
        assert_allclose(found, theirs["average"][0])
    assert [ax.get_xlabel() for ax in display.axes_] == ["x2", ""] and display.ax_.get_ylabel() == "x8"
    assert single.column == "x3" and len(display.figure_.axes) == 3  # with a colour bar
    if weighted:
        return
    theirs = partial_dependence(model, X, [3], custom_values={3: single.places}, kind="individual")["individual"][0]
    assert_allclose(single.individual[:, :, 0], theirs.T)
    lines = display.axes_[1].get_lines()
    assert_allclose([x.get_ydata() for x in lines if x.get_color() == color("pale") and x.get_alpha()], theirs)
    shifted = PartialDependenceDisplay([single], centered=True).plot()
    starts = [line.get_ydata()[0] for line in shifted.ax_.get_lines() if line.get_alpha()]
    assert_allclose(starts, single.dependence[0, 0])


def test_a_pair_of_categories_and_dates_has_a_map_of_cells(mixed):
    X, _, model = mixed
    display = PartialDependenceDisplay.from_estimator(model, X, [("town", "age"), ["sold", "town"]])
    towns, dates = display.effects
    names = ("Bergen", "Oslo", "Rome", "(missing)")
    assert (towns.x.names, dates.y.names) == (names, names)
    assert [text.get_text() for text in display.axes_[1].get_yticklabels()] == list(names)
    assert [ax.get_title(loc="left") for ax in display.axes_] == ["town and age", "sold and town"]
    for k, name in enumerate(names):  # each cell is a mean of predictions
        changed = X.assign(town=None if name == "(missing)" else name, age=towns.y.places[2])
        assert_allclose(towns.dependence[2, k], model.predict_proba(changed).mean(axis=0))
    cells = display.axes_[0].collections[0].get_array()
    assert_array_equal(np.asarray(cells).reshape(-1), towns.dependence[:, :, 1].reshape(-1))
    assert texts_inside(display)


def test_rows_of_weight_zero_are_absent_and_weights_are_repeated_rows(mixed):
    X, _, model = mixed
    weight = np.arange(len(X)) % 3.0
    copies = X.iloc[np.repeat(np.arange(len(X)), weight.astype(int))]
    columns = ["rooms", "town"]
    weighted, repeated, present = (
        PartialDependenceDisplay.from_estimator(model, rows, columns, sample_weight=given).effects
        for rows, given in ((X, weight), (copies, None), (X[weight > 0], weight[weight > 0]))
    )
    for one, other, same in zip(weighted, repeated, present, strict=True):
        assert_allclose(one.dependence, other.dependence)
        assert_array_equal(one.dependence, same.dependence)
        assert_array_equal(one.individual, same.individual)


def test_outputs_that_are_drawn(mixed):
    X, y, _ = mixed
    three = RandomForestClassifier(3, random_state=0).fit(X, np.where(X["rooms"] > 3, "many", y))
    display = whole(PartialDependenceDisplay.from_estimator(three, X, "town"))
    assert display.ax_.get_ylabel() == "probability of each class" and len(display.ax_.collections) == 3
    assert [text.get_text() for text in display.figure_.legends[0].get_texts()] == ["many", "no", "yes"]
    assert PartialDependenceDisplay.from_estimator(three, X, 2, target="many").outputs == [(0, "many")]
    numbers = X["rooms"] + 1.0
    for model, target, subject in (
        (GradientBoostingRegressor(2, loss="quantile", quantile=[0.1, 0.9]), 0.9, "prediction, quantile 0.9"),
        (ConformalRegressor(GradientBoostingRegressor(n_estimators=2), cv=2), None, "prediction"),
    ):
        fitted = model.fit(X, numbers)
        assert PartialDependenceDisplay.from_estimator(fitted, X, "rooms", target=target).subject == subject
    pair = GradientBoostingRegressor(n_estimators=2).fit(X, np.column_stack([numbers, -numbers]))
    assert PartialDependenceDisplay.from_estimator(pair, X, "rooms", target=1).subject == "prediction, target 1"
    with pytest.raises(ValueError, match="target=2 is out of range; targets are numbered from 0 to 1"):
        PartialDependenceDisplay.from_estimator(pair, X, target=2)


def test_a_committee_and_sparse_rows(mixed, monkeypatch):
    use_small_members(monkeypatch)
    X, y, _ = mixed
    model = CommitteeClassifier("fast", random_state=0).fit(X, y)
    display = whole(PartialDependenceDisplay.from_estimator(model, X, ["town", "age"], max_rows=20))
    assert display.effects[0].n_rows == 20
    numbers = X[["rooms"]].to_numpy(dtype=float)
    boosted = AdaBoostClassifier(2).fit(csr_array(numbers), y)
    sparse, dense = (PartialDependenceDisplay.from_estimator(boosted, kind(numbers)) for kind in (csr_array, np.array))
    assert_array_equal(sparse.effects[0].dependence, dense.effects[0].dependence)


def test_labels_of_dates_and_durations_are_apart():
    X, y = table()
    X = pd.DataFrame({"sold": X["sold"], "took": pd.to_timedelta(np.arange(60) * 90, unit="s"), "rooms": X["rooms"]})
    model = GradientBoostingClassifier(n_estimators=5, min_samples_leaf=3, random_state=0).fit(X, y)
    display = whole(PartialDependenceDisplay.from_estimator(model, X, ["sold", "took", "rooms"]))
    assert [ax.get_xticklabels()[0].get_rotation() for ax in display.axes_] == [0.0, 30.0, 0.0]
    for ax in display.axes_[::2]:
        low, high = ax.get_xlim()
        labels = zip(ax.get_xticks(), ax.get_xticklabels(), strict=True)
        boxes = [label.get_window_extent() for at, label in labels if low <= at <= high]
        assert len(boxes) > 1 and all(one.x1 < other.x0 for one, other in itertools.pairwise(boxes))


def test_axes_that_are_given(mixed):
    X, _, model = mixed
    axes = new_figure(6.0, 3.0).subplots(1, 2)
    display = PartialDependenceDisplay.from_estimator(model, X, ["town", "age"], ax=axes, kind="average")
    assert display.axes_ == axes.tolist() and display.ax_ is axes[0]
    assert not any(line.get_alpha() for ax in axes for line in ax.get_lines())
    assert axes[0].get_legend() is not None
    lines = PartialDependenceDisplay.from_estimator(model, X, "age", ax=axes[0], kind="individual").ax_.get_lines()
    assert lines
    with pytest.raises(ValueError, match="ax has 2 axes, and there are 1 charts"):
        display.__class__(display.effects[:1]).plot(axes)


def test_the_page_names_the_level_of_missing_values(mixed):
    X, _, model = mixed
    found = PartialDependenceDisplay.from_estimator(model, X, ["age", "town"]).effects
    picture = effect_pictures(found, [(1, "yes")], of_classes=True)
    share = found[0].missing[1]
    assert f"mean if the value is missing {share:.0%}" in picture.body and "(missing: " not in picture.body
    assert "Dotted level: mean probabilities if the value were missing in all rows." in picture.caption
    assert "Pale lines: predictions of single rows." in picture.caption


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "twon"}, "there is no column 'twon'; did you mean 'town'"),
        ({"features": [9]}, "features: 9 is not a column; give names, or numbers from 0 to 3"),
        ({"features": []}, "features is empty; give names of columns, or None for the 6 most important"),
        ({"features": ["constant"]}, "no column 'constant'"),
        ({"features": [("age", "twon")]}, "there is no column 'twon'; did you mean 'town'"),
        ({"features": [("age", 0)]}, r"features: \('age', 0\) are not two columns; a map is of two different ones"),
        ({"features": [("age", "town", "sold")]}, "are not two columns"),
        ({"features": [("age", "town")], "kind": "individual"}, "the map of age and town has no lines of single rows"),
        ({"target": "x"}, "target='x' is not a class; the classes are 'no', 'yes'"),
        ({"kind": "all"}, "kind='all' is not one of 'average', 'individual', 'both'"),
        ({"max_rows": 0}, "max_rows=0 is not a number of rows"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\); give 60 finite weights"),
        ({"sample_weight": np.zeros(60)}, "not all 0"),
    ],
)
def test_invalid_arguments_are_refused(mixed, options, message):
    X, _, model = mixed
    with pytest.raises(ValueError, match=message):
        PartialDependenceDisplay.from_estimator(model, X, **options)


CONSTANT = r"columns that are \(nearly\) constant in X have no curve"


def test_models_and_columns_without_a_curve_are_refused(mixed):
    X, y, model = mixed
    with pytest.raises(ValueError, match=rf"{CONSTANT}: rooms; leave them out"):
        PartialDependenceDisplay.from_estimator(model, X.assign(rooms=1), ["rooms", "town"])
    with pytest.raises(TypeError, match="is a RandomForestClassifier; give a learner of this library"):
        PartialDependenceDisplay.from_estimator(ScikitForest(2).fit(X[["rooms"]], y), X[["rooms"]])
    with pytest.raises(TypeError, match="X is a LazyFrame of unknown length; give a table in memory"):
        PartialDependenceDisplay.from_estimator(model, pl.from_pandas(X).lazy())
    with pytest.raises(ValueError, match=rf"{CONSTANT}: age and rooms; leave them out"):
        PartialDependenceDisplay.from_estimator(model, X.assign(rooms=1), ["age", ("age", "rooms")])
    pair = PartialDependenceDisplay.from_estimator(model, X, [("age", "rooms")]).effects
    with pytest.raises(ValueError, match="the map of age and rooms has one output; choose one by target"):
        PartialDependenceDisplay(pair, [(0, "no"), (1, "yes")])
    effect = PartialDependenceDisplay.from_estimator(model, X, "rooms").effects
    with pytest.raises(ValueError, match="effects has 0 columns"):
        PartialDependenceDisplay([])
    with pytest.raises(ValueError, match="kind='individual' draws one output, and there are 2"):
        PartialDependenceDisplay(effect, [(0, "no"), (1, "yes")], kind="individual")


# --- displays of scikit-learn that take every learner, so that this library has none of its own ----------------------


@pytest.fixture
def no_figures_left():
    yield
    plt.close("all")


@pytest.mark.usefixtures("no_figures_left")
@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("model", [CommitteeClassifier("fast"), GradientBoostingClassifier(n_estimators=2)])
def test_scikit_learns_displays_of_classifiers(kind, model, monkeypatch):
    use_small_members(monkeypatch)
    X, y = table()
    X = FRAMES[kind](X)
    fitted = model.fit(X, y)
    display = ConfusionMatrixDisplay.from_estimator(fitted, X, y)
    assert np.trace(display.confusion_matrix) == (fitted.predict(X) == y).sum()
    for each in (CalibrationDisplay, RocCurveDisplay, PrecisionRecallDisplay):
        each.from_estimator(fitted, X, y, pos_label="yes")


@pytest.mark.usefixtures("no_figures_left")
@pytest.mark.parametrize(
    "model", [CommitteeRegressor("fast"), GradientBoostingRegressor(n_estimators=2), RandomForestRegressor(2)]
)
def test_residuals_of_regressors(model, monkeypatch):
    use_small_members(monkeypatch)
    X, y = table()
    X, y = pl.from_pandas(X), X["rooms"].to_numpy() + (y == "yes")
    display = PredictionErrorDisplay.from_estimator(model.fit(X, y), X, y, subsample=None)
    assert_array_equal(display.y_pred, model.predict(X))
