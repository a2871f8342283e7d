"""Pictures of voters that answer at random: the first of their graph, and its bound."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from committee import (
    AdaBoostClassifier,
    BoostingTreeClassifier,
    MatryoshkaClassifier,
    ProbabilisticAdaBoostClassifier,
)
from committee.bounds.nested_trees import normaliser_of_edge, tree_factor, two_matryoshka
from committee.data.frames import TableSchema
from committee.report import BoundDisplay, NestDisplay
from committee.report.displays.voter_words import voter_words
from committee.voters.soft_stumps import SoftStumps

BLUE, ORANGE = "#0072b2", "#d55e00"
DRAWN = (NestDisplay, BoundDisplay)


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


def whole(display):
    """Draws it, and checks that no text is cut off by the edge of the figure."""
    canvas = FigureCanvasAgg(display.figure_)
    canvas.draw()
    renderer, page = canvas.get_renderer(), display.figure_.bbox
    ax = display.ax_
    for text in [*ax.texts, ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label]:
        if text.get_text() and text.get_visible():
            box = text.get_window_extent(renderer)
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= page.x1 + 1 and box.y1 <= page.y1 + 1
            assert inside, f"{text.get_text()!r} is cut off"
    return display


def parts(display, gid):
    return [part for part in [*display.ax_.patches, *display.ax_.lines] if part.get_gid() == gid]


def texts(display):
    return [text.get_text() for text in display.ax_.texts]


def title(display):
    return display.ax_.get_title(loc="left").replace("\n", " ")


def assert_texts_apart(display):
    """No two texts share a place, and each is as wide as it was taken to be."""
    canvas = FigureCanvasAgg(display.figure_)
    canvas.draw()
    boxes = [text.get_window_extent(canvas.get_renderer()) for text in display.ax_.texts]
    for i, a in enumerate(boxes):
        for b in boxes[:i]:
            assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1)


def lines_of(display):
    """The texts of each line below the heading, from the left."""
    rows = {}
    for text in display.ax_.texts:
        x, y = text.get_position()
        rows.setdefault(round(y, 6), []).append((x, text.get_text()))
    return [[text for _, text in sorted(row)] for _, row in sorted(rows.items())][1:-1]


# --- words -----------------------------------------------------------------------------------------------------------


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


# --- the graph -------------------------------------------------------------------------------------------------------


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
    assert_texts_apart(display)
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


def test_lines_of_a_tree_are_below_the_voter_that_leads_to_them(tree):
    display = NestDisplay.from_estimator(tree, max_voters=31)
    assert sorted(display.drawn_) == list(range(31))
    place = {t: i for i, t in enumerate(display.drawn_)}
    dots = parts(display, "voter")
    for t, answers in enumerate(tree.graph_.next.tolist()):
        for end, color in zip(answers, (BLUE, ORANGE), strict=True):
            if end >= 0:
                dot = dots[place[end]]
                assert place[end] > place[t] and to_hex(dot.get_color()) == color
                assert dot.get_xdata()[0] > dots[place[t]].get_xdata()[0]


def test_voters_of_a_sum_stand_below_each_other(total):
    display = whole(NestDisplay.from_estimator(total))
    dots = parts(display, "voter")
    assert display.drawn_ == list(range(6)) and len(parts(display, "edge")) == 5
    assert {(dot.get_xdata()[0], to_hex(dot.get_color())) for dot in dots} == {(dots[0].get_xdata()[0], "#999999")}
    assert [line[3] == line[5] for line in lines_of(display)] == [True] * 5 + [False]


def test_trees_of_a_matryoshka_follow_each_other(nest):
    display = whole(NestDisplay.from_estimator(nest))
    assert sorted(display.drawn_) == list(range(len(nest.graph_.next)))
    left = parts(display, "voter")[0].get_xdata()[0]
    first = [t for t, dot in zip(display.drawn_, parts(display, "voter"), strict=True) if dot.get_xdata()[0] == left]
    many = [t for t in range(1, len(nest.graph_.next)) if (nest.graph_.next == t).sum() > 1]
    assert first == sorted(first) and set(first) - {0} <= set(many)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_voters", [64, 256])
def test_many_voters_fit_on_a_page(n_voters):
    X, y = mixed()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*beats chance")
        models = [
            ProbabilisticAdaBoostClassifier(n_voters).fit(X, y),
            BoostingTreeClassifier(n_voters).fit(X, y),
            MatryoshkaClassifier(shape="greedy", max_voters=n_voters).fit(X, y),
        ]
    for model in models:
        display = whole(NestDisplay.from_estimator(model))
        assert_texts_apart(display)
        assert max(display.figure_.get_size_inches()) < 11.0 and len(display.drawn_) == 20


def test_shares_are_those_of_the_rows_given(nest):
    X, _ = cancer()
    display = NestDisplay.from_estimator(nest, X)
    np.testing.assert_allclose(display.reach, nest.reach_, atol=1e-4)
    some = NestDisplay.from_estimator(nest, X[:5])
    assert not np.allclose(some.reach, nest.reach_, atol=1e-3)


@pytest.mark.parametrize("collect", ["confidence", "sign"])
def test_categories_and_gaps_are_in_the_words(collect):
    X, y = mixed()
    model = MatryoshkaClassifier(levels=3, collect=collect).fit(X, y)
    display = whole(NestDisplay.from_estimator(model))
    assert_texts_apart(display)
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


def test_voters_of_the_user_go_by_their_class():
    X, y = cancer()
    model = BoostingTreeClassifier(3, voter=DecisionTreeClassifier(max_depth=1), method="majority").fit(X, y)
    assert "0:  DecisionTreeClassifier" in texts(whole(NestDisplay.from_estimator(model)))


# --- the bound -------------------------------------------------------------------------------------------------------


def legend_of(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def test_bounds_of_several_models_in_one_picture(nest, tree, total):
    display = whole(BoundDisplay.from_estimators({"nest": nest, "tree": tree, "sum": total}, edge=0.2))
    lines = display.ax_.get_lines()
    assert len(lines) == 6 and legend_of(display)[:3] == ["nest", "tree", "sum"]
    for line, model in zip(lines, (nest, tree, total), strict=False):
        np.testing.assert_array_equal(line.get_ydata(), model.bounds_)
        assert line.get_xdata()[0] == 1
    assert display.ax_.get_yscale() == "log" and "edge 0.2" in legend_of(display)[3]


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
        (0.9, ["0.875", "0.9", "0.925", "0.95", "0.975", "1", "1.025"]),
        (0.02, ["0.02", "0.05", "0.1", "0.2", "0.5", "1"]),
        (0.002, ["0.01", "0.1", "1"]),
        (1e-3, [rf"$\mathdefault{{10^{{{power}}}}}$" for power in range(-3, 1)]),
    ],
)
def test_the_axis_of_bounds_is_labelled_at_round_numbers(least, labels):
    """The narrower the bounds, the more numbers; powers of ten beyond three decades."""
    axis = BoundDisplay({"sum": np.geomspace(1.0, least, 9)}, edge=None).plot().ax_.yaxis
    low, high = axis.get_view_interval()
    shown = axis.get_major_formatter().format_ticks([x for x in axis.get_majorticklocs() if low <= x <= high])
    assert shown == labels


def test_smallest_edge_is_the_first_model_s(total, tree):
    display = BoundDisplay.from_estimators({"sum": total, "tree": tree})
    assert display.edge == pytest.approx(np.abs(total.edges_).min())
    assert BoundDisplay.from_estimator(total, edge=None).edge is None
    with pytest.warns(UserWarning, match="beats chance"):
        hopeless = ProbabilisticAdaBoostClassifier(3).fit([[0], [0]], [0, 1])
    assert BoundDisplay.from_estimator(hopeless).edge is None  # its curves would lie at 1


def test_bounds_of_scores_add_up(flowers):
    display = whole(BoundDisplay.from_estimator(flowers, edge=0.3))
    line = display.ax_.get_lines()[0]
    assert line.get_ydata()[-1] == pytest.approx(flowers.bound_)
    assert display.ax_.get_xlabel() == "voters of each score"
    one = BoundDisplay.from_estimator(flowers, for_class="setosa", edge=None)
    np.testing.assert_array_equal(one.ax_.get_lines()[0].get_ydata(), flowers.bounds_[: flowers.graph_.start[1]])


# --- what all have in common -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("Display", DRAWN)
def test_given_axes_are_drawn_on(nest, Display):
    figure = Figure(figsize=(5, 4))
    ax = figure.subplots()
    display = Display.from_estimator(nest, ax=ax)
    assert display.ax_ is ax and display.figure_ is figure
    FigureCanvasAgg(figure).draw()


@pytest.mark.parametrize("Display", DRAWN)
def test_unfitted_models_are_refused(Display):
    with pytest.raises(NotFittedError):
        Display.from_estimator(MatryoshkaClassifier())


@pytest.mark.parametrize("Display", DRAWN)
def test_other_models_are_refused(Display):
    X, y = cancer()
    with pytest.raises(ValueError, match="AdaBoostClassifier has no graph"):
        Display.from_estimator(AdaBoostClassifier(2).fit(X, y))


@pytest.mark.parametrize("Display", DRAWN)
def test_classes_without_a_score_are_refused(nest, flowers, Display):
    with pytest.raises(ValueError, match="for_class='benign' has no score; choose 'malignant'"):
        Display.from_estimator(nest, for_class="benign")
    with pytest.raises(ValueError, match="one of 'setosa', 'versicolor', 'virginica'"):
        Display.from_estimator(flowers, for_class="rose")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: NestDisplay([], np.empty((0, 2)), np.empty((0, 2)), []), "at least one voter"),
        (lambda: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0, 0.5]), r"need \(1, 2\)"),
        (lambda: NestDisplay(["a", "b"], [[1, 0], [-1, -1]], np.ones((2, 2)), [1.0, 0.5]), "leads back"),
        (lambda: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0], max_voters=0), "max_voters=0"),
        (lambda: BoundDisplay({}), "bounds is empty"),
        (lambda: BoundDisplay.from_estimators({}), "bounds is empty"),
        (lambda: BoundDisplay({"a": [0.5, 0.0]}), "above 0"),
        (lambda: BoundDisplay({"a": [0.5]}, edge=0.5), r"edge=0.5"),
        (lambda: BoundDisplay.from_estimators({}, edge="largest"), "edge='largest' is no edge"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
