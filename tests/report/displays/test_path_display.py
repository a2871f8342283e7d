"""Pictures of QuadBoost's path and of what cross-validation chose."""

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from committee import QuadBoostClassifierCV, quadboost_path
from committee.report import QuadBoostPathDisplay
from tests.report.displays.drawn import legend_of, whole

LONG = "a_rather_long_name_of_a_column_that_goes_on_and_on"


def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.where(y == 1, "benign", "malignant")


@pytest.fixture(scope="module")
def path():
    X, y = cancer()
    return quadboost_path(X[::2], y[::2], n_alphas=20, eps=0.01)


@pytest.fixture(scope="module")
def model():
    X, y = cancer()
    return QuadBoostClassifierCV(n_alphas=20, eps=0.01, one_standard_error=True).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def grid():
    X, y = cancer()
    return QuadBoostClassifierCV("l2", alphas=[0.3, 1.0, 3.0, 10.0], n_estimators=[3, 30, 300]).fit(X[::2], y[::2])


def curves(ax):
    """The lines that are neither marks nor straight across."""
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


# --- a path ----------------------------------------------------------------------------------------------------------


def test_every_weight_is_drawn_where_it_speaks(path):
    display = whole(QuadBoostPathDisplay.from_path(path))
    weights, risk = display.axes_
    drawn = [line.get_ydata() for line in curves(weights)]
    largest = np.abs(path.weights).max(axis=0)
    assert len(drawn) == np.count_nonzero(largest)
    assert sorted(np.nanmax(np.abs(y)) for y in drawn) == np.sort(largest[largest > 0.0]).tolist()
    for y in drawn:  # a curve begins and ends with one zero, and draws no line along it
        assert not ((y[:-2] == 0.0) & (y[1:-1] == 0.0) & (y[2:] == 0.0)).any()
    np.testing.assert_array_equal(risk.lines[0].get_ydata(), path.risks)
    np.testing.assert_array_equal(risk.lines[0].get_xdata(), path.alphas)


def test_columns_of_the_largest_weights_are_named_and_coloured(path):
    display = whole(QuadBoostPathDisplay.from_path(path, max_columns=3))
    weights = display.axes_[0]
    X, _ = cancer()
    total = np.zeros(X.shape[1])
    np.add.at(total, path.dictionary.stumps.feature, np.abs(path.weights).sum(axis=0))
    names = [X.columns[j] for j in np.argsort(-total)[:3]]
    n_others = np.count_nonzero(total) - 3
    assert legend_of(weights) == [*names, f"{n_others} other columns"]
    colors = {to_hex(line.get_color()) for line in curves(weights)}
    assert len(colors) == 4
    of_first = np.flatnonzero(path.dictionary.stumps.feature == np.argmax(total))
    first = to_hex(weights.get_legend().legend_handles[0].get_color())
    drawn = [line for line in curves(weights) if to_hex(line.get_color()) == first]
    assert len(drawn) == np.count_nonzero(np.abs(path.weights[:, of_first]).max(axis=0))


def test_the_penalty_weakens_to_the_right(path):
    X, y = cancer()
    for ax in QuadBoostPathDisplay.from_path(path).axes_:
        low, high = ax.get_xlim()
        assert low > high and ax.get_xscale() == "log"
    bound = quadboost_path(X[::2].iloc[:, :4], y[::2], penalty="linf", n_alphas=5)
    ax = whole(QuadBoostPathDisplay.from_path(bound)).axes_[1]
    assert ax.get_xlim()[0] < ax.get_xlim()[1]
    assert ax.get_xlabel() == "alpha_max (weaker penalty to the right)"


def test_errors_on_other_rows_are_those_of_the_committees(path):
    X, y = cancer()
    display = whole(QuadBoostPathDisplay.from_path(path, X[1::2], y[1::2]))
    for i in range(0, 20, 4):
        wrong = path.committee(i).predict(X[1::2].to_numpy()) != y[1::2]
        assert display.errors[i, 0] == wrong.mean()
        assert display.standard_errors[i, 0] == pytest.approx(wrong.std(ddof=1) / np.sqrt(len(wrong)))
    assert legend_of(display.axes_[1])[-1] == f"least: {path.alphas[display.errors.argmin()]:.3g}"


def test_numbers_have_squared_errors():
    X, y = load_diabetes(return_X_y=True)
    path = quadboost_path(X[::2], y[::2], n_alphas=6)
    display = whole(QuadBoostPathDisplay.from_path(path, X[1::2], y[1::2]))
    expected = ((path.decision_function(X[1::2]) - y[1::2, None]) ** 2).mean(axis=0)
    np.testing.assert_allclose(display.errors[:, 0], expected)
    assert display.axes_[1].get_ylabel() == "mean squared error"


