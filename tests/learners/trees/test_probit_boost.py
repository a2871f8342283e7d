"""ProbitBoost and LogitBoost: the fits they converge to, the risk that never rises, and what is read off them."""

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import log_expit, log_ndtr
from sklearn.linear_model import LogisticRegression

from committee import LogitBoostClassifier, ProbitBoostClassifier, ProbitModelTreeClassifier, SBPMTClassifier
from committee.data.bins import Binned
from committee.data.design import Design
from committee.learners.trees.newton_boost import NewtonBoost
from committee.vote.links.probability import Logistic, Probit
from committee.voters.forest import Forest
from committee.voters.model_forest import LinearScores
from tests.model_files import table
from tests.oracles import grow, linear_boost, sbpmt

BOTH = (ProbitBoostClassifier, LogitBoostClassifier)
LEARNERS = ("line", "stump")


def noisy(n_classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 0.01, 1.0] + [0.0, 5000.0, 0.0, 1.0]
    F = (X - X.mean(axis=0)) / X.std(axis=0) @ [1.0, -0.5, 0.3, 0.0] + rng.normal(size=n)
    return X, np.searchsorted(np.quantile(F, np.arange(1, n_classes) / n_classes), F)


def risk(model, F, y, v=None):
    positive = [model.classes_[1]] if len(model.classes_) == 2 else model.classes_
    sign = np.where(y[:, None] == positive, 1.0, -1.0)
    log_p = log_ndtr if isinstance(model, ProbitBoostClassifier) else log_expit
    return -np.average(log_p(sign * F.reshape(sign.shape)), axis=0, weights=v)


def maximum_likelihood(X, y, v, log_p):
    mean, scale = X.mean(axis=0), X.std(axis=0)
    Z, sign = (X - mean) / scale, 2.0 * y - 1.0
    found = minimize(
        lambda b: -(v @ log_p(sign * (b[0] + Z @ b[1:]))), np.zeros(X.shape[1] + 1), method="BFGS", tol=1e-9
    )
    return found.x[0] - found.x[1:] / scale @ mean, found.x[1:] / scale


