"""Committees of ensembles for other losses of numbers: medians, quantiles, counts and amounts."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.base import clone
from sklearn.model_selection import KFold

import committee
from committee import CommitteeRegressor, GradientBoostingRegressor
from committee.learners.blend import portfolio
from committee.learners.blend.portfolio import candidates
from committee.objectives.losses import Derivatives, Huber, Loss, Quantile, Quantiles, Tweedie
from committee.report.members import estimate, left_out_grid, members_grid
from committee.report.model_pages import render_model
from committee.vote.links.mean import Identity, MeanLink
from tests.small_portfolio import out_of_fold
from tests.subjects import assert_same_bits, noisy_scores, weights

pytestmark = pytest.mark.usefixtures("small_members")

FAST = {"effort": "fast", "cv": 3, "random_state": 0, "n_jobs": 1}
POWERS = {"poisson": 1, "gamma": 2, "tweedie": 1.5}
NAMED = ["absolute_error", "quantile", "huber", "poisson", "gamma", "tweedie"]
LOSSES = pytest.mark.parametrize("loss", NAMED)


def amounts(n=150, seed=0):
    X, y = noisy_scores(n, seed)
    return X, np.exp(y / (2.0 * np.abs(y).max()))


class Squares(MeanLink):
    name = "squares"

    def _mean(self, F, total):
        return F**2


class Quartic(Loss):
    """A convex loss that the library does not have."""

    name = "quartic"
    link = Identity()

    def value(self, y, F):
        return 0.25 * (y - F) ** 4

    def gradient_hessian(self, y, F, w=None):
        w = np.ones_like(F) if w is None else w
        return w * (F - y) ** 3, w * np.maximum(3.0 * (y - F) ** 2, 1e-6)


@pytest.mark.one_in(3)
@LOSSES
@pytest.mark.parametrize("weighted", [False, True])
def test_figures_are_those_of_fits_without_the_rows(loss, weighted):
    X, y = amounts()
    w = weights(len(y)) if weighted else None
    folds = list(KFold(3).split(X))
    model = CommitteeRegressor(**FAST | {"cv": folds, "min_gain": 0.0}, loss=loss, quantile=0.8).fit(X, y, w)
    row = np.concatenate([judged for _, judged in folds])
    y, mean, of = y[row], out_of_fold(model, folds, X), None if w is None else w[row]
    if loss == "huber":
        assert_allclose(model.oof_loss_, np.average(Huber().value(y, mean), weights=of))
        return
    own = {"power": POWERS[loss]} if loss in POWERS else {"alpha": 0.8} if loss == "quantile" else {}
    of_loss, of_score = {
        "absolute_error": (metrics.mean_absolute_error, metrics.d2_absolute_error_score),
        "quantile": (metrics.mean_pinball_loss, metrics.d2_pinball_score),
    }.get(loss, (metrics.mean_tweedie_deviance, metrics.d2_tweedie_score))
    assert_allclose(model.oof_loss_, of_loss(y, mean, sample_weight=of, **own), rtol=1e-9)
    # quantiles of weights differ
    assert_allclose(model.oof_score_, of_score(y, mean, sample_weight=of, **own), atol=2e-3 if weighted else 1e-9)


@pytest.mark.one_in(3)
@LOSSES
@pytest.mark.parametrize("effort", ["fast", "default", "best"])
def test_who_is_asked(loss, effort):
    X, y = amounts()
    model = CommitteeRegressor(**FAST | {"effort": effort}, loss=loss).fit(X, y)
    names = {one.name for one in candidates(True, effort)}
    if loss in ("absolute_error", "quantile", "huber"):
        names |= {"boosting_on_loss"} | ({"random_thresholds_on_loss"} if effort != "fast" else set())
    assert {*model.member_names_, *model.left_out_} == names
    assert_allclose(model.member_weights_.sum(), 1.0)
    assert (model.member_losses_ >= model.oof_loss_ * (1 - 1e-6)).all()


@pytest.mark.parametrize("loss", ["absolute_error", "quantile"])
def test_members_for_means_are_moved_to_the_quantile(loss):
    X, y = amounts()
    quantile = 0.5 if loss == "absolute_error" else 0.85
    folds = list(KFold(3).split(X))
    model = CommitteeRegressor(**FAST | {"cv": folds, "min_gain": 0.0}, loss=loss, quantile=quantile).fit(X, y)
    for name in model.member_names_:
        if not name.endswith("on_loss"):
            fits = model.member(name).voters.members
            told = np.concatenate([one.predict(X[judged]) for one, (_, judged) in zip(fits, folds, strict=True)])
            row = np.concatenate([judged for _, judged in folds])
            assert abs(np.mean(y[row] <= told) - quantile) <= 2.5 / len(y)


def test_a_forest_out_of_bag_is_moved(monkeypatch):
    X, y = amounts(400)
    monkeypatch.setattr("committee.learners.blend.portfolio.candidates", lambda *_: candidates(True, "fast")[:1])
    monkeypatch.setattr(
        "committee.learners.blend.portfolio.of_loss", lambda wanted, *_: [replace(wanted[0], moved=True)]
    )
    model = CommitteeRegressor(random_state=0, loss="quantile", quantile=0.9).fit(X, y)
    assert model.member_names_ == ["forest"] and isinstance(model.committee_.voters.members[0].link, Identity)
    forest = model.committee_.voters.members[0]
    assert_allclose(forest.weights, 1.0 / len(forest.weights))
    assert model.oof_score_ > 0.0 and np.mean(y <= model.predict(X)) >= 0.9
    assert_allclose(model.contributions(X).sum(axis=1), model.predict(X), rtol=1e-9)


@LOSSES
def test_predictions_are_where_the_loss_allows_them(loss):
    X, y = amounts()
    y = np.maximum(y - np.median(y), 0.0) + (0.0 if loss in ("poisson", "tweedie") else 0.01)
    model = CommitteeRegressor(**FAST, loss=loss).fit(X, y)
    if loss in POWERS:
        assert (model.predict(10.0 * X) > 0.0).all()
    if loss in ("poisson", "tweedie"):
        expected = f"may predict 0, and the {loss} loss needs predictions in (0, inf)"
        assert model.left_out_["forest"] == expected
    else:
        assert "may predict" not in model.left_out_.get("forest", "")


class OfSquares(Quartic):
    """A loss with a link that committees do not have."""

    link = Squares()


@pytest.mark.parametrize(
    ("loss", "quantile", "message"),
    [
        ("quantiles", 0.5, "is of several numbers, and a committee of ensembles predicts one"),
        (Quantiles((0.1, 0.9)), 0.5, "is of several numbers"),
        (OfSquares(), 0.5, "has the link .*Squares.*, and a committee of ensembles needs an identity or log link"),
        (Derivatives(lambda y, F: (F - y, np.ones_like(F)), of_classes=False), 0.5, "has derivatives and no value"),
        ("log_loss", 0.5, "loss is 'log_loss'; it must be one of .* quantile, huber, .*, or a Loss"),
        *((loss, 0.5, f"the {loss} loss needs targets in") for loss in POWERS),
        ("quantile", 1.0, "The 'quantile' parameter .* must be a float in the range"),
        (lambda y, F: (F - y, np.ones_like(F)), 0.5, "The 'loss' parameter .* must be"),
    ],
)
def test_losses_that_are_refused(loss, quantile, message):
    X, y = noisy_scores()
    model = CommitteeRegressor(**FAST, loss=loss, quantile=quantile)
    with pytest.raises(ValueError, match=message):
        model.fit(X, -y)
    assert not hasattr(model, "committee_")


@pytest.mark.parametrize(
    "loss", [Huber(0.3), Quantile(0.2), Tweedie(1.2), Quartic()], ids=lambda loss: type(loss).__name__
)
def test_losses_with_other_numbers_and_of_ones_own(loss):
    X, y = amounts()
    model = CommitteeRegressor(**FAST, loss=loss).fit(X, y)
    assert 0.0 < model.oof_score_ < 1.0
    assert_same_bits(clone(model).fit(X, y), model, X)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", [*NAMED, Huber(0.3)], ids=repr)
def test_files_and_checkpoints(loss, tmp_path):
    X, y = amounts()
    model = CommitteeRegressor(**FAST, loss=loss).fit(X, y, checkpoint=tmp_path / "fit")
    assert_same_bits(clone(model).fit(X, y, checkpoint=tmp_path / "fit"), model, X)
    model.save(tmp_path / "model.safetensors")
    loaded = committee.load(tmp_path / "model.safetensors")
    assert loaded.number_loss == model.number_loss and loaded.oof_loss_ == model.oof_loss_
    assert_array_equal(loaded.predict(X), model.predict(X))


@pytest.mark.one_in(3)
@LOSSES
def test_contributions_add_up_or_say_why_not_and_no_other_loss_is_distilled(loss):
    X, y = amounts()
    model = CommitteeRegressor(**FAST, loss=loss).fit(X, y)
    if loss in POWERS:
        with pytest.raises(ValueError, match=rf"boosting on the {loss} loss predicts exp\(F\), which is not a sum"):
            model.contributions(X)
    else:
        assert_allclose(model.contributions(X).sum(axis=1), model.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match=f"loss='{loss}': distil estimates what is lost for squared"):
        model.distil(X)


@pytest.mark.one_in(3)
@LOSSES
@pytest.mark.filterwarnings("ignore:.* rows are copies of other rows")
def test_repeated_rows_are_rows_of_weight(loss):
    X, y = amounts()
    times = np.random.default_rng(0).integers(0, 4, len(y))
    rows = np.repeat(np.arange(len(y)), times)
    model = CommitteeRegressor("fast", cv=3, random_state=0, loss=loss, quantile=0.7)
    with pytest.MonkeyPatch.context() as patch:  # draws of a forest take rows as a whole
        patch.setattr(portfolio, "_OF_NUMBERS", dict.fromkeys(portfolio._OF_NUMBERS, ("boosted_lines", "small_trees")))
        weighed, repeated = clone(model).fit(X, y, times), clone(model).fit(X[rows], y[rows])
    assert_allclose(weighed.oof_loss_, repeated.oof_loss_, rtol=1e-4)


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore:n_samples")
@pytest.mark.parametrize("loss", ["squared_error", *NAMED])
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_few_rows_and_constant_targets(loss, n):
    X = np.arange(float(n))[:, None]
    for y in (np.arange(1.0, n + 1.0), np.full(n, 3.0)):
        told = CommitteeRegressor(random_state=0, loss=loss).fit(X, y).predict(X)
        further = y.max() - y.min() + 1e-6  # three rows say little of where a quantile is
        assert (y.min() - further <= told).all() and (told <= y.max() + further).all()


def test_counts_of_nothing_have_means_above_nothing():
    X, _ = noisy_scores()
    model = CommitteeRegressor(**FAST, loss="poisson").fit(X, np.zeros(len(X)))
    assert (model.predict(X) > 0.0).all() and (model.predict(X) < 1e-9).all()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("loss", ["squared_error", "absolute_error", "quantile"])
@pytest.mark.parametrize("unit", [1024.0, 1000.0, 1e-3])
def test_another_unit_is_another_draw_and_no_more(loss, unit, monkeypatch):
    """Where no rows are drawn, weights and leaves are the same ones."""
    whole = {"subsample": 1.0, "learning_rate": 0.1}
    for table in ("_NUMBERS", "_ON_LOSS"):
        settled = {
            name: replace(one, parameters=one.parameters | whole) if one.learner is GradientBoostingRegressor else one
            for name, one in getattr(portfolio, table).items()
        }
        monkeypatch.setattr(portfolio, table, settled)
    X, y = amounts()
    model = CommitteeRegressor(**FAST, loss=loss, quantile=0.8).fit(X, y)
    other = clone(model).fit(X, unit * y)
    assert model.member_names_ == other.member_names_
    assert_allclose(other.member_weights_, model.member_weights_, atol=1e-4)
    assert_allclose(other.predict(X), unit * model.predict(X), rtol=1e-4)


def test_reports_and_pages_name_the_loss():
    X, y = amounts()
    labels = {
        "squared_error": "RMSE",
        "absolute_error": "mean absolute error",
        "quantile": "pinball loss of 0.9",
        "huber": "Huber loss of 1",
        "poisson": "poisson deviance",
        "gamma": "gamma deviance",
        "tweedie": "tweedie deviance",
    }
    for loss, label in labels.items():
        model = CommitteeRegressor(**FAST, loss=loss, quantile=0.9).fit(X, y)
        assert members_grid(model).columns[3] == left_out_grid(model).columns[1] == f"CV {label}"
        score, power = ("R2", 0.5) if loss == "squared_error" else ("D2", 1.0)
        said = estimate(model, y)
        assert f"{model.oof_loss_**power:.4g}"[:4] in said and f"{score} " in said
        if loss in ("squared_error", "quantile", "poisson"):
            text = render_model(model, X, y)
            assert f"out-of-fold {score} {model.oof_score_:.4f}" in text and f"CV {label}" in text
            assert "Mean contributions" in text or loss == "poisson"


def test_a_quantile_is_beaten_by_no_quantile_alone():
    X, y = amounts(600)
    model = CommitteeRegressor(random_state=0, loss="quantile", quantile=0.9).fit(X[:300], y[:300])
    alone = GradientBoostingRegressor(loss="quantile", quantile=0.9, random_state=0).fit(X[:300], y[:300])
    ours, theirs = (metrics.mean_pinball_loss(y[300:], one.predict(X[300:]), alpha=0.9) for one in (model, alone))
    assert ours < 1.05 * theirs
    assert abs(np.mean(y[300:] <= model.predict(X[300:])) - 0.9) < 0.07