def test_no_penalty_at_all_stands_beyond_the_weakest():
    X, y = load_breast_cancer(return_X_y=True)
    path = quadboost_path(X[:, :4], y, penalty="l2", alphas=[0.0, 0.001, 0.1])
    ax = whole(QuadBoostPathDisplay.from_path(path)).axes_[1]
    np.testing.assert_allclose(curves(ax)[0].get_xdata(), [0.1, 0.001, 0.001 / 3])
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == "0"
    whole(QuadBoostPathDisplay([0.0], weights=[[0.5, 0.1]], columns=["x", "z"]).plot())


def test_voters_are_counted_where_their_number_changes(path):
    above = QuadBoostPathDisplay.from_path(path).axes_[0].child_axes[0]
    shown = [int(label.get_text()) for label in above.get_xticklabels()]
    at = path.alphas.searchsorted(above.get_xticks(), sorter=np.argsort(path.alphas))
    assert shown == path.n_voters[::-1][at].tolist() and len(shown) == 9
    X, y = cancer()
    ridge = quadboost_path(X.iloc[:, :4], y, penalty="l2", n_alphas=3)
    assert not QuadBoostPathDisplay.from_path(ridge).axes_[0].child_axes


def test_long_names_are_cut_and_none_is_lost_from_the_page():
    X, y = load_iris(return_X_y=True)
    X = pl.DataFrame({f"{LONG}_{j}": X[:100, j] for j in range(4)})
    display = whole(QuadBoostPathDisplay.from_path(quadboost_path(X, y[:100], n_alphas=10)))
    assert all(len(name) <= 28 for name in legend_of(display.axes_[0]))


# --- cross-validation ------------------------------------------------------------------------------------------------


def test_errors_of_the_folds_and_what_was_chosen(model):
    display = whole(QuadBoostPathDisplay.from_cv(model))
    (ax,) = display.axes_
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), model.cv_errors_.mean(axis=2)[:, 0])
    spread = model.cv_errors_[:, 0].std(axis=1, ddof=1) / np.sqrt(5)
    np.testing.assert_allclose(display.standard_errors[:, 0], spread)
    least = model.alphas_[model.cv_errors_.mean(axis=2)[:, 0].argmin()]
    assert legend_of(ax) == [
        "error, mean of 5 folds",
        "± 1 standard error",
        "least + 1 standard error",
        f"least: {least:.3g}",
        f"chosen: {model.alpha_:.3g}",
    ]
    chosen = next(line for line in ax.lines if str(line.get_label()).startswith("chosen"))
    assert chosen.get_xdata()[0] == model.alpha_ > least


