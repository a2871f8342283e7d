"""Pictures of voters that answer at random: their graph, its dolls, and its bound."""

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
from committee.report import BoundDisplay, DollDisplay, NestDisplay
from committee.report.displays.layered_layout import layered
from committee.report.displays.vote_paths import answer_shares
from committee.report.displays.voter_words import in_two_lines, voter_words
from committee.voters.soft_stumps import SoftStumps

BLUE, ORANGE = "#0072b2", "#d55e00"
DRAWN = (NestDisplay, DollDisplay, BoundDisplay)


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


def overlapping(patches):
    """Pairs of boxes that overlap."""
    boxes = [patch.get_bbox() for patch in patches]
    return [
        (i, j)
        for i, a in enumerate(boxes)
        for j, b in enumerate(boxes[:i])
        if a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1
    ]


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
        ((0, -np.inf, 0.0, True, 0.0, None), "width not missing"),
        ((0, np.inf, 0.0, True, 1.0, None), "width missing"),
        ((1, 0.0, 0.0, True, 0.5, bits(4)), "colour = red"),
        ((1, 0.0, 0.0, True, 0.5, bits(0, 1, 2, 3)), "colour ≠ red"),
        ((1, 0.0, 0.0, True, 0.5, bits(0, 4)), "colour in {blue, red}"),
        ((1, 0.0, 0.0, True, 0.5, bits(0, 2, 3)), "colour in {blue, grey, +1}"),
        ((1, 0.0, 0.0, True, 1.0, bits(0, 4)), "colour in {blue, +1, missing}"),
        ((1, 0.0, 0.0, True, 1.0, bits(4)), "colour = red or missing"),
    ],
)
def test_a_stump_in_words_is_when_it_is_likely_to_say_plus(stump, words):
    table = TableSchema(("width", "colour"), (None, ("blue", "green", "grey", "pink", "red")))
    assert voter_words(SoftStumps.of([stump], n_features=2), 0, table) == words


def test_words_break_before_the_comparison():
    assert in_two_lines("mean concavity <= 0.12 ± 0.01", 20) == ["mean concavity", "<= 0.12 ± 0.01"]
    assert in_two_lines("short > 1", 20) == ["short > 1"]
    assert all(len(line) <= 12 for line in in_two_lines("a_column_of_a_long_name in {one, two, +3}", 12))


# --- layers ----------------------------------------------------------------------------------------------------------


def test_layers_are_longest_paths_and_nodes_keep_their_room():
    rng = np.random.default_rng(0)
    for _ in range(20):
        edges = [(int(rng.integers(b)), b, float(rng.choice([-1.0, 1.0]))) for b in range(1, 14) for _ in range(2)]
        x, layer, lanes = layered(14, edges, 2.0, 0.5)
        assert all(layer[b] == 1 + max(layer[a] for a, c, _ in edges if c == b) for b in range(1, 14))
        assert [len(passed) for passed in lanes] == [layer[b] - layer[a] - 1 for a, b, _ in edges]
        for depth in set(layer):
            here = np.sort(x[[t for t in range(14) if layer[t] == depth]])
            assert (np.diff(here) >= 2.0 - 1e-9).all()


def test_edges_of_a_tree_do_not_cross():
    edges = [(0, 1, -1.0), (0, 2, 1.0), (2, 3, -1.0), (1, 4, 1.0), (2, 5, 1.0), (1, 6, -1.0)]
    x, _, _ = layered(7, edges, 1.0, 1.0)
    assert x[1] < x[2] and x[6] < x[4] < x[3] < x[5]


# --- the graph -------------------------------------------------------------------------------------------------------


def test_graph_has_a_box_for_each_voter_and_an_edge_for_each_answer(nest):
    display = whole(NestDisplay.from_estimator(nest))
    graph = nest.graph_
    inner = int((graph.next >= 0).sum())
    assert len(parts(display, "voter")) == len(graph.next) == len(display.drawn_)
    assert len(parts(display, "edge")) == inner
    assert len(parts(display, "exit")) == len(parts(display, "end")) == graph.next.size - inner
    assert title(display) == f"score for malignant, {len(graph.next)} voters"
    assert not overlapping(parts(display, "voter"))
    assert "voter 0, 100%" in texts(display)
    assert any(text.startswith(("mean ", "worst ")) and "±" in text for text in texts(display))


