"""Displays of margins (cumulative curves, and the change of every row's margin), and of losses by round."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import AxLine
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from committee import AdaBoostClassifier, GradientBoostingClassifier
from committee.report import EvaluationDisplay, MarginChangeDisplay, MarginDisplay
from committee.vote.margin_distribution import MarginDistribution
from tests.report.displays.drawn import legend_of, whole


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X[::2], y[::2]


@pytest.fixture(scope="module")
def boosted():
    return AdaBoostClassifier(80).fit(*cancer())


def points_of(ax):
    """Points that are drawn, marked ones last."""
    return [line for line in ax.get_lines() if line.get_marker() == "o"]


def test_curves_count_rows_by_their_weights():
    display = MarginDisplay({"a": MarginDistribution([-0.5, 0.5, 0.5], [2.0, 1.0, 1.0])}).plot()
    (line,) = display.ax_.get_lines()[:1]
    np.testing.assert_allclose(line.get_xdata(), [-1.0, -0.5, 0.5, 1.0])
    np.testing.assert_allclose(line.get_ydata(), [0.0, 0.5, 1.0, 1.0])


def test_a_curve_for_each_estimator(boosted):
    X, y = cancer()
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    display = whole(MarginDisplay.from_estimators({"boosting": boosted, "forest": forest}, X, y))
    assert legend_of(display.ax_) == ["boosting", "forest"]
    np.testing.assert_array_equal(display.distributions["boosting"].margins, boosted.committee_.margins(X, y))
    names = list(MarginDisplay.from_estimator([boosted, forest, boosted], X, y).distributions)
    assert names == ["AdaBoostClassifier 1", "RandomForestClassifier", "AdaBoostClassifier 2"]
    first_ten = (np.arange(len(y)) < 10).astype(float)
    display = MarginDisplay.from_estimator(boosted, X, y, first_ten, names=["mine"])
    np.testing.assert_array_equal(display.distributions["mine"].margins, boosted.committee_.margins(X, y)[:10])


def test_stages_are_the_first_voters(boosted):
    X, y = cancer()
    display = whole(MarginDisplay.from_stages(boosted, X, y, rounds=(5, 80)))
    assert legend_of(display.ax_) == ["5", "80"]
    assert display.ax_.get_legend().get_title().get_text() == "voters"
    first = AdaBoostClassifier(5).fit(X, y)
    np.testing.assert_allclose(display.distributions["5"].margins, first.committee_.margins(X, y), rtol=0, atol=1e-12)


@pytest.mark.parametrize(("n_voters", "shown"), [(80, ["20", "80"]), (39, ["39"]), (3, ["3"])])
def test_stages_of_a_quarter_each(boosted, n_voters, shown):
    display = MarginDisplay.from_stages(boosted.committee_.select(slice(n_voters)), *cancer())
    assert list(display.distributions) == shown


def test_margins_fill_the_axes():
    display = MarginDisplay({"a": [0.1, 0.3], "b": [-0.2, 0.0]}).plot()
    assert display.ax_.get_xlim() == pytest.approx((-0.25, 0.35))
    assert MarginDisplay({"a": [-1.0, 1.0]}).plot().ax_.get_xlim() == (-1.0, 1.02)
    low, high = MarginDisplay({"a": [-0.5]}).plot().ax_.get_xlim()
    assert low < -0.5 < 0.0 < high
    name = "a rather long name of an ensemble that goes on and on, "
    whole(MarginDisplay({name + str(i): [0.1, 0.5] for i in range(6)}).plot())
    whole(MarginChangeDisplay([0.1, 0.5], [0.2, 0.4], names=(name, name + "again"), highlighted=[0]).plot())


def test_a_point_for_each_row_and_the_line_of_equality():
    before, after = [-0.2, 0.1, 0.5, 0.6], [0.0, 0.2, 0.3, 0.6]
    display = whole(MarginChangeDisplay(before, after, names=("forest", "new weights")).plot())
    curves, scatter = display.axes_
    assert legend_of(curves) == ["forest", "new weights"]
    points = points_of(scatter)[0]
    np.testing.assert_array_equal(points.get_xdata(), before)
    np.testing.assert_array_equal(points.get_ydata(), after)
    (equality,) = [line for line in scatter.get_lines() if isinstance(line, AxLine)]
    assert equality.get_slope() == 1.0 and np.ptp(equality.get_xy1()) == 0.0
    assert (scatter.get_xlabel(), scatter.get_ylabel()) == ("margin, forest", "margin, new weights")
    assert scatter.get_xlim() == scatter.get_ylim()
    assert scatter.get_legend() is None
    assert (display.share_raised, display.share_lowered) == (0.5, 0.25)
    assert scatter.get_title(loc="left") == "larger for 50.0% of the rows, smaller for 25.0%"


@pytest.mark.parametrize(
    "highlighted", [0.5, [0, 2], np.array([True, False, True, False]), np.array([2, 0], dtype=np.int64)]
)
def test_marked_rows(highlighted):
    before, after = [-0.2, 0.5, 0.1, 0.6], [0.0, 0.3, 0.2, 0.6]
    display = whole(MarginChangeDisplay(before, after, highlighted=highlighted).plot())
    assert display.highlighted.tolist() == [True, False, True, False]
    plain, marked = points_of(display.axes_[1])
    assert sorted(marked.get_xdata()) == [-0.2, 0.1]
    assert sorted(plain.get_xdata()) == [0.5, 0.6]
    assert plain.get_color() != marked.get_color()
    words = "lowest 50% before (2)" if isinstance(highlighted, float) else "marked rows (2)"
    assert legend_of(display.axes_[1]) == [words, "other rows"]


def test_a_share_of_rows_is_rounded_up_and_keeps_equals_together():
    before = np.array([0.0, 0.1, 0.1, 0.2, 0.3])
    counts = [
        int(MarginChangeDisplay(before, before, highlighted=xi).highlighted.sum()) for xi in (0.01, 0.2, 0.3, 0.6, 1.0)
    ]
    assert counts == [1, 1, 3, 3, 5]
    many = MarginChangeDisplay(np.linspace(0, 1, 145), np.linspace(0, 1, 145), highlighted=0.1)
    assert many.highlighted.sum() == 15  # as in the document's Figure 4


def test_changes_of_estimators_on_given_axes(boosted):
    X, y = cancer()
    some = boosted.committee_.select(slice(10))
    display = whole(MarginChangeDisplay.from_estimators(some, boosted, X, y, names=("10", "80"), highlighted=0.1))
    np.testing.assert_array_equal(display.before.margins, some.margins(X, y))
    np.testing.assert_array_equal(display.after.margins, boosted.committee_.margins(X, y))
    figure = Figure()
    ax = figure.subplots()
    assert display.plot(ax) is display and display.axes_ == [ax] and display.figure_ is figure
    pair = Figure().subplots(1, 2)
    assert display.plot(pair).axes_ == pair.tolist()
    with pytest.raises(ValueError, match="axes has 3 axes"):
        display.plot(Figure().subplots(1, 3))
    whole(MarginChangeDisplay([0.5], [0.5], highlighted=1.0).plot())
    m = np.random.default_rng(0).uniform(-1, 1, 20_000)
    display = whole(MarginChangeDisplay(m, m[::-1], highlighted=0.05).plot())
    assert points_of(display.axes_[1])[0].get_rasterized()


def changed(before=(0.1, 0.2), after=(0.1, 0.2), **options):
    return lambda _: MarginChangeDisplay(before, after, **options)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (changed(after=[0.1]), "not the same ones"),
        (changed(after=MarginDistribution([0.1, 0.2], rows=[1, 2])), "not the same ones"),
        (changed(names=("a", "a")), "two different names"),
        (changed(names=("a",)), "two different names"),
        (changed(highlighted=0.0), "above 0 and at most 1"),
        (changed(highlighted=1.5), "above 0 and at most 1"),
        (changed(highlighted=[2]), "row numbers from 0 to 1"),
        (changed(highlighted=[-1]), "row numbers from 0 to 1"),
        (changed(highlighted=[True]), "a mask of 2"),
        (changed(highlighted="all"), "a share of the rows"),
        (changed(before=[0.1, 2.0]), "'before' must be numbers"),
        (lambda _: MarginDisplay({}), "margins is empty"),
        (lambda _: MarginDisplay.from_estimators([], [[0.0]], [0]), "estimators is a list; give a mapping"),
        (lambda _: EvaluationDisplay({}), "curves is empty"),
        (lambda _: EvaluationDisplay({"a": {"loss": []}}), r"curves\['a'\]\['loss'\] has shape \(0,\)"),
        *((lambda _, margins=margins: MarginDisplay({"a": margins}), "'a'") for margins in ([], [2.0], [np.nan])),
        (lambda boosted: MarginDisplay.from_estimator(boosted, *cancer(), names=["a", "b"]), "must be 1 distinct"),
        *(
            (lambda boosted, rounds=rounds: MarginDisplay.from_stages(boosted, *cancer(), rounds=rounds), "1 to 80")
            for rounds in ((), (0, 5), (5, 81), (5, 5), (2.5, 5))
        ),
    ],
)
def test_invalid_arguments_are_refused(boosted, make, match):
    with pytest.raises((ValueError, TypeError), match=match):
        make(boosted)


# --- losses by round --------------------------------------------------------------------------------------------------


def test_losses_by_round_are_drawn_with_the_best():
    X, y = cancer()
    model = GradientBoostingClassifier(
        n_estimators=8, early_stopping=True, scoring=["neg_log_loss", "roc_auc"], return_train_score=True
    ).fit(X, y)
    display = whole(EvaluationDisplay.from_estimator(model))
    assert [ax.get_ylabel() for ax in display.axes_] == ["log loss", "ROC AUC"]
    assert {ax.get_xlabel() for ax in display.axes_} == {f"boosting round (best: {model.best_iteration_})"}
    (legend,) = display.figure_.legends
    assert [text.get_text() for text in legend.get_texts()] == ["training", "validation"]
    for ax, metric, sign in zip(display.axes_, ("neg_log_loss", "roc_auc"), (-1.0, 1.0), strict=True):
        best, *lines = sorted(ax.get_lines(), key=lambda line: line.get_zorder())
        assert best.get_xdata().tolist() == [model.best_iteration_] * 2
        for line, (rows, curves) in zip(lines, model.evals_result_.items(), strict=True):
            assert line.get_label() == rows
            np.testing.assert_array_equal(line.get_ydata(), sign * np.array(curves[metric]))
            np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(curves[metric]) + 1))
    one = EvaluationDisplay.from_estimator(model, "roc_auc")
    assert legend_of(one.ax_) == ["training", "validation"] and one.metrics == ["roc_auc"]
    assert EvaluationDisplay.of(model, ["roc_auc", "neg_log_loss"]).metrics == ["roc_auc", "neg_log_loss"]
    with pytest.raises(ValueError, match=r"metric='auc' was not recorded; there are 'neg_log_loss', 'roc_auc'\."):
        EvaluationDisplay.from_estimator(model, "auc")
    with pytest.raises(ValueError, match="GradientBoostingClassifier has no evals_result_ to draw; fit it with held"):
        EvaluationDisplay.from_estimator(GradientBoostingClassifier(n_estimators=2).fit(X, y))
    with pytest.raises(ValueError, match="RandomForestClassifier has no evals_result_ to draw; give a fitted learner"):
        EvaluationDisplay.from_estimator(RandomForestClassifier(2).fit(X, y))


@pytest.mark.filterwarnings("ignore:The argument 'eval_set' is deprecated")
@pytest.mark.parametrize("package", ["lightgbm", "xgboost"])
def test_losses_of_other_boosters_are_drawn(package):
    library = pytest.importorskip(package, reason="a peer of pyproject's test extra (2026-11-28)")
    X, y = cancer()
    kind = getattr(library, {"lightgbm": "LGBMClassifier", "xgboost": "XGBClassifier"}[package])
    model = kind(n_estimators=5, n_jobs=1).fit(X, y, eval_set=[(X, y)])
    display = EvaluationDisplay.from_estimator(model)
    assert [len(curve) for of_rows in display.curves.values() for curve in of_rows.values()] == [5]
    assert display.best is None


def test_the_best_round_of_xgboost_is_counted_from_one():
    xgboost = pytest.importorskip("xgboost", reason="a peer of pyproject's test extra (2026-11-28)")
    X, y = cancer()
    model = xgboost.XGBClassifier(n_estimators=30, early_stopping_rounds=1, n_jobs=1)
    display = EvaluationDisplay.from_estimator(model.fit(X[::2], y[::2], eval_set=[(X[1::2], y[1::2])], verbose=False))
    (curve,) = model.evals_result()["validation_0"].values()
    assert display.best == np.argmin(curve) + 1 < len(curve)
