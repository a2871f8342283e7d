"""Early stopping by a scorer: the score of every round is that of the model it would be."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer, make_scorer
from sklearn.utils.class_weight import compute_sample_weight

import committee
from committee import (
    AdaBoostClassifier,
    ArcGVClassifier,
    DOOMBoostClassifier,
    FunctionalGradientBoostingClassifier,
    FunctionalGradientBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LogitBoostClassifier,
    MDBoostClassifier,
    ProbitBoostClassifier,
    QuadBoostClassifier,
    QuadBoostRegressor,
)
from committee.learners.base.boosting import Boosting
from committee.learners.base.early_stopping import EarlyStopping
from tests.crafted_files import craft, refused, tell
from tests.subjects import assert_same_bits, noisy_scores, numbers, weights

STOPPED = {"early_stopping": True, "n_iter_no_change": 4, "random_state": 0}
CLASSIFIERS = [
    AdaBoostClassifier(25, calibrate=None, **STOPPED),
    AdaBoostClassifier(25, max_depth=2, vote="confidence", calibrate=None, **STOPPED),
    AdaBoostClassifier(25, vote="abstaining", calibrate=None, **STOPPED),
    AdaBoostClassifier(8, voter=LogisticRegression(), calibrate=None, **STOPPED),
    ArcGVClassifier(15, calibrate=None, **STOPPED),
    MDBoostClassifier(2.0, n_estimators=15, max_depth=2, tol=0.01, calibrate=None, **STOPPED),
    DOOMBoostClassifier(n_estimators=20, n_start=5, calibrate=None, **STOPPED),
    ProbitBoostClassifier(25, **STOPPED),
    LogitBoostClassifier(15, learner="stump", **STOPPED),
    QuadBoostClassifier(n_estimators=20, **STOPPED),
    QuadBoostClassifier("l2", n_estimators=12, dictionary="trees", reweight="fully_corrective", **STOPPED),
    QuadBoostClassifier(None, n_estimators=12, fit_intercept=False, **STOPPED),
    GradientBoostingClassifier(n_estimators=20, min_samples_leaf=2, max_leaf_nodes=4, **STOPPED),
    GradientBoostingClassifier("exponential", 20, min_samples_leaf=2, tree="shared", line_search=True, **STOPPED),
    FunctionalGradientBoostingClassifier(n_estimators=12, learning_rate=0.5, **STOPPED),
]
REGRESSORS = [
    QuadBoostRegressor(n_estimators=20, **STOPPED),
    GradientBoostingRegressor(n_estimators=20, min_samples_leaf=2, max_leaf_nodes=4, **STOPPED),
    FunctionalGradientBoostingRegressor(n_estimators=12, learning_rate=0.5, **STOPPED),
    GradientBoostingRegressor("poisson", 20, min_samples_leaf=2, max_leaf_nodes=4, **STOPPED),
]
OF_ERRORS = (AdaBoostClassifier, ArcGVClassifier, MDBoostClassifier, DOOMBoostClassifier)
"""Boosters that stop by the error. They calibrate probabilities when the rounds are over, which is off here."""
quiet = pytest.mark.filterwarnings("ignore:No voter beats", "ignore:A re-weighting ended", "ignore:n_estimators=.* end")


def words(model):
    return " ".join(repr(model).split())


def loss_of(model):
    """The held-out loss that is followed without a scorer."""
    names = ("validation_errors_", "validation_risks_", "validation_losses_")
    return next(getattr(model, name) for name in names if hasattr(model, name))


@pytest.mark.one_in(4)
@quiet
@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1_macro", "roc_auc_ovr", "neg_log_loss"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=words)
def test_the_best_score_is_that_of_the_model_that_is_kept(model, n_classes, scoring):
    X, y = numbers(n_classes, 150)
    X_val, y_val = numbers(n_classes, 90, 7)
    names = np.array(["ant", "bee", "cow"])
    fitted = clone(model).set_params(scoring=scoring).fit(X, names[y], X_val=X_val, y_val=names[y_val])
    scores = fitted.validation_scores_
    assert loss_of(fitted) is None
    assert len(scores) == scores.argmax() + 1
    assert (scores > -np.inf).all()
    assert scores[-1] == pytest.approx(get_scorer(scoring)(fitted, X_val, names[y_val]), abs=1e-12)


@quiet
@pytest.mark.parametrize("scoring", ["r2", "neg_mean_absolute_error"])
@pytest.mark.parametrize("model", REGRESSORS, ids=words)
def test_numbers_too(model, scoring):
    X, y = noisy_scores(150)
    X_val, y_val = noisy_scores(90, 7)
    fitted = clone(model).set_params(scoring=scoring).fit(X, y, X_val=X_val, y_val=y_val)
    scores = fitted.validation_scores_
    assert len(scores) == scores.argmax() + 1
    assert scores[-1] == pytest.approx(get_scorer(scoring)(fitted, X_val, y_val), abs=1e-12)


def test_every_booster_is_there():
    kinds = {type(model).__name__ for model in CLASSIFIERS + REGRESSORS}
    assert kinds == {name for name in committee.LEARNERS if issubclass(committee.learner(name), Boosting)}


@pytest.mark.one_in(3)
@quiet
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", [model for model in CLASSIFIERS if isinstance(model, OF_ERRORS)], ids=words)
def test_a_scorer_of_the_error_keeps_what_the_error_keeps(model, n_classes):
    X, y = numbers(n_classes, 150)
    w = weights(150)
    by_error = clone(model).fit(X, y, w)
    by_score = clone(model).set_params(scoring="accuracy").fit(X, y, w)
    assert_same_bits(by_score, by_error, X)
    assert_allclose(by_score.validation_scores_, 1.0 - by_error.validation_errors_, atol=1e-12)


@quiet
@pytest.mark.parametrize("model", CLASSIFIERS, ids=words)
def test_class_weights_are_weights_of_the_held_out_rows(model):
    X, y = numbers(2, 150)
    given = {0: 0.5, 1: 3.0}
    scored = clone(model).set_params(scoring="f1_macro")
    weighted = clone(scored).set_params(class_weight=given).fit(X, y)
    multiplied = clone(scored).fit(X, y, compute_sample_weight(given, y))
    assert_same_bits(weighted, multiplied, X)
    assert_array_equal(weighted.validation_scores_, multiplied.validation_scores_)


def fitted_by(scoring, y_val=None, **params):
    X, y = numbers(3, 150)
    X_val, labels = numbers(3, 90, 7)
    settings = {"n_estimators": 15, "early_stopping": True, "n_iter_no_change": 3, **params}
    return AdaBoostClassifier(scoring=scoring, **settings).fit(
        X, y, X_val=X_val, y_val=labels if y_val is None else y_val
    )


def test_a_callable_is_given_the_model_and_the_held_out_rows():
    seen = []

    def score(model, X, y):
        seen.append((X.shape, model.predict(X).shape, model.predict_proba(X).shape, model.decision_function(X).shape))
        return float((model.predict(X) == y).mean())

    model = fitted_by(score)
    assert_array_equal(model.validation_scores_, fitted_by("accuracy").validation_scores_)
    assert set(seen) == {((90, 5), (90,), (90, 3), (90, 3))}
    assert len(seen) >= len(model.validation_scores_)


def test_a_callable_that_takes_no_weights_is_refused_where_there_are_some():
    def score(model, X, y):
        return 0.0

    with pytest.raises(ValueError, match=r"scoring=.* takes no sample_weight, but the held-out rows have weights"):
        fitted_by(score, class_weight="balanced")
    model = fitted_by(
        lambda model, X, y, sample_weight: -float(sample_weight @ (model.predict(X) != y)), class_weight="balanced"
    )
    assert model.validation_scores_[-1] <= 0.0


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("acuracy", "scoring='acuracy' is the name of no scorer; sklearn.metrics.get_scorer_names"),
        ("f1", "scoring='f1' cannot judge the held-out rows: Target is multiclass"),
        ("roc_auc", "scoring='roc_auc' cannot judge the held-out rows: multi_class must be in"),
        (lambda model, X, y: np.nan, r"says nothing \(NaN\) of the held-out rows\. Choose another scorer"),
        (lambda model, X, y: None, "cannot judge the held-out rows: float"),
        (lambda model, X, y: model.predict(X[:3]), "is asked for the held-out rows, and may look at no others"),
        (3, "'scoring' parameter of AdaBoostClassifier must be"),
    ],
)
def test_refused(scoring, message):
    with pytest.raises(ValueError, match=message):
        fitted_by(scoring)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "balanced_accuracy", "f1_macro", "accuracy"])
def test_held_out_rows_may_lack_a_class(scoring):
    _, y_val = numbers(3, 90, 7)
    model = fitted_by(scoring, np.where(y_val == 1, 2, y_val))
    assert np.isfinite(model.validation_scores_).all()
    only = fitted_by(scoring, np.full(90, 2))
    assert np.isfinite(only.validation_scores_).all()


def test_a_score_that_needs_every_class_is_refused_where_one_is_missing():
    _, y_val = numbers(3, 90, 7)
    with pytest.raises(ValueError, match=r"scoring='roc_auc_ovr' .* no row of class 1"):
        fitted_by("roc_auc_ovr", np.where(y_val == 1, 2, y_val))


def test_a_loss_is_lowered_and_a_score_raised():
    X, y = numbers(2, 200, 3)
    gain = make_scorer(lambda y, p: float((y == p).mean()))
    cost = make_scorer(lambda y, p: float((y != p).mean()), greater_is_better=False)
    settings = {"early_stopping": True, "random_state": 1}
    up, down = (AdaBoostClassifier(20, scoring=scorer, **settings).fit(X, y) for scorer in (gain, cost))
    assert_same_bits(up, down, X)
    assert_allclose(up.validation_scores_, 1.0 + down.validation_scores_)


def test_files_keep_scores_and_the_name(tmp_path):
    model = fitted_by("f1_macro")
    model.save(tmp_path / "model.safetensors")
    again = committee.load(tmp_path / "model.safetensors")
    assert again.scoring == "f1_macro"
    assert_array_equal(again.validation_scores_, model.validation_scores_)
    with pytest.raises(TypeError, match=r"scoring is a .*, which a model file cannot hold"):
        fitted_by(make_scorer(lambda y, p: 1.0)).save(tmp_path / "other")


@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=words)
def test_a_scorer_without_held_out_rows_is_refused(model):
    X, y = noisy_scores() if model in REGRESSORS else numbers(2)
    judged = clone(model).set_params(early_stopping=False, scoring="r2" if model in REGRESSORS else "accuracy")
    with pytest.raises(ValueError, match=r"scoring='.*' judges held-out rows, and there are none; set early_stopping="):
        judged.fit(X, y)


def test_a_fit_without_a_scorer_has_no_scores():
    X, y = numbers(2)
    assert AdaBoostClassifier(3).fit(X, y).validation_scores_ is None


def test_a_scorer_of_classes_cannot_judge_numbers():
    X, y = noisy_scores()
    with pytest.raises(ValueError, match=r"scoring='roc_auc' cannot judge the held-out rows: .* has none of the"):
        GradientBoostingRegressor(early_stopping=True, scoring="roc_auc").fit(X, y)


class Voteless(GradientBoostingClassifier):
    """A booster of a user's own that follows no votes."""

    _held_out_votes = Boosting._held_out_votes


