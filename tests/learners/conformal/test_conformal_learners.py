"""Conformal learners: rows that are scored, groups, files, and refusals."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import coo_matrix, csr_matrix
from sklearn.base import clone
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, ExtraTreesClassifier
from sklearn.ensemble import RandomForestClassifier as TheirForest
from sklearn.ensemble import RandomForestRegressor as TheirForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import committee as c
from committee import ConformalClassifier, ConformalRegressor
from committee.report.prediction_sets import sets_grid
from tests.small_portfolio import use_small_members
from tests.subjects import everything, noisy_scores, numbers

FOREST = c.RandomForestClassifier(20, max_samples=0.6, random_state=0)
SCORED_FOREST = c.RandomForestClassifier(20, max_samples=0.6, oob_score=True, random_state=0)


@pytest.mark.parametrize(
    ("estimator", "source"),
    [
        (FOREST, "out of bag"),
        (c.SBPMTClassifier(8, 2, 5, random_state=0), "out of bag"),
        (c.SubaggingClassifier(n_estimators=12, random_state=0), "out of bag"),
        (TheirForest(25, random_state=0), "out of bag"),
        (c.CommitteeClassifier("fast", cv=2, random_state=0), "out of fold"),
        (c.AdaBoostClassifier(5), "out of fold"),
        (ExtraTreesClassifier(5, random_state=0), "out of fold"),
        (None, "out of fold"),
        (c.RandomForestRegressor(20, max_samples=0.6, random_state=0), "out of bag"),
        (TheirForestRegressor(25, random_state=0), "out of bag"),
        (BaggingRegressor(LinearRegression(), 25, random_state=0), "out of bag"),
        (c.CommitteeRegressor("fast", cv=2, random_state=0), "out of fold"),
        (Ridge(), "out of fold"),
    ],
    ids=lambda part: " ".join(repr(part).split()),
)
@pytest.mark.filterwarnings("ignore")  # a few rows may be in all bags
def test_rows_are_scored_out_of_sample(estimator, source, monkeypatch):
    use_small_members(monkeypatch)
    of_numbers = hasattr(estimator, "predict") and not hasattr(estimator, "predict_proba")
    X, y = noisy_scores(120) if of_numbers else numbers(3, 120)
    model = (ConformalRegressor if of_numbers else ConformalClassifier)(estimator, random_state=0).fit(X, y)
    assert model.source_ == source
    seen = np.abs(y - model.predict(X)) if of_numbers else 1.0 - model.predict_proba(X)[np.arange(120), y]
    known = np.isfinite(model.scores_)
    assert known.mean() > 0.5
    assert model.scores_[known].mean() > seen[known].mean()  # which flatter
    found = model.predict_interval(X) if of_numbers else model.predict_set(X)
    assert found.shape == (120, 2 if of_numbers else 3)
    assert not hasattr(model.estimator_, "oof_decision_function_") and not getattr(model.estimator_, "keep_oof", False)


def test_predictions_are_those_of_the_estimator():
    X, y = numbers(3)
    model, alone = ConformalClassifier(FOREST).fit(X, y), clone(FOREST).fit(X, y)
    for method in ("predict", "predict_proba", "decision_function", "contributions"):
        assert_array_equal(getattr(model, method)(X), getattr(alone, method)(X))
    assert_array_equal(model.feature_importances_, alone.feature_importances_)


def test_categories_missing_values_and_groups_by_a_column():
    columns, y = everything(missing=True)
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns)):
        model = ConformalClassifier(FOREST, 0.5, group_by="colour", per_class=True).fit(frame, y)
        assert model.groups_ == ["blue", "green", "red", None]
        assert model.row_categories.words(5) == "class 1 in group 'red'"
        p = model.p_values(frame)
        by_place = ConformalClassifier(FOREST, 0.5, group_by=1, per_class=True).fit(frame, y)
        given = ConformalClassifier(FOREST, 0.5, per_class=True).fit(frame, y, groups=columns["colour"])
        assert_array_equal(by_place.p_values(frame), p)
        assert_array_equal(given.p_values(frame, groups=columns["colour"]), p)
    new = pl.DataFrame({**columns, "colour": ["mauve", *columns["colour"][1:]]})
    message = "no row of fit is in group 'mauve'; the rows of such groups get sets of all classes"
    with pytest.warns(UserWarning, match=message) as warned:
        assert model.predict_set(new)[0].all()
    assert [each.filename for each in warned] == [__file__]
    with pytest.raises(ValueError, match="the fit had groups; give those of these rows"):
        given.predict_set(frame)
    with pytest.raises(ValueError, match="group_by names 'color', which is not there; did you mean 'colour'"):
        ConformalClassifier(FOREST, group_by="color").fit(frame, y)
    with pytest.warns(UserWarning, match="the group of missing values: 2 rows are scored"):
        few = ConformalClassifier(FOREST).fit(frame, y, groups=np.array(["a"] * 118 + [None] * 2)[:, None])
    assert few.groups_ == ["a", None]
    with pytest.raises(ValueError, match=r"groups has the shape \(60, 2\); give one value for each row"):
        few.predict_set(frame, groups=np.zeros((60, 2)))
    with pytest.raises(ValueError, match="groups has 3 entries; X has 120 rows"):
        ConformalClassifier(FOREST).fit(frame, y, groups=["a", "b", "c"])


def test_too_few_rows_warn_and_everything_is_covered():
    X, y = numbers(2, 60)
    y[:55], y[55:] = 0, 1
    with pytest.warns(UserWarning, match="class 1: 5 rows are scored, and an alpha of 0.1 needs 9") as warned:
        model = ConformalClassifier(FOREST, per_class=True).fit(X, y)
    assert [each.filename for each in warned] == [__file__]
    assert model.predict_set(X)[:, 1].all() and not model.predict_set(X)[:, 0].all()
    model.predict_set(X, 0.2)
    message = "class 0 and 1 more: at most 55 rows are scored, and an alpha of 0.01 needs 99"
    with pytest.warns(UserWarning, match=message) as warned:
        assert model.predict_set(X, 0.01).all()
    assert [each.filename for each in warned] == [__file__]
    with pytest.warns(UserWarning, match="55 rows are scored, and an alpha of 0.01 needs 99"):
        assert model.set_params(alpha=0.01).predict_set(X).all()
    with pytest.raises(ValueError, match="alpha=5 must be a number above 0 and below 1"):
        model.set_params(alpha=5).predict_set(X)
    with pytest.warns(UserWarning, match="6 rows are scored, and an alpha of 0.1 needs 9; intervals are infinite"):
        few = ConformalRegressor(Ridge(), cv=3).fit(X[:6], X[:6, 0])
    assert_array_equal(np.abs(few.predict_interval(X)), np.inf)
    assert few.known_.thresholds(0.1).tolist() == [np.inf]


def test_rows_without_weight_are_absent_and_class_weights_are_for_training_alone():
    X, y = numbers(3)
    absent = np.where(np.arange(120) % 3 == 0, 0.0, 1.0)
    for estimator in (LogisticRegression(), FOREST):
        model = ConformalClassifier(estimator, cv=3).fit(X, y, absent)
        assert_array_equal(np.isnan(model.scores_), absent == 0.0)
        fewer = ConformalClassifier(estimator, cv=3).fit(X[absent > 0], y[absent > 0], absent[absent > 0])
        assert_array_equal(model.p_values(X), fewer.p_values(X))
    heavy = ConformalClassifier(LogisticRegression(), cv=3, class_weight={0: 9.0, 1: 1.0, 2: 1.0}).fit(X, y)
    assert (heavy.predict(X) == 0).sum() > (model.predict(X) == 0).sum()
    assert heavy.known_.count.tolist() == [120.0] and not hasattr(heavy, "score_weights_")


def test_weights_of_a_fold_count_rows_if_those_of_all_rows_do():
    """Weights of 5 and 15 have a mean of 10, and count; the heavy half has a mean of 15."""
    rng = np.random.default_rng(0)
    X, light = rng.normal(size=(60, 2)), np.arange(60) < 30
    y, w = X[:, 0] + rng.normal(size=60), np.where(light, 5, 15)
    folds = [(np.flatnonzero(side), np.flatnonzero(~side)) for side in (light, ~light)]
    options = {"n_estimators": 3, "learning_rate": 0.5, "subsample": 1.0, "min_samples_leaf": 1, "random_state": 0}
    booster = c.GradientBoostingRegressor(**options)
    model = c.ConformalRegressor(booster, cv=folds).fit(X, y, w)
    for train, test in folds:
        rows = np.repeat(train, w[train])
        repeated = clone(booster).fit(X[rows], y[rows])
        assert_allclose(model.scores_[test], np.abs(y[test] - repeated.predict(X[test])), rtol=1e-9)


def test_many_levels_are_scored_by_folds():
    """Numbers that stand for them are means over all rows, those out of bag among them."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"place": [f"p{k}" for k in rng.integers(0, 60, 200)], "size": rng.normal(size=200)})
    y = rng.integers(0, 2, 200)
    forest = c.RandomForestClassifier(10, max_samples=0.5, random_state=0)
    assert ConformalClassifier(forest).fit(frame, y).source_ == "out of fold"
    with pytest.raises(ValueError, match="learned from all rows"):
        ConformalClassifier(forest, on="oob").fit(frame, y)