@pytest.mark.parametrize("selection", ["error", "likelihood"])
@pytest.mark.parametrize("weighted", [False, True])
def test_probit_lines_reach_maximum_likelihood(weighted, selection):
    X, y = noisy()
    v = np.random.default_rng(1).exponential(size=len(y)) if weighted else np.ones(len(y))
    model = ProbitBoostClassifier(5000, selection=selection).fit(X, y, v)
    intercept, coef = maximum_likelihood(X, y, v, log_ndtr)
    # among likelihoods that are equal but for rounding no column is chosen any more
    tolerance = 1e-6 if selection == "error" else 1e-4
    assert_allclose(model.coef_[0] * X.std(axis=0), coef * X.std(axis=0), atol=tolerance)
    assert_allclose(model.intercept_[0], intercept, rtol=tolerance)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_logit_lines_reach_logistic_regression(n_classes):
    """Of each class against the rest where there are more than two."""
    X, y = noisy(n_classes)
    v = np.random.default_rng(1).exponential(size=len(y))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    ours = LogitBoostClassifier(5000).fit(X, y, v)
    F = ours.decision_function(X).reshape(len(y), -1)
    for k in range(F.shape[1]):
        positive = y == (k if n_classes > 2 else 1)
        theirs = LogisticRegression(C=np.inf, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(Z, positive, v)
        assert_allclose(ours.coef_[k] * X.std(axis=0), theirs.coef_[0], atol=1e-5)
        assert_allclose(F[:, k], theirs.decision_function(Z), atol=1e-4)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_line_is_the_score(n_classes):
    X, y = noisy(n_classes)
    model = ProbitBoostClassifier(30).fit(X, y)
    F = X @ model.coef_.T + model.intercept_
    assert model.coef_.shape == ((1 if n_classes == 2 else 3), 4)
    assert_allclose(model.decision_function(X).reshape(F.shape), F, atol=1e-9)
    assert model.design_names_ == ["x0", "x1", "x2", "x3"]
    # what no step chose has no coefficient
    for output, path in enumerate(model.feature_path_):
        assert set(np.flatnonzero(model.coef_[output])) == set(path[path >= 0])
    model.coef_[:] = 0.0  # a copy
    assert model.coef_.any()


@pytest.mark.parametrize("learner", LEARNERS)
def test_tol_ends_the_boosting(learner):
    X, y = noisy()
    model = ProbitBoostClassifier(200, learner=learner, tol=0.01).fit(X, y)
    assert 1 < model.feature_path_.shape[1] < 20
    assert (np.diff(model.risk_path_) <= -0.01).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_columns_that_say_nothing(learner):
    X, y = np.ones((10, 2)), np.arange(10) % 2
    model = ProbitBoostClassifier(5, learner=learner).fit(X, y)
    assert_array_equal(model.decision_function(X), np.zeros(10))
    assert_array_equal(model.predict(X), np.zeros(10))
    assert_array_equal(model.feature_importances_, np.zeros(2))
    assert_array_equal(model.committee_.margins(X, y), np.zeros(10))
    skewed = ProbitBoostClassifier(50, learner=learner).fit(X, [1] * 9 + [0])
    assert_allclose(skewed.predict_proba(X)[:, 1], 0.9, rtol=1e-6)


def best_stump(X, z):
    """Return column and values ``(n,)`` of the stump of least squared error."""

    def stump(j, t):
        left = X[:, j] <= t
        return np.where(left, z[left].mean(), z[~left].mean())

    places = [(j, t) for j in range(X.shape[1]) for t in np.sort(X[:, j])[:-1]]
    j, t = min(places, key=lambda place: ((z - stump(*place)) ** 2).sum())
    return j, stump(j, t)


def test_a_step_is_the_stump_of_least_squared_error():
    X, y = noisy(n=60)
    model = ProbitBoostClassifier(1, learner="stump").fit(X, y)
    column, values = best_stump(X, np.where(y == 1, 1.0, -1.0) * np.sqrt(np.pi / 2.0))
    assert model.feature_path_.tolist() == [[column]]
    assert_allclose(model.decision_function(X), values, rtol=1e-9)


def test_categories():
    X, y = table()
    y = (y == 2).astype(int)  # colour is "b"
    lines = ProbitBoostClassifier(20).fit(X, y)
    assert {"colour = b", "colour missing", "size missing", "rate of 1 by place"} <= set(lines.design_names_)
    assert lines.coef_[0][lines.design_names_.index("colour = b")] > 0.0
    assert lines.feature_importances_.argmax() == 1
    stumps = ProbitBoostClassifier(20, learner="stump").fit(X, y)
    assert stumps.feature_path_[0, 0] == 1
    for model in (lines, stumps):
        assert model.score(X, y) >= 0.95
        assert_array_equal(model.predict_proba(X.to_pandas()), model.predict_proba(X))
        unseen = pl.DataFrame({"size": [0.1], "colour": ["mauve"], "place": ["p1"]})
        absent = pl.DataFrame({"size": [0.1], "colour": pl.Series([None], dtype=pl.String), "place": ["p1"]})
        assert_array_equal(model.predict_proba(unseen), model.predict_proba(absent))


@pytest.mark.parametrize(
    ("Booster", "steps"),
    [(ProbitBoostClassifier, "newton"), (LogitBoostClassifier, "newton"), (ProbitBoostClassifier, "gradient")],
)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_early_stopping_keeps_the_steps_of_least_held_out_risk(Booster, steps, learner, n_classes):
    X, y = noisy(n_classes, n=400)
    train, held = slice(0, 200), slice(200, None)
    settings, given = {"learner": learner, "steps": steps}, {"X_val": X[held], "y_val": y[held]}
    model = Booster(60, **settings, early_stopping=True, n_iter_no_change=5).fit(X[train], y[train], **given)
    risks = []
    for n_steps in range(1, len(model.validation_risks_) + 1):
        shorter = Booster(n_steps, **settings).fit(X[train], y[train])
        F = shorter.decision_function(X[held]).reshape(200, -1)
        joint = linear_boost.risk("probit", F, y[held], np.ones(200))
        risks.append(joint if steps == "gradient" else risk(shorter, F, y[held]).sum())
    assert_allclose(model.validation_risks_, risks, rtol=1e-9)
    best = int(np.argmin(risks)) + 1
    assert model.feature_path_.shape[1] == best
    assert len(risks) == min(best + 5, 60)
    plain = Booster(best, **settings).fit(X[train], y[train])
    assert_array_equal(model.decision_function(X), plain.decision_function(X))
    assert plain.validation_risks_ is None


def test_stumps_have_no_line():
    X, y = noisy()
    with pytest.raises(ValueError, match=r"selection='likelihood' chooses among lines"):
        ProbitBoostClassifier(learner="stump", selection="likelihood").fit(X, y)
    model = LogitBoostClassifier(3, learner="stump").fit(X, y)
    for name in ("coef_", "intercept_", "design_names_"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="this model has stumps"):
        model.coef_  # noqa: B018


@pytest.mark.parametrize("learner", LEARNERS)
def test_importances(learner):
    X, y = noisy(3)
    model = ProbitBoostClassifier(20, learner=learner).fit(X, y)
    assert_allclose(model.feature_importances_.sum(), 1.0)
    assert model.feature_importances_.argmax() == 0
    if learner == "line":
        fall = (model.risk_path_[:, :-1] - model.risk_path_[:, 1:])[model.feature_path_ == 0].sum()
        total = (model.risk_path_[:, 0] - model.risk_path_[:, -1]).sum()
        assert_allclose(model.feature_importances_[0], fall / total, rtol=1e-9)


def test_linear_scores_are_voters():
    X, y = noisy(3)
    voters = ProbitBoostClassifier(10).fit(X, y).committee_.voters
    assert voters.kind == "score" and len(voters) == 1 and voters.n_nodes.tolist() == [1]
    assert_array_equal(voters.spread, [40.0])
    twice = LinearScores.concatenate([voters, voters])
    assert isinstance(twice[[1]], LinearScores) and twice[[1]].cap == voters.cap
    assert_array_equal(twice[[1]].tally(X), voters.tally(X))
    assert_allclose(twice.tally(X, np.array([1.0, -3.0])), -2.0 * voters.tally(X), rtol=1e-12)
    assert voters.votes(X).shape == (300, 1, 3)


@pytest.mark.parametrize(("risk", "halvings"), [(1.0, 0), (0.0, 30)])
def test_the_share_of_a_step_is_that_of_the_scores_returned(risk, halvings):
    boost = NewtonBoost(2, "logit", 1, by_likelihood=False, tol=0.0, max_bins=255, threads=1)
    f, step, sign = np.zeros(4), np.full(4, 2.0), np.array([1.0, 1.0, 1.0, -1.0])
    after, _, share = boost.shortened(f, step, sign, np.ones(4), risk)
    assert share == 0.5**halvings
    assert_array_equal(after, f + share * step)


def test_early_stopping_walks_the_lines_of_large_numbers():
    rng = np.random.default_rng(0)
    X, y = 1e150 * rng.uniform(-1, 1, size=(60, 2)), rng.integers(0, 2, 60)
    with np.errstate(over="raise", invalid="raise"):
        model = ProbitBoostClassifier(5, early_stopping=True, random_state=0).fit(X, y)
    assert np.isfinite(model.validation_risks_).all()


def noisy_classes(n_classes=3, n=150, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 3))
    y = (Z @ rng.normal(size=(3, n_classes)) + rng.gumbel(size=(n, n_classes))).argmax(axis=1)
    y[:n_classes] = range(n_classes)
    return Z * [1.0, 100.0, 0.01] + [0.0, 5000.0, 0.0], y