def test_a_booster_that_shows_no_votes_says_so():
    X, y = numbers(2)
    with pytest.raises(ValueError, match="scoring='accuracy': a Voteless shows scorers no votes; set scoring=None"):
        Voteless(n_estimators=3, early_stopping=True, scoring="accuracy").fit(X, y)


def test_a_warm_start_goes_on_with_the_scores(tmp_path):
    X, y = numbers(2, 200)
    settings = {"early_stopping": True, "n_iter_no_change": 50, "random_state": 0, "min_samples_leaf": 2}
    whole = GradientBoostingClassifier(n_estimators=12, scoring="roc_auc", **settings).fit(X, y)
    part = GradientBoostingClassifier(n_estimators=5, scoring="roc_auc", warm_start=True, **settings).fit(X, y)
    more = part.set_params(n_estimators=12).fit(X, y)
    checked = GradientBoostingClassifier(n_estimators=12, scoring="roc_auc", **settings)
    checked.fit(X, y, checkpoint=tmp_path / "fit")
    assert_array_equal(more.validation_scores_[: len(whole.validation_scores_)], whole.validation_scores_)
    assert_same_bits(checked, whole, X)


@quiet
@pytest.mark.parametrize("kind", [AdaBoostClassifier, GradientBoostingClassifier])
def test_sparse_rows_are_scored_as_dense_ones(kind):
    X, y = numbers(2, 150)
    X[np.abs(X) < 0.5] = 0.0
    dense, sparse = (kind(n_estimators=8, scoring="roc_auc", **STOPPED).fit(rows, y) for rows in (X, csr_array(X)))
    assert_array_equal(dense.validation_scores_, sparse.validation_scores_)