@pytest.mark.parametrize("method", ["base", "plus"])
@pytest.mark.parametrize(
    ("forest", "rows", "message"),
    [
        (c.RandomForestRegressor(1, random_state=0), [0, 1], "every voter of the RandomForestRegressor saw them all"),
        (c.RandomForestRegressor(5, random_state=0), [*range(20)] * 2, "which drew 20 groups"),
        (c.RandomForestRegressor(5, random_state=np.random.RandomState(0)), range(20), "its random_state is"),
    ],
    ids=["drawn", "copies", "generator"],
)
@pytest.mark.filterwarnings("ignore")  # few rows, and copies
def test_rows_that_are_not_out_of_bag_are_scored_by_folds(forest, rows, message, method):
    X = noisy_scores(60)[0][rows]
    assert ConformalRegressor(forest, method=method).fit(X, X[:, 0]).source_ == "out of fold"
    with pytest.raises(ValueError, match=message):
        ConformalRegressor(forest, method=method, on="oob").fit(X, X[:, 0])


def test_texts_are_split_in_their_order_and_searches_set_inner_parameters():
    texts, y = ["good day", "bad day", "good", "bad", "very good", "very bad"] * 10, ["up", "down"] * 30
    model = ConformalClassifier(make_pipeline(CountVectorizer(), LogisticRegression()), cv=3).fit(texts, y)
    assert model.predict_set(texts).sum() == 60
    X, z = noisy_scores(60)
    grid = {"estimator__alpha": [0.1, 10.0], "alpha": [0.2]}
    search = GridSearchCV(ConformalRegressor(Ridge()), grid, cv=2).fit(X, z)
    assert search.best_estimator_.alpha == 0.2 and search.best_estimator_.predict_interval(X).shape == (60, 2)