def test_both_answers_of_a_sum_lead_on(total):
    display = whole(NestDisplay.from_estimator(total))
    edges = parts(display, "edge")
    assert len(edges) == 10 and {to_hex(edge.get_edgecolor()) for edge in edges} == {BLUE, ORANGE}
    assert np.ptp([box.get_bbox().x0 for box in parts(display, "voter")]) < 1e-6


def test_tree_of_31_voters_is_legible(tree):
    display = whole(NestDisplay.from_estimator(tree))
    assert not overlapping(parts(display, "voter"))
    canvas = FigureCanvasAgg(display.figure_)
    canvas.draw()
    renderer = canvas.get_renderer()
    for text in display.ax_.texts:
        if text.get_text().startswith("voter "):
            label = text.get_window_extent(renderer)
            assert any(
                box.x0 <= label.x0 and label.x1 <= box.x1 and box.y0 <= label.y0 and label.y1 <= box.y1
                for box in (patch.get_window_extent(renderer) for patch in parts(display, "voter"))
            )


def test_exits_have_the_sign_of_the_score_where_paths_agree():
    following = [[1, 1], [-1, -1]]
    agree = NestDisplay(["a", "b"], following, [[2.0, 1.0], [0.5, -0.5]], [1.0, 1.0]).plot()
    assert [to_hex(dot.get_markerfacecolor()) for dot in parts(agree, "exit")] == [BLUE, BLUE]
    differ = NestDisplay(["a", "b"], following, [[2.0, -1.0], [0.5, -2.5]], [1.0, 1.0]).plot()
    assert [to_hex(dot.get_markerfacecolor()) for dot in parts(differ, "exit")] == [ORANGE, "#ffffff"]
    one = NestDisplay(["a"], [[-1, -1]], [[0.731, -0.412]], [1.0]).plot()
    assert texts(one).count("+0.73") == 2 and texts(one).count("−0.41") == 2  # noqa: RUF001


def test_limits_leave_voters_out_and_say_so(tree):
    display = whole(NestDisplay.from_estimator(tree, max_depth=3))
    layers = {round(box.get_bbox().y0, 6) for box in parts(display, "voter")}
    left_out = 31 - len(display.drawn_)
    assert len(layers) == 3 and f"… {left_out} more voters" in title(display)
    assert sum(int(text.split()[1]) for text in texts(display) if text.startswith("…")) == left_out
    rare = NestDisplay.from_estimator(tree, min_reach=0.2)
    assert all(tree.reach_[t] >= 0.2 for t in rare.drawn_) and 0 < len(rare.drawn_) < 31


def test_shares_are_those_of_the_rows_given(nest):
    X, _ = cancer()
    display = NestDisplay.from_estimator(nest, X)
    np.testing.assert_allclose(display.reach, nest.reach_, atol=1e-4)
    np.testing.assert_allclose(display.shares.sum(axis=1), display.reach)
    some = NestDisplay.from_estimator(nest, X[:5])
    assert not np.allclose(some.reach, nest.reach_, atol=1e-3)


def test_shares_of_answers_are_told_from_those_of_voters(tree, nest):
    X, _ = cancer()
    exact = NestDisplay.from_estimator(tree, X).shares
    inner = tree.graph_.next >= 0
    np.testing.assert_allclose(NestDisplay.from_estimator(tree).shares[inner], exact[inner], atol=1e-3)
    following = nest.graph_.next
    shares = answer_shares(following.astype(np.int64), nest.reach_)
    comes = np.zeros(len(following) + 1)
    np.add.at(comes, following, shares)
    np.testing.assert_allclose(comes[1:-1], nest.reach_[1:], atol=1e-6)


@pytest.mark.parametrize("collect", ["confidence", "sign"])
def test_categories_and_gaps_are_told(collect):
    X, y = mixed()
    model = MatryoshkaClassifier(levels=3, collect=collect).fit(X, y)
    shown = " ".join(texts(whole(NestDisplay.from_estimator(model))))
    assert "colour" in shown and ("{" in shown or "=" in shown) and "score for yes" not in shown
    whole(DollDisplay.from_estimator(model))
    assert "a_column_with_a_name_that_is_far_too_long" not in shown