def test_the_path_of_the_same_strengths_goes_above(model):
    X, y = cancer()
    path = quadboost_path(X[::2], y[::2], alphas=model.alphas_)
    display = whole(QuadBoostPathDisplay.from_cv(model, path))
    assert [ax.get_ylabel() for ax in display.axes_] == ["weight", "error"]
    dashed = [line.get_xdata()[0] for ax in display.axes_ for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == [model.alpha_, model.alpha_]
    with pytest.raises(ValueError, match="path has other strengths than the model; make it by quadboost_path"):
        QuadBoostPathDisplay.from_cv(model, quadboost_path(X, y, n_alphas=3))


def test_strengths_and_rounds_are_a_map(grid):
    display = whole(QuadBoostPathDisplay.from_cv(grid))
    (ax,) = display.axes_
    mean = grid.cv_errors_.mean(axis=2)
    np.testing.assert_array_equal(ax.images[0].get_array(), mean.T)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["10", "3", "1", "0.3"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["3", "30", "300"]
    chosen = f"chosen, the least: {grid.alpha_:.3g}, {grid.n_estimators_} rounds"
    assert legend_of(ax)[0] == chosen
    ring = next(line for line in ax.lines if line.get_label() == chosen)
    a, t = ring.get_xdata()[0], ring.get_ydata()[0]
    assert (grid.alphas_[a], grid.rounds_[t]) == (grid.alpha_, grid.n_estimators_) and mean[a, t] == mean.min()


def test_rounds_alone_are_a_curve():
    X, y = load_iris(return_X_y=True)
    model = QuadBoostClassifierCV(None, n_estimators=[1, 10, 100]).fit(X, y)
    (ax,) = whole(QuadBoostPathDisplay.from_cv(model)).axes_
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [1, 10, 100])
    assert ax.get_xlabel() == "rounds"
    assert legend_of(ax)[-1].endswith(f"{model.n_estimators_} rounds")


def test_a_map_without_standard_errors_marks_the_least_and_the_chosen():
    errors = [[0.4, 0.3, 0.2], [0.3, 0.1, 0.2]]
    options = {"errors": errors, "rounds": [1, 10, 1000], "penalty": "l2"}
    (ax,) = whole(QuadBoostPathDisplay([1.0, 0.1], **options).plot()).axes_
    assert legend_of(ax) == ["least: 0.1, 10 rounds"]
    (ring,) = ax.lines
    assert (ring.get_xdata()[0], ring.get_ydata()[0]) == (1, 1)
    (ax,) = whole(QuadBoostPathDisplay([1.0, 0.1], **options, chosen=(0, 2)).plot()).axes_
    assert legend_of(ax) == ["chosen: 1, 1,000 rounds", "least: 0.1, 10 rounds"]
    (ax,) = whole(QuadBoostPathDisplay([1.0, 0.1], **options, chosen=(1, 1)).plot()).axes_
    assert legend_of(ax) == ["chosen, the least: 0.1, 10 rounds"]


def test_the_error_of_a_single_strength_is_a_point_with_its_spread():
    display = QuadBoostPathDisplay([0.5], errors=[0.2], standard_errors=[0.05], chosen=0)
    (ax,) = whole(display.plot()).axes_
    assert legend_of(ax) == ["error", "chosen, the least: 0.5", "± 1 standard error"]
    (bar,) = ax.containers
    (spread,) = bar[2][0].get_segments()
    np.testing.assert_allclose(spread, [[0.5, 0.15], [0.5, 0.25]])


def test_the_chosen_position_may_be_a_number_of_numpy():
    errors = np.array([0.4, 0.1, 0.2])
    display = QuadBoostPathDisplay([1.0, 0.1, 0.01], errors=errors, chosen=errors.argmin()).plot()
    assert "chosen, the least: 0.1" in legend_of(display.axes_[0])


# --- where it is drawn, and what it refuses --------------------------------------------------------------------------


def test_many_voters_are_cut_to_the_largest(path):
    ax = whole(QuadBoostPathDisplay.from_path(path, max_voters=10)).axes_[0]
    largest = np.abs(path.weights).max(axis=0)
    drawn = [np.nanmax(np.abs(line.get_ydata())) for line in curves(ax)]
    assert sorted(drawn) == np.sort(largest)[-10:].tolist()
    assert ax.get_legend().get_title().get_text() == f"largest 10 of {np.count_nonzero(largest)} voters"


def test_it_draws_on_axes_that_are_given(path, model):
    axes = Figure().subplots(2, 1)
    display = QuadBoostPathDisplay.from_path(path, axes=axes)
    assert display.axes_ == axes.tolist() and display.figure_ is axes[0].get_figure()
    one = Figure().subplots()
    assert QuadBoostPathDisplay.from_cv(model, axes=one).axes_ == [one]
    with pytest.raises(ValueError, match="axes has 1 axes; there are 2 panels to draw"):
        QuadBoostPathDisplay.from_path(path, axes=one)


def test_it_refuses_what_does_not_fit_together(path):
    with pytest.raises(ValueError, match="nothing to draw"):
        QuadBoostPathDisplay([1.0])
    with pytest.raises(ValueError, match=r"weights has shape \(1, 2\); 1 alphas and 1 columns need \(1, 1\)"):
        QuadBoostPathDisplay([1.0], weights=[[0.5, 0.5]], columns=["x"])
    with pytest.raises(ValueError, match=r"errors has shape \(3,\); 2 alphas and 1 rounds need \(2, 1\)"):
        QuadBoostPathDisplay([1.0, 0.5], errors=[0.1, 0.2, 0.3])
    with pytest.raises(ValueError, match=r"standard_errors has shape \(2,\); 2 alphas and 2 rounds need \(2, 2\)"):
        QuadBoostPathDisplay([1.0, 0.5], errors=np.ones((2, 2)), standard_errors=[0.1, 0.2], rounds=[1, 2])
    with pytest.raises(ValueError, match=r"chosen=2 is no position; there are 2 alphas and 1 rounds, counted from 0"):
        QuadBoostPathDisplay([1.0, 0.5], errors=[0.1, 0.2], chosen=2)
    with pytest.raises(ValueError, match=r"chosen=\(0, -1\) is no position"):
        QuadBoostPathDisplay([1.0, 0.5], errors=np.ones((2, 2)), rounds=[1, 2], chosen=(0, -1))
    X, y = cancer()
    with pytest.raises(ValueError, match="X and y belong together"):
        QuadBoostPathDisplay.from_path(path, X)
    with pytest.raises(ValueError, match="y holds 'ill', which is no class of the path"):
        QuadBoostPathDisplay.from_path(path, X, np.full(len(y), "ill"))
