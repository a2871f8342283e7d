"""Temperatures of fitted learners: chosen on held-out rows or by a smaller fit, and never changing an election."""

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.utils._param_validation import InvalidParameterError

import committee
from committee import (
    AdaBoostClassifier,
    ArcGVClassifier,
    BoostingTreeClassifier,
    DOOMBoostClassifier,
    LPBoostClassifier,
    MatryoshkaClassifier,
    MDBoostClassifier,
    ProbabilisticAdaBoostClassifier,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
    TreeVoter,
)
from committee.data.rows import Rows
from committee.learners.base import calibration
from committee.learners.base.calibration import (
    CalibratedClassifier,
    HeldOutEvidence,
    SmallerFit,
    sampled_rows,
    temperature_of,
)
from committee.learners.base.row_sampling import Folds
from committee.vote.links.probability import TemperedMargin, TemperedShare
from committee.vote.links.temperature import best_temperature
from tests.model_files import craft
from tests.subjects import numbers

OUT_OF_BAG = [
    RandomForestClassifier(15, random_state=0),
    SBPMTClassifier(5, 2, 10, random_state=0),
    SBPMTClassifier(5, 2, 10, voting="hard", random_state=0),
    SubaggingClassifier(n_estimators=9, random_state=0),
    SubaggingClassifier(GaussianNB(), n_estimators=5, voting="soft", random_state=0),
]
CROSS_FITTED = [
    AdaBoostClassifier(15, random_state=0),
    AdaBoostClassifier(10, vote="confidence", max_depth=2, random_state=0),
    AdaBoostClassifier(10, vote="abstaining", random_state=0),
    AdaBoostClassifier(4, voter=GaussianNB(), random_state=0),
    LPBoostClassifier(0.8, tol=0.01, random_state=0),
    ArcGVClassifier(8, random_state=0),
    MDBoostClassifier(2.0, tol=0.01, random_state=0),
    DOOMBoostClassifier(n_estimators=8, n_start=4, random_state=0),
    ProbabilisticAdaBoostClassifier(8, random_state=0),
    BoostingTreeClassifier(max_voters=8, random_state=0),
    MatryoshkaClassifier(levels=3, random_state=0),
    MatryoshkaClassifier(levels=3, method="majority", random_state=0),
    ProbitModelTreeClassifier(10),
    RandomForestClassifier(7, bootstrap=False, random_state=0),
    SubaggingClassifier(n_estimators=3, max_samples=1.0, random_state=0),
]
BY_FOLDS = CROSS_FITTED[11:13]  # not by a smaller fit, and independent of the random state
named = {"ids": lambda model: repr(model)[:60]}
all_of_them = pytest.mark.parametrize("model", OUT_OF_BAG + CROSS_FITTED, **named)


def evidence_of(model, X):
    return model.committee_.link.evidence(model.decision_function(X), model.committee_.total_weight)


def test_all_calibrated_learners_are_here():
    assert {type(model) for model in OUT_OF_BAG + CROSS_FITTED} == {
        kind for kind in map(committee.learner, committee.LEARNERS) if issubclass(kind, CalibratedClassifier)
    }


@pytest.mark.parametrize("model", [*OUT_OF_BAG, *CROSS_FITTED, TreeVoter()], **named)
@pytest.mark.parametrize("value", [True, 1])
def test_other_values_are_refused_with_the_valid_ones(model, value):
    message = r"must be a str among \{'auto'\}, a bool among \{False\} or None\. Got " + repr(value)
    with pytest.raises(InvalidParameterError, match=message):
        clone(model).set_params(calibrate=value).fit(*numbers(2, 40))