def test_each_class_has_a_graph_of_its_own(flowers):
    scores = {label: NestDisplay.from_estimator(flowers, for_class=label) for label in flowers.classes_.tolist()}
    assert sum(len(display.words) for display in scores.values()) == len(flowers.graph_.next)
    assert title(scores["virginica"]).startswith("score for virginica")
    assert title(NestDisplay.from_estimator(flowers)).startswith("score for setosa")
    X, _ = load_iris(return_X_y=True, as_frame=True)
    display = NestDisplay.from_estimator(flowers, X, for_class="virginica")
    np.testing.assert_allclose(display.reach[0], 1.0)
    assert any(text.startswith("0  ") for text in texts(DollDisplay.from_estimator(flowers, for_class="virginica")))


def test_voters_of_the_user_go_by_their_class():
    X, y = cancer()
    model = BoostingTreeClassifier(3, voter=DecisionTreeClassifier(max_depth=1), method="majority").fit(X, y)
    assert "DecisionTreeClassifier" in texts(whole(NestDisplay.from_estimator(model)))


# --- dolls -----------------------------------------------------------------------------------------------------------


def test_dolls_hold_their_voters_and_each_other(nest):
    display = whole(DollDisplay.from_estimator(nest))
    dolls, voters = parts(display, "doll"), parts(display, "voter")
    distinct = {tuple(doll) for doll in nest.dolls_} | {tuple(range(len(nest.edges_)))}
    assert len(dolls) == len(distinct) == len(display.dolls) and len(voters) == len(nest.edges_)
    assert not overlapping(voters)
    inside = sorted(
        sum(
            doll.get_bbox().x0 <= voter.get_bbox().x0 and voter.get_bbox().x1 <= doll.get_bbox().x1
            and doll.get_bbox().y0 <= voter.get_bbox().y0 and voter.get_bbox().y1 <= doll.get_bbox().y1
            for voter in voters
        )
        for doll in dolls
    )  # fmt: skip
    assert inside == sorted(map(len, distinct))


def test_a_tree_is_one_doll_and_a_sum_none(tree, total):
    assert len(parts(DollDisplay.from_estimator(tree), "doll")) == 1
    display = whole(DollDisplay.from_estimator(total))
    assert not parts(display, "doll") and len({voter.get_y() for voter in parts(display, "voter")}) == 1
    assert title(display) == "score for malignant, 6 voters"


def test_a_chain_of_dolls_stays_legible():
    chain = [list(range(k)) for k in range(2, 65)]
    display = whole(DollDisplay([f"a column of many > {t}" for t in range(64)], chain, reach=np.ones(64)).plot())
    voters = parts(display, "voter")
    assert len(voters) == 64 and not overlapping(voters)
    assert any(voter.get_width() > voter.get_height() for voter in voters)  # those that lie
    assert max(display.figure_.get_size_inches()) < 20


def test_greedy_dolls_are_drawn():
    X, y = mixed()
    model = MatryoshkaClassifier(shape="greedy", max_voters=32).fit(X, y)
    display = whole(DollDisplay.from_estimator(model))
    assert len(parts(display, "voter")) == len(model.edges_) and not overlapping(parts(display, "voter"))


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
        (lambda: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0], max_depth=0), "max_depth=0"),
        (lambda: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0], min_reach=2.0), "min_reach=2.0"),
        (lambda: NestDisplay(["a"], [[-1, -1]], [[1.0, -1.0]], [1.0], shares=[0.5, 0.5]), "shares has shape"),
        (lambda: DollDisplay([], []), "at least one voter"),
        (lambda: DollDisplay(["a"], [[0, 1]]), r"dolls holds \[0, 1\]"),
        (lambda: DollDisplay(["a"], [[]]), r"dolls holds \[\]"),
        (lambda: DollDisplay(["a", "b", "c"], [[0, 1], [1, 2]]), "overlap"),
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
