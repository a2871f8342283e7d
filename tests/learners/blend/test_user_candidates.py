"""Estimators of other libraries among the candidates of a committee of ensembles."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from lightgbm import LGBMClassifier, LGBMRegressor
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from xgboost import XGBClassifier, XGBRegressor

from committee import CommitteeClassifier, CommitteeRegressor, GradientBoostingClassifier, certify, load
from committee.learners.blend import blend
from committee.learners.blend.candidates import VOTES
from committee.report.model_pages import render_model
from tests.small_portfolio import BOTH, FAST, answers, rows_for
from tests.subjects import assert_same_bits, noisy_scores, numbers

pytestmark = [
    pytest.mark.usefixtures("small_members"),
    pytest.mark.filterwarnings("ignore:candidates has .*, of other libraries"),
]

OTHER = {CommitteeClassifier: KNeighborsClassifier(3), CommitteeRegressor: KNeighborsRegressor(3)}


class Known(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what its fit is given, and predicts the shares of the classes."""

    def __init__(self, random_state=None, n_jobs=None):
        self.random_state, self.n_jobs = random_state, n_jobs

    def fit(self, X, y, sample_weight=None):
        self.X_, self.y_, self.weights_ = X, y, sample_weight
        self.classes_, counts = np.unique(y, return_counts=True)
        self.shares_ = counts / counts.sum()
        return self

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        return np.tile(self.shares_, (X.shape[0], 1))


@pytest.fixture
def all_stay(monkeypatch):
    """Members of no gain stay."""
    chosen = blend.select_members

    def all_of(members, known, min_gain, *given, **more):
        return chosen(members, known, -1e9, *given, **more)

    monkeypatch.setattr(blend, "select_members", all_of)


def fits_of(model, name=None):
    """The fitted estimators of a member."""
    member = model.member(name or model.member_names_[0])
    return [one.voters.estimators[0] for one in member.voters.members]


def test_regressors_are_trained_out_of_fold_and_averaged():
    X, y = noisy_scores(60)
    weights = np.random.RandomState(0).uniform(0.5, 2.0, len(y))
    cv, regressor = KFold(3), LinearRegression()
    model = CommitteeRegressor(candidates=[regressor], cv=cv, keep_oof=True).fit(X, y, weights)
    held_out, mean = np.empty(len(y)), np.zeros(len(y))
    for train, test in cv.split(X):
        twin = clone(regressor).fit(X[train], y[train], weights[train])
        held_out[test], mean = twin.predict(X[test]), mean + twin.predict(X) / 3.0
    assert_allclose(model.oof_prediction_, held_out)
    assert_allclose(model.predict(X), mean)
    assert_allclose(model.oof_loss_, np.average((held_out - y) ** 2, weights=weights))
    assert not hasattr(regressor, "coef_")


def test_classifiers_get_a_temperature_by_their_out_of_fold_probabilities():
    X, y = numbers(3, 90)
    cv, classifier = StratifiedKFold(3), GaussianNB()
    model = CommitteeClassifier(candidates=[classifier], cv=cv, keep_oof=True).fit(X, y)
    p = cross_val_predict(classifier, X, y, cv=cv, method="predict_proba")
    temperature = model.committee_.voters.members[0].link.temperature
    z = np.log(VOTES * p + 0.2) / temperature
    assert_allclose(model.oof_decision_function_, np.exp(z) / np.exp(z).sum(axis=1, keepdims=True))


@BOTH
def test_a_vote_with_other_libraries(kind):
    X, y = rows_for(kind)
    model = kind(candidates=["default", OTHER[kind]], min_gain=0.0, **FAST).fit(X, y)
    assert model.members_["member"].str.starts_with("kneighbors").sum() == 1
    alone = np.stack([answers(model.member(name), X) for name in model.member_names_])
    assert_allclose(answers(model, X), np.tensordot(model.member_weights_, alone, 1))
    twin = pickle.loads(pickle.dumps(model))
    assert_array_equal(answers(twin, X), answers(model, X))
    assert_array_equal(answers(clone(model).set_params(n_jobs=2).fit(X, y), X), answers(model, X))