# --- the number of rounds that are kept -------------------------------------------------------------------------------


@quiet
@pytest.mark.parametrize("model", CLASSIFIERS + REGRESSORS, ids=words)
def test_the_best_iteration_is_the_first_best_round_that_patience_reached(model, tmp_path):
    numbers_wanted = model in REGRESSORS
    X, y = noisy_scores(150) if numbers_wanted else numbers(2, 150)
    X_val, y_val = noisy_scores(90, 7) if numbers_wanted else numbers(2, 90, 7)
    given = clone(model).set_params(scoring="r2" if numbers_wanted else "accuracy")
    stopped = clone(given).fit(X, y, X_val=X_val, y_val=y_val)
    watched = clone(given).set_params(early_stopping=False).fit(X, y, X_val=X_val, y_val=y_val)
    assert watched.best_iteration_ is None
    stopping = EarlyStopping(lambda t: -watched.validation_scores_[t - 1], patience=4)
    for t in range(1, len(watched.validation_scores_) + 1):
        if stopping.follow(t):
            break
    assert stopped.best_iteration_ == stopping.best == len(stopped.validation_scores_)
    if isinstance(model, (AdaBoostClassifier, GradientBoostingClassifier, GradientBoostingRegressor)):
        assert stopped.committee_.n_voters == stopped.best_iteration_  # others drop voters without weight
    if not isinstance(getattr(model, "voter", None), LogisticRegression):
        stopped.save(tmp_path / "model")
        assert committee.load(tmp_path / "model").best_iteration_ == stopped.best_iteration_


def test_without_early_stopping_there_is_no_best_iteration():
    X, y = numbers(2)
    model = GradientBoostingClassifier(n_estimators=6, early_stopping=True, random_state=0).fit(X, y)
    assert 1 <= model.best_iteration_ <= 6
    assert model.set_params(early_stopping=False).fit(X, y).best_iteration_ is None
    assert AdaBoostClassifier(3).fit(X, y).best_iteration_ is None


@pytest.mark.parametrize("number", [0, -3, 2.5, True, "two"])
def test_a_best_iteration_that_cannot_be_is_refused(number, tmp_path):
    X, y = numbers(2)
    AdaBoostClassifier(5, calibrate=None, **STOPPED).fit(X, y).save(tmp_path / "model")
    content = craft((tmp_path / "model").read_bytes(), tell("attributes", "best_iteration_", value=number))
    refused(tmp_path / "changed", content, "best_iteration_ is .*; it must be a number of rounds, or None")