@pytest.mark.one_in(2)
@all_of_them
@pytest.mark.parametrize("n_classes", [2, 3])
def test_elections_and_scores_stay(model, n_classes):
    X, y = numbers(n_classes, 150)
    new = numbers(n_classes, 400, seed=3)[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = clone(model).set_params(calibrate=None).fit(X, y)
        off = clone(model).set_params(calibrate=False).fit(X, y)
        model = clone(model).fit(X, y)
    assert not hasattr(plain, "temperature_") and not hasattr(off, "temperature_")
    assert off.committee_.link == plain.committee_.link != model.committee_.link
    for rows in (X, new):
        assert_array_equal(model.predict(rows), plain.predict(rows))
        assert_array_equal(model.decision_function(rows), plain.decision_function(rows))
        p = model.predict_proba(rows)
        assert_array_equal(model.classes_[p.argmax(axis=1)], plain.predict(rows))
        assert p.min() > 0.0 or not isinstance(model.committee_.link, TemperedShare)
    for ours, theirs in zip(model.staged_predict(new), plain.staged_predict(new), strict=True):
        assert_array_equal(ours, theirs)
    if isinstance(model, AdaBoostClassifier):
        assert_array_equal(model.estimator_errors_, plain.estimator_errors_)


@pytest.mark.parametrize("model", OUT_OF_BAG, **named)
def test_votes_out_of_bag_choose(model):
    X, y = numbers(3, 150)
    model = clone(model).set_params(oob_score=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    share = model.oob_decision_function_
    n_voters = model.committee_.n_voters
    if isinstance(model, RandomForestClassifier):
        draws = np.random.RandomState(0).randint(2**31 - 1, size=n_voters)
        seen = np.stack([np.bincount(np.random.RandomState(s).randint(150, size=150), minlength=150) for s in draws])
    elif isinstance(model, SBPMTClassifier):
        seen = np.unpackbits(model.draws_, axis=1)[:, :150]
    else:
        random = np.random.RandomState(0)
        seen = np.zeros((n_voters, 150))
        for drawn in seen:
            drawn[random.permutation(150)[:105]] = 1
    n_votes = (seen == 0).sum(axis=0)
    out = n_votes > 0
    assert_array_equal(out, ~np.isnan(share[:, 0]))
    z = np.log(share[out] * n_votes[out, None] + 0.2)
    T = best_temperature(z, y[out].astype(np.uint16), np.ones(out.sum()), int(out.sum()))
    assert model.temperature_ == T and model.committee_.link == TemperedShare(T)
    plain = clone(model).set_params(oob_score=False).fit(X, y)
    assert plain.temperature_ == T and not hasattr(plain, "oob_score_") and not hasattr(plain, "oob_curve_")


@pytest.mark.parametrize("model", OUT_OF_BAG, **named)
@pytest.mark.filterwarnings("ignore:.*rows are in every draw")
def test_votes_out_of_bag_are_scored_without_a_temperature(model):
    X, y = numbers(3, 60)
    plain = clone(model).set_params(calibrate=None).fit(X, y)
    for off in (None, False):
        scored = clone(model).set_params(calibrate=off, oob_score=True).fit(X, y)
        assert 0.0 < scored.oob_score_ <= 1.0 and not hasattr(scored, "temperature_")
        assert scored.committee_.link == plain.committee_.link
        assert_array_equal(scored.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize("model", BY_FOLDS, **named)
def test_fits_on_other_folds_choose(model, monkeypatch):
    monkeypatch.setattr(calibration, "ENOUGH_ROWS", 150)
    X, y = numbers(2, 150)
    model = clone(model).fit(X, y)
    rows = model.training_rows(X, y, None)
    evidence = np.empty((150, 2))
    for fold in Folds.of(rows, 5):
        other = clone(model).set_params(calibrate=None).fit(X[fold.train], y[fold.train])
        evidence[fold.test] = model.committee_.link.evidence(
            other.decision_function(X[fold.test]), other.committee_.total_weight
        )
    T = best_temperature(evidence, rows.labels, np.ones(150), 150)
    assert_allclose(model.temperature_, T, rtol=1e-12)
    link = model.committee_.link
    assert link == (TemperedMargin(T) if isinstance(link, TemperedMargin) else TemperedShare(T))


def test_enough_rows_are_enough(monkeypatch):
    fits = []
    monkeypatch.setattr(
        CalibratedClassifier,
        "_for_fold",
        lambda self, seed, own=CalibratedClassifier._for_fold: fits.append(seed) or own(self, seed),
    )
    for n, n_fits in ((80, 5), (150, 4), (300, 2), (600, 1)):
        fits.clear()
        MatryoshkaClassifier(levels=1, method="majority").fit(*numbers(2, n))
        assert len(fits) == n_fits
    assert calibration.ENOUGH_ROWS == 100


@pytest.mark.parametrize("model", [AdaBoostClassifier(), ArcGVClassifier(20), MatryoshkaClassifier()], **named)
def test_rows_that_come_again_have_been_seen(model):
    """Of a few patterns, each with its rate of a class, the temperature is that of rows to come."""
    random = np.random.default_rng(0)
    pattern = random.choice(12, size=3000, p=np.arange(1, 13) / 78)
    X = np.column_stack([pattern >> bit & 1 for bit in range(4)]).astype(float)
    y = (random.random(3000) < np.linspace(0.1, 0.9, 12)[pattern]).astype(int)
    model = clone(model).set_params(random_state=0).fit(X[:1500], y[:1500])
    committee = model.committee_
    T = best_temperature(evidence_of(model, X[1500:]), y[1500:].astype(np.uint16), np.ones(1500), 1500)
    best = committee.link.tempered(T).probability(model.decision_function(X[1500:]), committee.total_weight)
    assert log_loss(y[1500:], model.predict_proba(X[1500:])) < 1.02 * log_loss(y[1500:], best)


def test_held_out_rows_choose():
    X, y = numbers(2, 150)
    X_val, y_val = numbers(2, 80, seed=7)
    for model in (AdaBoostClassifier(40, early_stopping=True), ArcGVClassifier(40, early_stopping=True)):
        model.fit(X, y, X_val=X_val, y_val=y_val)
        F = model.decision_function(X_val)
        z = np.column_stack([-F / 2, F / 2])
        assert_allclose(model.temperature_, best_temperature(z, y_val.astype(np.uint16), np.ones(80), 80), rtol=1e-12)


@pytest.mark.parametrize(
    "model", [AdaBoostClassifier(3), ArcGVClassifier(3), RandomForestClassifier(1, random_state=0)], **named
)
def test_tiny_tables(model):
    """Classes of one row, folds of nothing, and columns that vary in one fold alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for X, y in (
            ([[0.0], [1.0]], [0, 1]),
            ([[0.0], [1.0], [1.0]], [0, 1, 1]),
            ([[0.0], [0.0], [0.0], [1.0]], [0, 1, 0, 1]),
        ):
            fitted = clone(model).fit(np.array(X), y)
            assert_allclose(fitted.predict_proba(np.array(X)).sum(axis=1), 1.0)
    assert not hasattr(AdaBoostClassifier(3).fit([[0.0], [1.0]], [0, 1]), "temperature_")


def test_a_budget_of_time_leaves_no_time_for_folds():
    model = ProbabilisticAdaBoostClassifier(3, time_budget=60.0).fit(*numbers(2))
    assert not hasattr(model, "temperature_")


@pytest.mark.parametrize(
    "model", [RandomForestClassifier(5, random_state=0), AdaBoostClassifier(5), LPBoostClassifier(0.8)], **named
)
def test_files(model, tmp_path):
    X, y = numbers(3)
    model = clone(model).fit(X, y)
    model.save(tmp_path / "model")
    again = committee.load(tmp_path / "model")
    assert again.temperature_ == model.temperature_ and again.committee_.link == model.committee_.link
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for wrong in (0.0, -1.0, "1", None, True, 3):

        def change(document, arrays, wrong=wrong):
            document["model"]["attributes"]["temperature_"] = wrong

        (tmp_path / "wrong").write_bytes(craft((tmp_path / "model").read_bytes(), change))
        with pytest.raises(committee.ModelFileError, match="temperature_"):
            committee.load(tmp_path / "wrong")


def test_fewer_voters_are_read_by_the_same_temperature():
    X, y = numbers(3, 200)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    pruned = committee.prune(model, X, y, level="voter", max_voters=5, objective="tandem")
    for some in (model.committee_.select(slice(5)), pruned.committee_):
        assert some.link == model.committee_.link
    assert_allclose(pruned.committee_.total_weight, 20.0)  # so that it reads as many votes


@pytest.mark.parametrize("model", [AdaBoostClassifier(30), RandomForestClassifier(30, bootstrap=False)], **named)
def test_many_categories_are_learned_in_each_fold_anew(model):
    """Levels that say nothing look right to those who learned what they stand for from the judged rows."""
    random = np.random.default_rng(0)
    level, x, y = random.integers(0, 300, 600), random.normal(size=600), random.integers(0, 2, 600)
    frame = pl.DataFrame({"level": [f"l{k}" for k in level], "x": x})
    fitted = clone(model).set_params(random_state=0).fit(frame[:400], y[:400])
    assert log_loss(y[400:], fitted.predict_proba(frame[400:])) < 0.71


def test_rows_of_different_levels_are_no_copies():
    """Where levels say nothing they have one number, and rows are equal that were not."""
    random = np.random.default_rng(0)
    pattern, level = random.integers(0, 6, 2000), random.integers(0, 300, 2000)
    y = (random.random(2000) < np.linspace(0.1, 0.9, 6)[pattern]).astype(int)
    columns = {"a": pattern % 2, "b": pattern // 2}
    plain, noisy = pl.DataFrame(columns), pl.DataFrame(columns | {"level": [f"l{k}" for k in level]})
    losses = []
    for frame in (plain, noisy):
        fitted = AdaBoostClassifier().fit(frame[:1000], y[:1000])
        losses.append(log_loss(y[1000:], fitted.predict_proba(frame[1000:])))
    assert losses[1] < losses[0] + 0.01


# --- by a smaller fit: boosters and nested trees ----------------------------------------------------------------------


def size(z, w):
    return np.average(np.abs(z - z.mean(axis=1)[:, None]).mean(axis=1), weights=w)


@pytest.mark.parametrize(
    ("model", "n_classes", "share"),
    [
        (AdaBoostClassifier(30), 2, 1 / 4),
        (AdaBoostClassifier(28), 3, 1 / 4),
        (LPBoostClassifier(0.8, tol=0.01), 3, 1 / 4),
        (DOOMBoostClassifier(n_estimators=30), 3, 1 / 4),
        (ArcGVClassifier(60), 2, 1 / 2),
        (ArcGVClassifier(60), 3, 1 / 2),
        (MDBoostClassifier(tol=0.01), 2, 1),
        (ProbabilisticAdaBoostClassifier(60), 3, 1 / 2),
        (BoostingTreeClassifier(), 2, 1 / 2),
        (MatryoshkaClassifier(), 2, 1 / 2),
        (MatryoshkaClassifier(), 3, 1 / 2),
    ],
)
def test_temperature_by_hand(model, n_classes, share):
    X, y = numbers(n_classes, 420)
    whole = model.set_params(random_state=0).fit(X, y)
    fold = next(iter(Folds.of(whole.training_rows(X, y, None), 2)))
    assert fold.n_test == 210
    n_scores = n_classes if n_classes > 2 and not isinstance(model, AdaBoostClassifier) else 1
    all_rounds = int(np.ceil(whole.committee_.n_voters / n_scores))
    rounds = min(all_rounds, max(25, int(np.ceil(share * all_rounds))))
    name = {BoostingTreeClassifier: "max_voters", MatryoshkaClassifier: "levels"}.get(type(model), "n_estimators")
    most = int(np.log2(rounds)) if name == "levels" else rounds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of programs that end before their optimum
        small = clone(model).set_params(calibrate=None, **{name: most}).fit(X[fold.train], y[fold.train])
    ones, y_train = np.ones(210), y[fold.train].astype(np.uint16)
    z, u = evidence_of(whole, X[fold.train]), evidence_of(small, X[fold.train])
    factor = size(z, ones) / size(u, ones)
    T0 = best_temperature(factor * u, y_train, ones, 210)
    T1 = best_temperature(factor * evidence_of(small, X[fold.test]), y[fold.test].astype(np.uint16), ones, 210)
    T2 = best_temperature(z, y_train, ones, 210)
    q, r = 1 / 2, rounds / all_rounds
    o = max(0.0, np.log2(T1 / T0)) * q / r
    v = 1 / (1 + (o / 0.4) ** 2)
    expected = v * (np.log2(T2) + o) + (1 - v) * (np.log2(T1) - 0.4 * (1 - q * r))
    assert_allclose(np.log2(whole.temperature_), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "rounds", "limits"),
    [
        (DOOMBoostClassifier(), 30, {"n_estimators": 30}),
        (BoostingTreeClassifier(), 30, {"max_voters": 30}),
        (MatryoshkaClassifier(), 32, {"shape": [2] * 5}),
        (MatryoshkaClassifier(), 33, {"shape": [2] * 6}),
        (MatryoshkaClassifier(levels=9), 100, {"shape": [2] * 7}),
        (MatryoshkaClassifier([4, 4, 4]), 16, {"shape": [4, 4]}),
        (MatryoshkaClassifier([4, 4, 4]), 17, {"shape": [4, 4, 4]}),
        (MatryoshkaClassifier("greedy"), 30, {"shape": "greedy", "max_voters": 30}),
    ],
)
def test_limits_of_a_smaller_fit(model, rounds, limits):
    model = clone(model)
    model._limit_rounds(rounds)
    assert {name: getattr(model, name) for name in limits} == limits


def test_training_rows_decide_where_held_out_rows_agree():
    labels, w = np.tile([0, 1, 0, 0], 50).astype(np.uint16), np.ones(200)
    z = np.tile([1.0, -1.0], (200, 1))
    some = HeldOutEvidence(z, labels, w, 200)
    fit = SmallerFit(HeldOutEvidence(3.0 * z, labels, w, 200), some, some)
    assert_allclose(temperature_of([fit], 0.1, 0.5), best_temperature(3.0 * z, labels, w, 200), rtol=1e-12)


def test_few_rows_have_folds_and_many_a_sample(monkeypatch):
    fits = []

    def recorded(self, model, rows, fold, own=AdaBoostClassifier._fitted_on):
        fits.append((len(fold.train), model.n_estimators))
        return own(self, model, rows, fold)

    monkeypatch.setattr(AdaBoostClassifier, "_fitted_on", recorded)
    monkeypatch.setattr(calibration, "MANY_ROWS", 500)
    monkeypatch.setattr(calibration, "MANY_ROWS_PER_VOTER", 0)
    for n, expected in ((150, [(120, 4)] * 4), (396, [(316, 4)] * 2), (402, [(200, 4)])):
        fits.clear()
        AdaBoostClassifier(4).fit(*numbers(2, n))
        assert fits == expected
    fits.clear()
    AdaBoostClassifier(200, learning_rate=0.1).fit(*numbers(2, 1500))
    ((n, rounds),) = fits
    assert 200 < n < 300 and rounds == 50


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(40),
        AdaBoostClassifier(40, vote="confidence", max_depth=2),
        LPBoostClassifier(),
        ArcGVClassifier(),
        MDBoostClassifier(),
        DOOMBoostClassifier(),
        ProbabilisticAdaBoostClassifier(),
        BoostingTreeClassifier(),
        MatryoshkaClassifier(),
    ],
)
def test_a_smaller_fit_is_as_good_as_the_best_temperature(model):
    ratios = []
    for seed in range(3):
        X, y = numbers(2, 2000, seed=seed)
        model.set_params(random_state=0).fit(X[:800], y[:800])
        z = evidence_of(model, X[800:])
        T = best_temperature(z, y[800:].astype(np.uint16), np.ones(1200), 1200)
        p = np.exp(z / T)
        best = log_loss(y[800:], p / p.sum(axis=1)[:, None])
        ratios.append(log_loss(y[800:], model.predict_proba(X[800:])) / best)
    assert np.mean(ratios) < 1.03


def test_samples_do_not_depend_on_the_order_of_rows():
    X = np.random.default_rng(0).normal(size=(2000, 6))
    X[:, :4] = np.round(X[:, :4])  # the first columns do not tell rows apart
    labels = np.r_[np.full(1998, 0), 1, 1].astype(np.uint16)
    order = np.random.default_rng(1).permutation(2000)
    here, there = (
        sampled_rows(Rows(X[at], labels[at], np.ones(2000), True), 400, 1) for at in (np.arange(2000), order)
    )
    assert 300 < len(here) < 500 and (here.labels == 1).sum() == 2
    assert_array_equal(np.sort(here.X, axis=0), np.sort(there.X, axis=0))