@pytest.mark.parametrize(
    ("kind", "network", "of_lightgbm", "of_xgboost"),
    [
        (CommitteeClassifier, MLPClassifier, LGBMClassifier, XGBClassifier),
        (CommitteeRegressor, MLPRegressor, LGBMRegressor, XGBRegressor),
    ],
)
def test_estimators_of_three_libraries_with_labels_of_text_or_numbers(kind, network, of_lightgbm, of_xgboost):
    X, y = rows_for(kind, 90, n_classes=3)
    if kind is CommitteeClassifier:
        y = np.array(["b", "a", "c"])[y]
    candidates = [
        make_pipeline(StandardScaler(), network(hidden_layer_sizes=(4,), solver="lbfgs", max_iter=20)),
        of_lightgbm(n_estimators=2, n_jobs=1, verbose=-1),
        of_xgboost(n_estimators=2, n_jobs=1),
    ]
    model = kind(candidates=candidates, **FAST).fit(X, y)
    names = sorted(each.__name__.lower() for each in (network, of_lightgbm, of_xgboost))
    assert sorted(model.members_["member"]) == names
    assert len(model.member_names_) > 1 and set(model.left_out_.values()) <= {"no weight"}
    alone = np.stack([answers(model.member(name), X) for name in model.member_names_])
    assert_allclose(answers(model, X), np.tensordot(model.member_weights_, alone, 1))
    if kind is CommitteeClassifier:
        assert set(model.predict(X)) <= {"a", "b", "c"}


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_the_frame_as_given_without_identifiers(frame, all_stay):
    rng = np.random.RandomState(0)
    names = [f"K{i:03d}" for i in rng.permutation(80)]
    columns = {"customer": names, "city": list("abcd") * 20, "size": rng.normal(size=80)}
    X, y = frame(columns), np.where(np.arange(80) % 4 < 2, "no", "yes")
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"]), (StandardScaler(), ["size"])), LogisticRegression()
    )
    model = CommitteeClassifier(candidates=[pipeline, ("known", Known())], reserve=0.1, **FAST)
    with pytest.warns(UserWarning, match="'customer' is left out"):
        model.fit(X, y)
    assert (model.predict(X) == y).all() and model.reserve_score_ == 1.0
    given = fits_of(model, "known")[0]
    assert type(given.X_) is frame and list(given.X_.columns) == ["city", "size"]
    assert set(given.y_.tolist()) == {0, 1}
    assert "8 rows" in str(certify(model, X, y, on="oob"))


def test_arrays_and_sparse_tables():
    X, y = numbers(2, 60)
    dense = CommitteeClassifier(candidates=[LogisticRegression()], **FAST).fit(X.astype(np.float32).tolist(), y)
    assert fits_of(dense)[0].n_features_in_ == X.shape[1]
    X = np.where(abs(X) > 1.0, X, 0.0)
    sparse = CommitteeClassifier(candidates=[Known()], **FAST).fit(csr_array(X), y)
    assert isinstance(fits_of(sparse)[0].X_, csr_array) and fits_of(sparse)[0].X_.indptr.dtype == np.int32
    model = CommitteeClassifier(candidates=[LogisticRegression()], **FAST).fit(csr_array(X), y)
    assert_allclose(model.predict_proba(X), model.predict_proba(csr_array(X)))


def test_whole_weights_repeat_the_rows_of_an_estimator_without_weights():
    X, y = noisy_scores(40)
    weights = np.tile([0.0, 1.0, 2.0, 3.0], 10)
    model = CommitteeRegressor(candidates=[KNeighborsRegressor(3)], cv=KFold(2), keep_oof=True).fit(X, y, weights)
    for train, test in KFold(2).split(X):
        times = weights[train].astype(int)
        twin = KNeighborsRegressor(3).fit(np.repeat(X[train], times, axis=0), np.repeat(y[train], times))
        counted = weights[test] > 0.0
        assert_allclose(model.oof_prediction_[test][counted], twin.predict(X[test][counted]))


def test_other_weights_are_refused_by_name():
    X, y = numbers(2, 60)
    weights = np.linspace(0.5, 1.5, 60)
    with pytest.raises(ValueError, match=r"'kneighborsclassifier', .*takes no sample_weight"):
        CommitteeClassifier(candidates=["default", KNeighborsClassifier()], **FAST).fit(X, y, weights)
    with pytest.raises(ValueError, match="weights, of rows or classes"):
        CommitteeClassifier(candidates=[KNeighborsClassifier()], class_weight={0: 2.5}, **FAST).fit(X, y)
    model = CommitteeClassifier(candidates=[Known()], **FAST).fit(X, y, weights)
    assert_allclose(np.ptp(fits_of(model)[0].weights_), 1.0, rtol=0.1)


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([], "candidates is empty"),
        (["lins"], "'lins'; did you mean 'lines'"),
        ([SVC], "is no classifier with fit and get_params"),
        ([SVC()], r"candidates\[0\]=SVC\(\) has no predict_proba.*CalibratedClassifierCV"),
        (["default", Ridge()], r"candidates\[1\]=Ridge\(\) is not a classifier"),
        ([StandardScaler()], "is not a classifier"),
        (["lines", "lines"], "'lines' twice"),
        ([("a", GaussianNB()), ("a", GaussianNB())], "'a' twice"),
        ([("cv", GaussianNB())], "'cv', which is that of a parameter"),
        ([("lines", GaussianNB())], "'lines', which is that of a parameter or candidate"),
        ([("a__b", GaussianNB())], "with '__' in it"),
    ],
)
def test_impossible_candidates_are_refused_before_the_fit(candidates, message):
    with pytest.raises(ValueError, match=message):
        CommitteeClassifier(candidates=candidates, **FAST).fit(*numbers(2, 40))