APS = {"nonconformity": "aps", "randomised": True, "random_state": 0}
NORMALISED = {"nonconformity": "normalised", "difficulty": c.TreeRegressor(max_depth=2), "random_state": 0}


@pytest.mark.parametrize(
    ("make", "fit_options"),
    [
        (lambda X, y: ConformalClassifier(FOREST, 0.2, per_class=True, method="plus"), {"groups": ["a", None] * 60}),
        (
            lambda X, y: ConformalClassifier(c.TreeVoter(max_depth=3), cv=3, method="plus", **APS),
            {"sample_weight": np.arange(120) % 4},
        ),
        (
            lambda X, y: ConformalClassifier(
                c.Committee.from_estimator(TheirForest(5, random_state=0).fit(X, y)), on="validation"
            ),
            {},
        ),
        (lambda X, y: ConformalClassifier(FrozenEstimator(clone(SCORED_FOREST).fit(X, y)), on="oob"), {}),
        (lambda X, y: ConformalRegressor(c.TreeRegressor(max_depth=3), cv=3, **NORMALISED), {}),
    ],
    ids=["oob", "aps", "trained", "frozen", "numbers"],
)
def test_a_loaded_model_predicts_the_same(make, fit_options, tmp_path):
    X, y = numbers(3)
    labels = np.array(["ant", "bee", "cow"])[y]
    model = make(X, labels)
    of_numbers = isinstance(model, ConformalRegressor)
    model.fit(X, X[:, 0] if of_numbers else labels, **fit_options)
    model.save(tmp_path / "model")
    loaded = c.load(tmp_path / "model")
    given = {name: value for name, value in fit_options.items() if name == "groups"}
    predict = "predict_interval" if of_numbers else "p_values"
    assert_array_equal(getattr(loaded, predict)(X, **given), getattr(model, predict)(X, **given))
    assert loaded.get_params().keys() == model.get_params().keys()
    assert loaded.source_ == model.source_ and type(loaded.estimator_) is type(model.estimator_)
    again = tmp_path / "again"
    loaded.save(again)
    assert again.read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("cv", [None, 3])