@pytest.mark.parametrize("n_classes", [2, 3])
def test_lines_reach_the_greatest_likelihood(n_classes):
    X, y = noisy_classes(n_classes)
    v = np.random.default_rng(1).exponential(size=len(y))
    model = ProbitBoostClassifier(3000, steps="gradient").fit(X, y, v)
    A = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    K = 1 if n_classes == 2 else n_classes
    found = minimize(
        lambda b: linear_boost.risk("probit", A @ b.reshape(4, K), y, v), np.zeros(4 * K), method="BFGS", tol=1e-8
    )
    newton = ProbitBoostClassifier(3000).fit(X, y, v)
    if n_classes == 2:
        assert_allclose(model.risk_path_[:, -1].sum(), found.fun, rtol=1e-8)
        assert_allclose(model.predict_proba(X), newton.predict_proba(X), atol=1e-5)
    else:  # whose likelihood still rises by little as all scores sink together
        apart = -np.average(np.log(newton.predict_proba(X)[np.arange(len(y)), y]), weights=v)
        assert 0.0 < model.risk_path_[:, -1].sum() - found.fun < 0.2 * (apart - found.fun)


@pytest.mark.parametrize("steps", ["newton", "gradient"])
@given(st.integers(0, 10_000), st.sampled_from(BOTH), st.sampled_from(LEARNERS), st.integers(2, 4), st.booleans())
@example(4, LogitBoostClassifier, "stump", 3, False)  # steps overshoot
def test_the_risk_never_rises_and_is_that_of_the_scores(steps, seed, Booster, learner, n_classes, separable):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 3)).round(int(rng.integers(0, 3)))
    y = np.searchsorted([-0.6, 0.0, 0.5][: n_classes - 1], X[:, 0] + (0.0 if separable else 0.7) * rng.normal(size=40))
    y[:n_classes] = range(n_classes)
    X[rng.random(X.shape) < 0.1] = np.nan
    v = rng.exponential(size=40)
    model = Booster(25, learner=learner, steps=steps).fit(X, y, v)
    assert (np.diff(model.risk_path_, axis=1) <= 1e-12).all()
    F, P = model.decision_function(X).reshape(40, -1), model.predict_proba(X)
    assert np.abs(F).max() <= (20.0 if Booster is ProbitBoostClassifier else 40.0) * (1 + 1e-9)
    assert_array_equal(model.predict(X), P.argmax(axis=1))
    link = "probit" if Booster is ProbitBoostClassifier else "logit"
    assert model.committee_.link == (Probit() if link == "probit" else Logistic(1.0))
    assert isinstance(model.committee_.voters, LinearScores if learner == "line" else Forest)
    assert_allclose(P, np.exp(linear_boost.log_shares(link, F)), atol=1e-9)
    assert model.risk_path_.shape == (model.feature_path_.shape[0], model.feature_path_.shape[1] + 1)
    if steps == "newton":
        assert_allclose(model.risk_path_[:, 0], np.log(2.0), rtol=1e-12)
        assert_allclose(model.risk_path_[:, -1], risk(model, F, y, v), rtol=1e-7, atol=1e-12)
    else:
        assert_allclose(model.risk_path_[:, 0].sum(), np.log(n_classes), rtol=1e-12)
        assert_allclose(model.risk_path_[:, -1].sum(), linear_boost.risk(link, F, y, v), rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_step_of_stumps_by_hand(n_classes):
    X, y = noisy_classes(n_classes, 40)
    model = ProbitBoostClassifier(1, learner="stump", steps="gradient").fit(X, y)
    K = 1 if n_classes == 2 else n_classes
    F = np.zeros((40, K))
    r = linear_boost.gradient("probit", F, y)
    d = np.empty_like(F)
    for k in range(K):
        j, d[:, k] = best_stump(X, r[:, k])
        assert model.feature_path_[k, 0] == j and ((r - d)[:, k] ** 2).sum() < (r[:, k] ** 2).sum()
    eta = (r * d).sum() / linear_boost.information("probit", F, d).sum()
    assert_allclose(model.decision_function(X).reshape(40, K), eta * d, rtol=1e-6)


@pytest.mark.parametrize("learner", LEARNERS)
def test_weights_of_joint_steps_are_repeated_rows(learner):
    X, y = noisy_classes(3, 200)
    k = np.random.default_rng(0).integers(0, 3, 200)
    model = ProbitBoostClassifier(10, learner=learner, steps="gradient")
    weighed = model.fit(X, y, k).decision_function(X)
    assert_allclose(model.fit(np.repeat(X, k, axis=0), np.repeat(y, k)).decision_function(X), weighed, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_by_hand(n_classes, seed):
    X, y = noisy_classes(n_classes, 120, seed)
    w = np.random.default_rng(seed).exponential(size=120) + 0.05
    model = ProbitModelTreeClassifier(
        5, leaf_steps="gradient", max_depth=1, min_samples_leaf=30, min_impurity_decrease=0.0, calibrate=None
    ).fit(X, y, w)
    binned = Binned.of(X, w, model.table_, 255)
    D = Design.learn(X, w, model.table_.n_categories).matrix(X)
    statistics = grow.class_statistics(y.astype(np.uint16), w, n_classes)
    columns = (binned.codes, binned.bins.n_bins, binned.bins.categorical, "gini", statistics, w)
    nodes = grow.grow(grow.Table(*columns, np.arange(120)), grow.Limits(1, 0, 30, 0.0, 0.0))
    K = 1 if n_classes == 2 else n_classes
    P = np.empty((120, n_classes))
    for leaf, _ in sbpmt.leaves(nodes, binned.codes):
        assert set(y[leaf]) == set(range(n_classes))
        P[leaf] = np.exp(
            linear_boost.log_shares(
                "probit", linear_boost.joint_boost(D[leaf], y[leaf], w[leaf], K, "probit", 5).scores
            )
        )
    assert_allclose(model.predict_proba(X), P, atol=1e-6)
    assert model.risk_path_.shape == (len(model.leaf_models_) // K, K, 6)
    assert_allclose(model.feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("n_leaf_steps", [10, "cv"])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_sbpmt_boosts_such_trees(n_leaf_steps, n_classes):
    X, y = noisy_classes(n_classes, 200)
    model = SBPMTClassifier(
        3, 3, n_leaf_steps, leaf_steps="gradient", emphasis="m2", min_samples_leaf=10, random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.6
    assert (model.errors_ <= model.risks_ / np.log(2.0)).all()
    assert_allclose(model.feature_importances_.sum(), 1.0)


@pytest.mark.parametrize("other", [{"tree": "per_class"}, {"selection": "likelihood"}])
def test_parameters_of_newton_steps_are_refused(other):
    X, y = noisy_classes()
    [name] = other
    for model in (
        ProbitModelTreeClassifier(leaf_steps="gradient", **other),
        SBPMTClassifier(leaf_steps="gradient", **other),
    ):
        with pytest.raises(
            ValueError, match=rf"leaf_steps='gradient' boosts .* {name} is '{other[name]}'\. Set {name}="
        ):
            model.fit(X, y)
    with pytest.raises(ValueError, match=r"selection='likelihood' chooses among Newton steps"):
        ProbitBoostClassifier(steps="gradient", selection="likelihood").fit(X, y)
