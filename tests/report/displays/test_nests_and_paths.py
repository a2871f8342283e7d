"""Displays of graphs of probabilistic voters, of their bounds, and of QuadBoost's paths."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoostClassifier,
    BoostingTreeClassifier,
    MatryoshkaClassifier,
    ProbabilisticAdaBoostClassifier,
    QuadBoostClassifierCV,
    quadboost_path,
)
from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.data.table_schema import TableSchema
from committee.report import BoundDisplay, NestDisplay, QuadBoostPathDisplay
from committee.report.displays.tree_text import voter_words
from committee.voters.probabilistic_voters import SoftStumps
from tests.report.displays.drawn import LONG, assert_apart, legend_of, whole

BLUE, ORANGE = "#0072b2", "#d55e00"


def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return X, np.where(y == 1, "benign", "malignant")


def mixed(n=400):
    rng = np.random.default_rng(3)
    colour = rng.choice(["red", "green", "blue", "grey", "pink", "black", None], n)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.normal(40, 12, n))
    says = (np.isin(colour, ["red", "blue", "pink"]) * 1.5 + (age > 45) + rng.normal(0, 0.7, n)) > 1.0
    frame = {"age": age, "colour": pd.Categorical(colour), "a_column_with_a_name_that_is_far_too_long": rng.random(n)}
    return pd.DataFrame(frame), np.where(says, "yes", "no")


@pytest.fixture(scope="module")
def nest():
    return MatryoshkaClassifier(levels=4).fit(*cancer())


@pytest.fixture(scope="module")
def tree():
    return BoostingTreeClassifier(31).fit(*cancer())


@pytest.fixture(scope="module")
def total():
    return ProbabilisticAdaBoostClassifier(6).fit(*cancer())


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return MatryoshkaClassifier(levels=2).fit(X, np.array(["setosa", "versicolor", "virginica"])[y])


def parts(display, gid):
    return [part for part in [*display.ax_.patches, *display.ax_.lines] if part.get_gid() == gid]


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def title(display):
    return display.ax_.get_title(loc="left").replace("\n", " ")


def lines_of(display):
    """The texts of each line below the heading, from the left."""
    rows = {}
    for text in display.ax_.texts:
        x, y = text.get_position()
        rows.setdefault(round(y, 6), []).append((x, text.get_text()))
    return [[text for _, text in sorted(row)] for _, row in sorted(rows.items())][1:-1]


def bits(*codes):
    return np.array([sum(1 << code for code in codes)], np.uint32)


@pytest.mark.parametrize(
    ("stump", "words"),
    [
        ((0, 1.6, 0.2, True, 0.5, None), "width > 1.6 ± 0.2"),
        ((0, 1.6, 0.2, False, 0.5, None), "width <= 1.6 ± 0.2"),
        ((0, 123456.7, 0.0, True, 1.0, None), "width > 123457 or missing"),
        ((0, -np.inf, 0.0, True, 1.0, None), "always +"),
        ((0, -np.inf, 0.0, True, 0.0, None), "width is not missing"),
        ((0, np.inf, 0.0, True, 1.0, None), "width is missing"),
        ((1, 0.0, 0.0, True, 0.5, bits(4)), "colour = red"),
        ((1, 0.0, 0.0, True, 0.5, bits(0, 1, 2, 3)), "colour ≠ red"),
        ((1, 0.0, 0.0, True, 0.5, bits(0, 4)), "colour in {blue, red}"),
        ((1, 0.0, 0.0, True, 0.5, bits(0, 2, 3)), "colour in {blue, grey, +1}"),
        ((1, 0.0, 0.0, True, 1.0, bits(0, 4)), "colour in {blue, +1, missing}"),
        ((1, 0.0, 0.0, True, 1.0, bits(4)), "colour = red or missing"),
        ((1, 0.0, 0.0, True, 1.0, bits()), "colour is missing"),
        ((1, 0.0, 0.0, True, 0.0, bits()), "always −"),
        ((1, 0.0, 0.0, True, 0.0, bits(0, 1, 2, 3, 4)), "colour is not missing"),
        ((1, 0.0, 0.0, True, 1.0, bits(0, 1, 2, 3, 4)), "always +"),
    ],
)
def test_a_stump_in_words_is_when_it_is_likely_to_say_plus(stump, words):
    table = TableSchema(("width", "colour"), (None, ("blue", "green", "grey", "pink", "red")))
    assert voter_words(SoftStumps.of([stump], n_features=2), 0, table) == words


def test_a_line_says_the_question_its_rows_and_both_answers():
    words, following = ["age > 40", "pulse > 90", "sex = f"], [[1, 2], [-1, 2], [-1, -1]]
    vote = [[0.731, -0.412], [0.2, -0.9], [1.0, -1.0]]
    display = whole(NestDisplay(words, following, vote, [1.0, 0.4, 0.087], subject="score for ill").plot())
    assert title(display) == "score for ill: 3 voters" and display.drawn_ == [0, 1, 2]
    assert lines_of(display) == [
        ["0:  age > 40", "100%", "+0.73", "→ 1", "−0.41", "→ 2"],
        ["+ 1:  pulse > 90", "40%", "+0.20", "ends at +0.93", "−0.90", "→ 2"],
        # of two answers, so below voter 0 and with the scores of both ways
        ["2:  sex = f", "8.7%", "+1.00", "ends at +0.59 to +0.83", "−1.00", "ends at −1.41 to −1.17"],
    ]
    assert [to_hex(dot.get_color()) for dot in parts(display, "voter")] == ["#999999", BLUE, "#999999"]
    x = [dot.get_xdata()[0] for dot in parts(display, "voter")]
    assert x[0] == x[2] < x[1]


def test_first_levels_are_drawn_and_the_rest_is_a_count(tree):
    display = whole(NestDisplay.from_estimator(tree, max_voters=7))
    assert_apart(display)
    following = tree.graph_.next
    level = {0: 0}
    for t, answers in enumerate(following.tolist()):
        level |= {end: level[t] + 1 for end in answers if end >= 0}
    assert len(display.drawn_) == 7 and title(display) == "score for malignant: first 7 of 31 voters"
    last = max(level[t] for t in display.drawn_)
    assert all(t in display.drawn_ for t in level if level[t] < last)
    same = [t for t in level if level[t] == last]
    assert min(tree.reach_[t] for t in same if t in display.drawn_) >= max(
        (tree.reach_[t] for t in same if t not in display.drawn_), default=0.0
    )
    counts = [int(text.split()[-2]) for text in texts(display) if text.startswith("→ …")]
    assert sum(counts) == 31 - 7  # in a tree no voter is counted twice


def test_a_voter_that_no_answer_leads_to_is_not_drawn():
    following = [[2, -1], [2, 2], [-1, -1]]
    display = whole(NestDisplay(["a", "b", "c"], following, np.ones((3, 2)), [1.0, 0.0, 0.5]).plot())
    assert display.drawn_ == [0, 2] and title(display) == "score: first 2 of 3 voters"
    assert [line[0] for line in lines_of(display)] == ["0:  a", "+ 2:  c"]


def test_layouts_of_trees_sums_and_nests(tree, total, nest):
    """A voter of a tree is below and right of the one that leads to it; those of a sum, or of a nest, in one column."""
    display = NestDisplay.from_estimator(tree, max_voters=31)
    assert sorted(display.drawn_) == list(range(31))
    place, dots = {t: i for i, t in enumerate(display.drawn_)}, parts(display, "voter")
    for t, answers in enumerate(tree.graph_.next.tolist()):
        for end, color in zip(answers, (BLUE, ORANGE), strict=True):
            if end >= 0:
                dot = dots[place[end]]
                assert place[end] > place[t] and to_hex(dot.get_color()) == color
                assert dot.get_xdata()[0] > dots[place[t]].get_xdata()[0]
    display = whole(NestDisplay.from_estimator(total))
    dots = parts(display, "voter")
    assert display.drawn_ == list(range(6)) and len(parts(display, "edge")) == 5
    assert {(dot.get_xdata()[0], to_hex(dot.get_color())) for dot in dots} == {(dots[0].get_xdata()[0], "#999999")}
    assert [line[3] == line[5] for line in lines_of(display)] == [True] * 5 + [False]
    display, following = whole(NestDisplay.from_estimator(nest)), nest.graph_.next
    assert sorted(display.drawn_) == list(range(len(following)))
    x = [dot.get_xdata()[0] for dot in parts(display, "voter")]
    first = [t for t, at in zip(display.drawn_, x, strict=True) if at == x[0]]
    assert first == sorted(first)
    assert set(first) - {0} <= {t for t in range(1, len(following)) if (following == t).sum() > 1}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_voters", [64, 256])
def test_many_voters_fit_on_a_page(n_voters):
    X, y = mixed()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*beats a constant vote")
        models = [
            ProbabilisticAdaBoostClassifier(n_voters).fit(X, y),
            BoostingTreeClassifier(n_voters).fit(X, y),
            MatryoshkaClassifier(shape="greedy", max_voters=n_voters).fit(X, y),
            MatryoshkaClassifier(levels=5, collect="sign").fit(X, y),
        ]
    for model in models:
        display = whole(NestDisplay.from_estimator(model))
        assert_apart(display)
        assert max(display.figure_.get_size_inches()) < 11.0 and len(display.drawn_) == min(20, len(display.words))
        shown = " ".join(texts(display))
        assert "colour" in shown and ("{" in shown or "=" in shown)
        assert "a_column_with_a_name_that_is_far_too_long" not in shown


def test_each_class_has_a_graph_of_its_own(flowers):
    scores = {label: NestDisplay.from_estimator(flowers, for_class=label) for label in flowers.classes_.tolist()}
    assert sum(len(display.words) for display in scores.values()) == len(flowers.graph_.next)
    assert title(scores["virginica"]).startswith("score for virginica")
    assert title(NestDisplay.from_estimator(flowers)).startswith("score for setosa")
    X, _ = load_iris(return_X_y=True, as_frame=True)
    display = NestDisplay.from_estimator(flowers, X, for_class="virginica")
    np.testing.assert_allclose(display.reach[0], 1.0)
    assert any(text.startswith("0:  ") for text in texts(display))
    X, y = cancer()
    model = BoostingTreeClassifier(3, voter=DecisionTreeClassifier(max_depth=1), method="majority").fit(X, y)
    assert "0:  DecisionTreeClassifier" in texts(whole(NestDisplay.from_estimator(model)))
    np.testing.assert_allclose(NestDisplay.from_estimator(model, X).reach, model.reach_, atol=1e-4)
    assert not np.allclose(NestDisplay.from_estimator(model, X[:5]).reach, model.reach_, atol=1e-3)


def test_bounds_of_several_models_in_one_picture(nest, tree, total):
    display = whole(BoundDisplay.from_estimators({"nest": nest, "tree": tree, "sum": total}, edge=0.2))
    lines = display.ax_.get_lines()
    assert len(lines) == 6 and legend_of(display.ax_)[:3] == ["nest", "tree", "sum"]
    for line, model in zip(lines, (nest, tree, total), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), model.bounds_)
        assert line.get_xdata()[0] == 1
    assert display.ax_.get_yscale() == "log" and "edge 0.2" in legend_of(display.ax_)[3]


def test_reference_curves_are_what_one_edge_promises():
    display = BoundDisplay({"tree": np.linspace(0.9, 0.5, 20)}, edge=0.2).plot()
    rho = normaliser_of_edge(0.2)
    tree, nested, total = display.ax_.get_lines()[1:]
    np.testing.assert_allclose(tree.get_ydata(), tree_factor(np.arange(1, 21), rho))
    assert nested.get_xdata().tolist() == [1, 2, 4, 8, 16]
    np.testing.assert_allclose(nested.get_ydata(), [two_matryoshka(T, rho) for T in (1, 2, 4, 8, 16)])
    kept = np.isfinite(total.get_ydata())
    np.testing.assert_allclose(total.get_ydata()[kept], rho ** np.arange(1, 21)[kept])


@pytest.mark.parametrize(
    ("least", "labels"),
    [
        (0.9, ["0.9", "0.95", "1"]),
        (0.02, ["0.02", "0.05", "0.1", "0.2", "0.5", "1"]),
        (0.002, ["0.003", "0.01", "0.03", "0.1", "0.3", "1"]),
        (1e-3, ["0.001", "0.01", "0.1", "1"]),
    ],
)
def test_the_axis_of_bounds_is_labelled_at_round_numbers(least, labels):
    axis = BoundDisplay({"sum": np.geomspace(1.0, least, 9)}, edge=None).plot().ax_.yaxis
    low, high = axis.get_view_interval()
    shown = axis.get_major_formatter().format_ticks([x for x in axis.get_majorticklocs() if low <= x <= high])
    assert shown == labels


def test_smallest_edge_is_the_first_model_s(total, tree):
    display = BoundDisplay.from_estimators({"sum": total, "tree": tree})
    assert display.edge == pytest.approx(np.abs(total.edges_).min())
    assert BoundDisplay.from_estimator(total, edge=None).edge is None
    with pytest.warns(UserWarning, match="beats a constant vote"):
        hopeless = ProbabilisticAdaBoostClassifier(3).fit([[0], [0]], [0, 1])
    assert BoundDisplay.from_estimator(hopeless).edge is None  # its curves would lie at 1


def test_bounds_of_scores_add_up(flowers):
    display = whole(BoundDisplay.from_estimator(flowers, edge=0.3))
    line = display.ax_.get_lines()[0]
    assert line.get_ydata()[-1] == pytest.approx(flowers.bound_)
    assert display.ax_.get_xlabel() == "voters of each score"
    one = BoundDisplay.from_estimator(flowers, for_class="setosa", edge=None)
    np.testing.assert_array_equal(one.ax_.get_lines()[0].get_ydata(), flowers.bounds_[: flowers.graph_.start[1]])


@pytest.mark.parametrize("Display", [NestDisplay, BoundDisplay])
def test_given_axes_and_refused_models(nest, flowers, Display):
    figure = Figure(figsize=(5, 4))
    ax = figure.subplots()
    display = Display.from_estimator(nest, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    FigureCanvasAgg(figure).draw()
    with pytest.raises(NotFittedError):
        Display.from_estimator(MatryoshkaClassifier())
    with pytest.raises(ValueError, match="AdaBoostClassifier has no graph"):
        Display.from_estimator(AdaBoostClassifier(2).fit(*cancer()))
    with pytest.raises(ValueError, match="for_class='benign' has no score; choose 'malignant'"):
        Display.from_estimator(nest, for_class="benign")
    with pytest.raises(ValueError, match="one of 'setosa', 'versicolor', 'virginica'"):
        Display.from_estimator(flowers, for_class="rose")


TWO = [1.0, 0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: NestDisplay([], np.empty((0, 2)), np.empty((0, 2)), []), "at least one voter"),
        (lambda _: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0, 0.5]), r"need \(1, 2\)"),
        (lambda _: NestDisplay(["a", "b"], [[1, 0], [-1, -1]], np.ones((2, 2)), [1.0, 0.5]), "leads back"),
        (lambda _: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0], max_voters=0), "max_voters=0"),
        (lambda _: BoundDisplay({}), "bounds is empty"),
        (lambda _: BoundDisplay.from_estimators({}), "bounds is empty"),
        (lambda _: BoundDisplay({"a": [0.5, 0.0]}), "above 0"),
        (lambda _: BoundDisplay({"a": [0.5]}, edge=0.5), r"edge=0.5"),
        (lambda _: BoundDisplay.from_estimators({}, edge="largest"), "edge='largest' is not an edge"),
        (lambda _: QuadBoostPathDisplay([1.0]), "nothing to draw"),
        (
            lambda _: QuadBoostPathDisplay([1.0], weights=[[0.5, 0.5]], columns=["x"]),
            r"weights has shape \(1, 2\); 1 alphas and 1 columns need \(1, 1\)",
        ),
        (
            lambda _: QuadBoostPathDisplay(TWO, errors=[0.1, 0.2, 0.3]),
            r"errors has shape \(3,\); give \(2, 1\), a row for each alpha",
        ),
        (
            lambda _: QuadBoostPathDisplay(TWO, errors=np.ones((2, 2)), standard_errors=[0.1, 0.2], rounds=[1, 2]),
            r"standard_errors has shape \(2,\); give \(2, 2\), a row for each alpha",
        ),
        (
            lambda _: QuadBoostPathDisplay(TWO, errors=[0.1, 0.2], chosen=2),
            "chosen=2 is not a position; there are 2 alphas and 1 rounds, counted from 0",
        ),
        (
            lambda _: QuadBoostPathDisplay(TWO, errors=np.ones((2, 2)), rounds=[1, 2], chosen=(0, -1)),
            r"chosen=\(0, -1\) is not a position",
        ),
        (lambda path: QuadBoostPathDisplay.from_path(path, cancer()[0]), "X and y belong together"),
        (
            lambda path: QuadBoostPathDisplay.from_path(path, cancer()[0], np.full(569, "ill")),
            "y holds 'ill', which is not a class of the path",
        ),
        (
            lambda path: QuadBoostPathDisplay.from_path(path, axes=Figure().subplots()),
            "axes has 1 axes; give one for each of the 2 panels",
        ),
    ],
)
def test_invalid_arguments_are_refused(path, make, message):
    with pytest.raises(ValueError, match=message):
        make(path)


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


def test_errors_on_other_rows_are_those_of_the_committees(path):
    X, y = cancer()
    display = whole(QuadBoostPathDisplay.from_path(path, X[1::2], y[1::2]))
    for i in range(0, 20, 4):
        wrong = path.committee(i).predict(X[1::2].to_numpy()) != y[1::2]
        assert display.errors[i, 0] == wrong.mean()
        assert display.standard_errors[i, 0] == pytest.approx(wrong.std(ddof=1) / np.sqrt(len(wrong)))
    assert legend_of(display.axes_[1])[-1] == f"least: {path.alphas[display.errors.argmin()]:.3g}"


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


def test_axes_of_bounds_numbers_and_long_names(path):
    X, y = cancer()
    for ax in QuadBoostPathDisplay.from_path(path).axes_:
        low, high = ax.get_xlim()
        assert low > high and ax.get_xscale() == "log"
    ax = whole(QuadBoostPathDisplay.from_path(quadboost_path(X.iloc[:, :4], y, penalty="linf", n_alphas=5))).axes_[1]
    assert ax.get_xlim()[0] < ax.get_xlim()[1]
    assert ax.get_xlabel() == "alpha_max (weaker penalty to the right)"
    X, y = load_diabetes(return_X_y=True)
    path = quadboost_path(pl.DataFrame({f"{LONG}_{j}": X[::2, j] for j in range(10)}), y[::2], n_alphas=6)
    display = whole(QuadBoostPathDisplay.from_path(path, X[1::2], y[1::2]))
    expected = ((path.decision_function(X[1::2]) - y[1::2, None]) ** 2).mean(axis=0)
    np.testing.assert_allclose(display.errors[:, 0], expected)
    assert display.axes_[1].get_ylabel() == "mean squared error"
    assert all(len(name) <= 28 for name in legend_of(display.axes_[0]))


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


def test_a_path_of_the_same_strengths_goes_above_and_axes_may_be_given(model):
    X, y = cancer()
    path = quadboost_path(X[::2], y[::2], alphas=model.alphas_)
    display = whole(QuadBoostPathDisplay.from_cv(model, path))
    assert [ax.get_ylabel() for ax in display.axes_] == ["weight", "error"]
    dashed = [line.get_xdata()[0] for ax in display.axes_ for line in ax.lines if line.get_linestyle() == "--"]
    assert dashed == [model.alpha_, model.alpha_]
    with pytest.raises(
        ValueError, match="path has another penalty or other strengths than the model; make it by quadboost_path"
    ):
        QuadBoostPathDisplay.from_cv(model, quadboost_path(X, y, n_alphas=3))
    axes = Figure().subplots(2, 1)
    display = QuadBoostPathDisplay.from_path(path, max_voters=10, axes=axes)
    assert display.axes_ == axes.tolist() and display.figure_ is axes[0].get_figure()
    largest = np.abs(path.weights).max(axis=0)
    drawn = [np.nanmax(np.abs(line.get_ydata())) for line in curves(axes[0])]
    assert sorted(drawn) == np.sort(largest)[-10:].tolist()
    assert axes[0].get_legend().get_title().get_text() == f"largest 10 of {np.count_nonzero(largest)} voters"


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


ERRORS = {"errors": [[0.4, 0.3, 0.2], [0.3, 0.1, 0.2]], "rounds": [1, 10, 1000], "penalty": "l2"}


@pytest.mark.parametrize(
    ("alphas", "options", "labels"),
    [
        ([1.0, 0.1], ERRORS, ["least: 0.1, 10 rounds"]),
        ([1.0, 0.1], {**ERRORS, "chosen": (0, 2)}, ["chosen: 1, 1,000 rounds", "least: 0.1, 10 rounds"]),
        ([1.0, 0.1], {**ERRORS, "chosen": (1, 1)}, ["chosen, the least: 0.1, 10 rounds"]),
        ([1.0, 0.1], {"errors": [0.4, 0.1], "chosen": np.argmin([0.4, 0.1])}, ["error", "chosen, the least: 0.1"]),
        (
            [0.5],
            {"errors": [0.2], "standard_errors": [0.05], "chosen": 0},
            ["error", "chosen, the least: 0.5", "± 1 standard error"],
        ),
    ],
)
def test_legends_name_the_least_and_the_chosen(alphas, options, labels):
    (ax,) = whole(QuadBoostPathDisplay(alphas, **options).plot()).axes_
    assert legend_of(ax) == labels
    if options is ERRORS:
        assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines] == [(1, 1)]
    if "standard_errors" in options:
        np.testing.assert_allclose(ax.containers[0][2][0].get_segments()[0], [[0.5, 0.15], [0.5, 0.25]])