def test_a_classifier_is_no_candidate_for_numbers():
    with pytest.raises(ValueError, match=r"GaussianNB.* is not a regressor"):
        CommitteeRegressor(candidates=[GaussianNB()], **FAST).fit(*noisy_scores(40))


def test_an_estimator_that_fails_is_left_out_with_a_warning():
    X, y = numbers(2, 60)
    X[3, 0] = np.nan
    model = CommitteeClassifier(candidates=["lines", GaussianNB()], **FAST)
    with pytest.warns(UserWarning, match="'gaussiannb' is left out: its .* raised ValueError: Input X contains NaN"):
        model.fit(X, y)
    assert model.member_names_ == ["lines"] and "NaN" in model.left_out_["gaussiannb"]
    with pytest.warns(UserWarning), pytest.raises(ValueError, match=r"no member could be trained .*gaussiannb"):
        CommitteeClassifier(candidates=[GaussianNB()], **FAST).fit(X, y)


def test_probabilities_that_are_none_are_refused(monkeypatch):
    monkeypatch.setattr(Known, "predict_proba", lambda self, X: np.full((X.shape[0], 2), 0.7))
    with pytest.warns(UserWarning, match="differ from a sum of 1"):
        CommitteeClassifier(candidates=["lines", Known()], **FAST).fit(*numbers(2, 40))


def test_a_class_that_an_estimator_does_not_know_is_unlikely(monkeypatch):
    def fit(self, X, y):
        self.classes_, self.shares_ = np.array([0, 2]), np.array([0.5, 0.5])
        return self

    monkeypatch.setattr(Known, "fit", fit)
    model = CommitteeClassifier(candidates=[Known()], **FAST).fit(*numbers(3, 60))
    p = model.predict_proba(numbers(3, 60)[0])
    assert (p[:, 1] > 0.0).all() and (p[:, 1] < p[:, 0]).all()


def test_seeds_and_threads_are_set_where_they_are_none():
    X, y = numbers(2, 60)
    first, second = fits_of(CommitteeClassifier(candidates=[Known()], **FAST).fit(X, y))
    assert first.random_state != second.random_state and first.n_jobs == 1
    first, second = fits_of(CommitteeClassifier(candidates=[Known(5, 3)], **FAST).fit(X, y))
    assert first.random_state == second.random_state == 5 and first.n_jobs == 3


def test_parameters_of_estimators_by_name():
    model = CommitteeClassifier(candidates=["default", make_pipeline(StandardScaler(), KNeighborsClassifier())])
    name = "kneighborsclassifier"
    model.set_params(**{f"{name}__{name}__n_neighbors": 9})
    assert model.get_params()[f"{name}__{name}__n_neighbors"] == 9
    model.set_params(**{name: GaussianNB()})
    assert model.candidates[0] == "default" and model.candidates[1][0] == name
    twin = clone(model)
    assert isinstance(twin.get_params()[name], GaussianNB) and twin.get_params()[name] is not model.get_params()[name]
    assert "candidates" in model.get_params(deep=False) and name not in model.get_params(deep=False)
    with pytest.raises(ValueError, match="Invalid parameter 'nb'"):
        model.set_params(nb__priors=None)


def test_members_that_a_file_cannot_hold_are_named_once_before_their_fits(monkeypatch):
    X, y = numbers(2, 60)
    warned_before_fit, fit = [], Known.fit
    monkeypatch.setattr(Known, "fit", lambda *given: warned_before_fit.append(len(caught)) or fit(*given))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CommitteeClassifier(candidates=["lines", GaussianNB(), ("known", Known())], **FAST).fit(X, y)
    assert [(one.category, one.filename) for one in caught] == [(UserWarning, __file__)]
    message = "candidates has 'gaussiannb', 'known', of other libraries: model.save refuses .* joblib.dump or skops"
    assert re.match(message, str(caught[0].message)) and warned_before_fit == [1, 1]
    own = CommitteeClassifier(candidates=["lines", ("small", GradientBoostingClassifier(4))], **FAST)
    with warnings.catch_warnings(action="error"):
        own.fit(X, y)