@pytest.mark.filterwarnings("ignore:y holds one class only")
def test_a_model_of_one_class_is_saved_and_loaded(cv, tmp_path):
    X, _ = numbers(2, 40)
    model = ConformalClassifier(FOREST, method="plus", cv=cv).fit(X, np.zeros(40, dtype=int))
    model.save(tmp_path / "model")
    assert_array_equal(c.load(tmp_path / "model").p_values(X), model.p_values(X))
    assert model.predict_set(X).all()


def test_estimators_of_other_libraries_are_not_saved(tmp_path):
    X, y = numbers(2)
    with pytest.raises(TypeError, match="cannot be saved: a model file holds only known classes of committee"):
        ConformalClassifier(LogisticRegression()).fit(X, y).save(tmp_path / "model")


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (ConformalClassifier(FrozenEstimator(c.TreeVoter())), "not fitted"),
        (ConformalClassifier(FOREST, on="validation"), "is for a trained model; put it in a"),
        (ConformalClassifier(FOREST, on="oob", cv=3), "on='oob' has no folds, and cv=3 asks for them"),
        (ConformalClassifier(c.TreeVoter(), on="oob"), "does not; give one with a bootstrap"),
        (ConformalClassifier(c.CommitteeClassifier("fast", cv=2), method="plus"), 'use method="base", or, unless it'),
        (ConformalClassifier(FOREST, randomised=True), "randomised=True is for nonconformity='aps'"),
        (ConformalClassifier(c.MarginReweighter(FOREST)), "which is made from a trained ensemble"),
        (ConformalClassifier(FOREST, cv=ShuffleSplit(1, train_size=0.5, test_size=0.2)), "each fold must be trained"),
        (ConformalClassifier(FOREST, cv=ShuffleSplit(3, test_size=0.5, random_state=0)), "several test sets"),
        (ConformalClassifier(FOREST, cv=GroupKFold(3)), "splits by groups, which it is not given; give its splits"),
        (ConformalClassifier(LinearSVC()), r"estimator=LinearSVC\(\) has no predict_proba"),
        (ConformalClassifier(Ridge()), r"Ridge\(\) is a regressor; ConformalRegressor is for those"),
        (ConformalRegressor(LogisticRegression()), "is a classifier; ConformalClassifier is for those"),
        (ConformalClassifier("forest"), "estimator='forest' is no estimator"),
        (ConformalClassifier(FOREST, 1.0), "The 'alpha' parameter of ConformalClassifier must be"),
        (ConformalRegressor(Ridge(), nonconformity="quantile"), "needs an estimator that predicts a lower and an"),
        (
            ConformalRegressor(c.GradientBoostingRegressor(3, loss="quantile", quantile=[0.1, 0.9])),
            "estimator predicts 2",
        ),
        (ConformalRegressor(Ridge(), nonconformity="normalised", method="plus"), "expected errors without each row"),
        (ConformalRegressor(Ridge(), difficulty=Ridge()), "difficulty is for nonconformity='normalised'"),
    ],
    ids=lambda part: "" if isinstance(part, str) else " ".join(repr(part).split()),
)
def test_refused(model, message, monkeypatch):
    use_small_members(monkeypatch)
    X, y = numbers(2, 60)
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)
    assert not hasattr(model, "estimator_")