def test_files_hold_the_members_of_the_library(tmp_path, all_stay):
    X, y = numbers(2, 60)
    model = CommitteeClassifier(candidates=["lines", GaussianNB()], **FAST).fit(X, y)
    with pytest.raises(TypeError, match=r"'gaussiannb' is of another library. .*model.without\('gaussiannb'\).*skops"):
        model.save(tmp_path / "model")
    smaller = model.without("gaussiannb")
    smaller.save(tmp_path / "model")
    twin = load(tmp_path / "model")
    assert_array_equal(twin.predict_proba(X), model.member("lines").predict_proba(X))
    assert twin.candidates == ["lines"] and twin.left_out_["gaussiannb"] == "removed" and np.isnan(twin.oof_loss_)
    sizes = model.members_.filter(pl.col("member") == "gaussiannb")
    assert sizes["file_bytes"].to_list() == [None] and sizes["nbytes"][0] > 0


def test_learners_of_the_library_are_trained_as_its_own_candidates(tmp_path):
    X, y = numbers(2, 60)
    boosting = GradientBoostingClassifier(4, max_leaf_nodes=3, min_samples_leaf=4)
    model = CommitteeClassifier(candidates=[("small", boosting)], **FAST).fit(X, y)
    assert model.committee_.n_nodes <= 2 * 4 * 5
    assert model.contributions(X[:2]).shape == (2, X.shape[1] + 1, 2)
    model.save(tmp_path / "model")
    assert_array_equal(load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


def test_without_a_candidate_of_no_weight_the_vote_stays():
    X, y = numbers(2, 60)
    useless = DummyClassifier(strategy="prior")
    model = CommitteeClassifier(candidates=["lines", "forest", ("useless", useless)], **FAST).fit(X, y)
    assert model.left_out_["useless"] == "no weight"
    same = model.without("useless")
    assert same is not model and same.oof_loss_ == model.oof_loss_ and same.left_out_ == model.left_out_
    assert_same_bits(same, model, X)
    first, *others = model.member_names_
    assert model.without("useless", *others).member_names_ == [first]


@BOTH
def test_what_members_of_other_libraries_do_not_have_names_them(kind):
    X, y = rows_for(kind)
    model = kind(candidates=[OTHER[kind]], **FAST).fit(X, y)
    for ask in (lambda: model.contributions(X), lambda: model.prune(0.5), lambda: model.distil(X)):
        with pytest.raises(TypeError, match=r"'kneighbors\w+' is of another library"):
            ask()
    with pytest.raises(AttributeError, match=r"'kneighbors\w+' is of another library"):
        model.feature_importances_  # noqa: B018
    with pytest.raises(ValueError, match="without leaves no member"):
        model.without(*model.member_names_)
    with pytest.raises(ValueError, match="no member 'x'"):
        model.without("x")
    with pytest.raises(ValueError, match="is of no use: candidates has estimators"):
        clone(model).fit(X, y, checkpoint="none")
    with pytest.raises(ValueError, match="X is read in pieces"):
        clone(model).fit(pl.DataFrame(X).lazy(), y)


def test_pages_of_a_model_with_other_members():
    X, y = numbers(2, 60)
    model = CommitteeClassifier(candidates=[KNeighborsClassifier(3)], **FAST).fit(X, y)
    assert "kneighborsclassifier" in render_model(model, X, y)


def test_losses_need_predictions_in_their_domain():
    X, y = noisy_scores(60)
    y = np.exp(y - y.max())
    model = CommitteeRegressor(candidates=["default", LinearRegression()], loss="poisson", **FAST)
    with pytest.warns(UserWarning, match="'linearregression' is left out: predicts -.* poisson loss needs"):
        model.fit(X, y)
    medians = CommitteeRegressor(candidates=[LinearRegression()], loss="absolute_error", cv=KFold(2), keep_oof=True)
    medians.fit(X, y)
    residual = y - cross_val_predict(LinearRegression(), X, y, cv=KFold(2))
    assert_allclose(y - medians.oof_prediction_, residual - np.median(np.append(residual, 0.0)), atol=1e-12)


def test_a_given_size_counts_other_members_by_their_memory(all_stay):
    X, y = numbers(2, 200)
    given = {"candidates": ["lines", ("near", KNeighborsClassifier(3))]}
    assert len(CommitteeClassifier(**given, **FAST).fit(X, y).member_names_) == 2
    model = CommitteeClassifier(**given, max_size="15 kB", **FAST).fit(X, y)
    assert model.left_out_ == {"near": "size"}