def test_trained_models_need_on():
    X, y = numbers(3)
    trained = FrozenEstimator(clone(SCORED_FOREST).fit(X[:60], y[:60]))
    with pytest.raises(ValueError, match="on='auto', cv=None do not define the rows"):
        ConformalClassifier(trained).fit(X[60:], y[60:])
    held = ConformalClassifier(trained, on="validation").fit(X[60:], y[60:])
    assert_allclose(held.scores_, 1.0 - trained.predict_proba(X[60:])[np.arange(60), y[60:]])
    with pytest.raises(ValueError, match="y holds 7, which is not a class of the estimator"):
        ConformalClassifier(trained, on="validation").fit(X, y + 7 * (y == 2) - 2 * (y == 2))
    other = ConformalClassifier(trained, on="validation").fit(X[60:], [7, *y[61:]], [0.0] + [1.0] * 59)
    assert_array_equal(other.scores_[1:], held.scores_[1:])  # a row that is absent may be of any class
    line = FrozenEstimator(Ridge().fit(X, y))
    with pytest.raises(ValueError, match="is fitted to errors, and there are 1 of them"):
        ConformalRegressor(line, on="validation", nonconformity="normalised").fit(X[:1], y[:1])
    for rows, message in (
        (slice(60, 100), "or its parameters have changed"),
        (slice(60, 120), "of row 0 differs from the one"),
    ):
        with pytest.raises(ValueError, match=message):
            ConformalClassifier(trained, on="oob").fit(X[rows], y[rows])
    bare = c.RandomForestClassifier(20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="has no stored out-of-bag vote"):
        ConformalClassifier(FrozenEstimator(bare), on="oob").fit(X, y)
    with pytest.raises(ValueError, match="may have been chosen by these rows"):
        leaves = c.LeafReweighter(trained.estimator, on="train", max_nodes=0.5).fit(X[:60], y[:60])
        ConformalClassifier(FrozenEstimator(leaves), on="oob").fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="LeafReweighterRegressor may have been chosen by these rows"):
        of_numbers = c.RandomForestRegressor(20, oob_score=True, random_state=0).fit(X[:60], X[:60, 0])
        leaves = c.LeafReweighterRegressor(of_numbers, max_nodes=0.5).fit(X[:60], X[:60, 0])
        ConformalRegressor(FrozenEstimator(leaves), on="oob").fit(X[:60], X[:60, 0])
    for alpha in (0.0, 1.0, "a", True):
        with pytest.raises(ValueError, match="must be a number above 0 and below 1"):
            held.predict_set(X, alpha)
    with pytest.raises(ValueError, match="groups are given, and the fit had none"):
        held.predict_set(X, groups=y)


@pytest.mark.filterwarnings("ignore")  # some groups are small
def test_sparse_formats_and_a_warm_started_bag():
    X, y = numbers(2, 60)
    X = np.rint(X)
    warm = BaggingClassifier(LogisticRegression(), 3, warm_start=True, random_state=0)
    model = ConformalClassifier(warm, 0.5, group_by=0, random_state=0)
    assert model.fit(coo_matrix(X), y).source_ == "out of fold"
    assert_array_equal(model.predict_set(coo_matrix(X)), model.predict_set(csr_matrix(X)))
    assert_array_equal(model.predict(coo_matrix(X)), model.predict(csr_matrix(X)))


def test_guaranteed_coverage_of_the_report():
    X, y = noisy_scores(60)
    frozen = FrozenEstimator(Ridge().fit(X, y))
    held = ConformalRegressor(frozen, on="validation")
    plus = ConformalRegressor(Ridge(), method="plus", cv=6)
    less = min(2 * (1 - 1 / 6) / (60 / 6 + 1), (1 - 6 / 60) / 7)
    for model, given, start in (
        (held, {}, "0.9, on average over samples of scored rows"),
        (held, {"sample_weight": np.arange(60) % 2}, "0.9, on average"),
        (held, {"sample_weight": np.full(60, 2.0)}, "none for weighted rows"),
        (ConformalRegressor(frozen, on="validation", nonconformity="normalised"), {}, "none, as expected errors"),
        (plus, {}, f"{0.8 - less:.4g} if folds are of equal size"),
        (plus, {"groups": ["a", "b"] * 30}, "none for single classes or groups with method="),
        (ConformalRegressor(Ridge(), cv=6), {}, "none; in practice about the target"),
    ):
        grid = sets_grid(model.set_params(random_state=0).fit(X, y, **given))
        assert dict(grid.rows)["guaranteed coverage"].startswith(start)


def test_splits_with_rows_in_no_test_set():
    X, y = noisy_scores(60)
    model = ConformalRegressor(Ridge(), cv=list(KFold(6).split(X))[:3]).fit(X, y)
    assert_array_equal(np.isfinite(model.scores_), np.arange(60) < 30)
    assert model.known_.count.tolist() == [30.0]
