"""Displays of trees: texts lead every row to its leaf, and pictures show all of their text."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit, softmax
from sklearn.base import clone, is_regressor
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier as Peer
from sklearn.ensemble import RandomForestRegressor as PeerRegressor
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

import committee
from committee import Committee, GradientBoostingRegressor
from committee.report import SmallEnsembleDisplay, TreeDisplay
from committee.report.displays.base import AGAINST, FOR
from committee.report.displays.ensemble_text import EnsembleText, is_small
from committee.report.model_pages import render_model
from tests.gradient_cases import SMALL
from tests.report.displays.drawn import LONG, assert_apart, whole
from tests.small_portfolio import use_small_members

BOOSTED: dict[str, Any] = SMALL | {"n_estimators": 3, "random_state": 0}
TINY_BOOSTED: dict[str, Any] = SMALL | {"n_estimators": 2, "max_leaf_nodes": 4, "random_state": 0}
SMALL_ENSEMBLES = [
    committee.TreeVoter(max_depth=3),
    committee.TreeRegressor(max_depth=3),
    committee.RandomForestClassifier(3, max_depth=3, random_state=0),
    committee.RandomForestRegressor(3, max_depth=3, random_state=0),
    committee.SubaggingClassifier(committee.TreeVoter(max_depth=2), n_estimators=3, random_state=0),
    committee.AdaBoostClassifier(4, max_depth=2),
    committee.AdaBoostClassifier(4, max_depth=2, vote="confidence"),
    committee.GradientBoostingClassifier(**TINY_BOOSTED),
    committee.GradientBoostingClassifier(**TINY_BOOSTED, tree="shared"),
    committee.GradientBoostingRegressor(**TINY_BOOSTED),
    committee.GradientBoostingRegressor(loss="poisson", **TINY_BOOSTED),
]
MODELS = [
    *SMALL_ENSEMBLES,
    committee.RandomForestClassifier(3, random_state=0),
    committee.SBPMTClassifier(3, random_state=0),
    committee.ProbitModelTreeClassifier(max_depth=3, tree="per_class"),
]


def words(model: Any) -> str:
    return " ".join(repr(model).split())


def table(n: int = 240, n_towns: int = 12) -> tuple[pl.DataFrame, np.ndarray]:
    """Numbers of one decimal and categories, with gaps in both, and a score."""
    rng = np.random.default_rng(0)
    width, height = rng.normal(size=(2, n)).round(1)
    town = rng.integers(0, n_towns, n)
    gaps = rng.random((2, n)) < 0.1
    frame = pl.DataFrame(
        {
            "width (cm)": [None if g else float(v) for v, g in zip(width, gaps[0], strict=True)],
            "height": height,
            "town": [None if g else f"t{t}" for t, g in zip(town, gaps[1], strict=True)],
        }
    )
    return frame, width + (town % 3) + (town == 1) * height + 0.3 * rng.normal(size=n)


def fitted(model: Any, n_classes: int = 3, n_towns: int = 12, n: int = 240) -> tuple[Any, pl.DataFrame]:
    X, score = table(n, n_towns)
    if is_regressor(model):
        return clone(model).fit(X, np.round(score - score.min())), X
    names = np.array(["ant", "bee", "cow"])
    return clone(model).fit(X, names[np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))]), X


LINE = re.compile(
    r"^(?P<bars>[│├└─ ]*)(?:(?P<answer>yes|no)(?P<gap>, missing)? → )?(?P<node>\d+): (?P<says>.*) \(.* of rows\)$"
)


def is_true(question: str, row: dict[str, Any]) -> bool | None:
    """The answer to a question in words; None where the value is missing."""
    name, _, rest = next((name, *question.removeprefix(name).partition(" ")[1:]) for name in row if name in question)
    if rest in ("is missing", "is not missing"):
        return (row[name] is None) == (rest == "is missing")
    if row[name] is None:
        return None
    if rest.startswith("<= "):
        return float(row[name]) <= float(rest[3:])
    listed = rest.partition("{")[2].rstrip("}").split(", ") if "{" in rest else [rest.removeprefix("= ")]
    return (row[name] in listed) != rest.startswith("not in")


def leaf_by_text(text: str, row: dict[str, Any]) -> int:
    """Follow the text to a leaf, as a reader would."""
    lines = [match.groupdict() for line in text.splitlines()[1:] if (match := LINE.match(line))]
    assert len(lines) == len(text.splitlines()) - 1
    at = 0
    while True:
        depth, below = len(lines[at]["bars"]), []
        for i in range(at + 1, len(lines)):
            if len(lines[i]["bars"]) <= depth:
                break
            if len(lines[i]["bars"]) == depth + 3:
                below.append(i)
        if not below:
            return int(lines[at]["node"])
        yes, no = below
        assert (lines[yes]["answer"], lines[no]["answer"]) == ("yes", "no")
        assert (lines[yes]["gap"] is None) != (lines[no]["gap"] is None)
        true = is_true(lines[at]["says"], row)
        at = yes if (lines[yes]["gap"] is not None if true is None else true) else no


@pytest.mark.one_in(3)
@pytest.mark.parametrize("model", MODELS, ids=words)
def test_the_text_leads_every_row_to_its_leaf(model):
    model, X = fitted(model)
    leaves = model.apply(X)
    several = leaves.ndim == 3
    for tree in range(min(2, leaves.shape[1])):
        for k, label in enumerate(model.classes_.tolist() if several else [None]):
            text = TreeDisplay.from_estimator(model, tree, for_class=label, max_leaves=None).text
            found = [leaf_by_text(text, row) for row in X.rows(named=True)]
            assert_array_equal(found, leaves[:, tree, k] if several else leaves[:, tree])


@pytest.mark.parametrize("n_levels", [1, 2, 12])
@pytest.mark.parametrize("gaps", ["elsewhere", "positive"])
def test_a_split_that_asks_only_whether_a_value_is_missing_says_so(n_levels, gaps):
    rng = np.random.default_rng(n_levels)
    gap = rng.random(300) < 0.3
    pain = [None if g else f"p{level}" for g, level in zip(gap, rng.integers(0, n_levels, 300), strict=True)]
    X = pl.DataFrame({"pain": pain, "dose": [None if g else 1.0 for g in gap]})
    y = gap if gaps == "positive" else ~gap
    for column in X.columns:
        model = committee.TreeVoter().fit(X[[column]], y)
        display = TreeDisplay.from_estimator(model)
        assert display.words[0] == display.short_words[0]
        assert display.words[0] in (f"{column} is missing", f"{column} is not missing")
        leaves = [leaf_by_text(display.text, row) for row in X[[column]].rows(named=True)]
        assert_array_equal(leaves, model.apply(X[[column]])[:, 0])


@pytest.mark.one_in(3)
@pytest.mark.parametrize("model", MODELS, ids=words)
def test_no_text_of_a_picture_is_cut_off_or_lies_on_another(model):
    model, _ = fitted(model)
    label = model.classes_[1] if model.apply(table()[0]).ndim == 3 else None
    assert_apart(whole(TreeDisplay.from_estimator(model, for_class=label)))


def test_long_names_and_many_categories_are_shortened():
    rng = np.random.default_rng(0)
    levels = [f"{t}, a category of many words" for t in rng.integers(0, 14, 600)]
    X = pl.DataFrame({LONG: levels, "x" * 60: rng.normal(size=600)})
    y = np.array([int(level.split(",")[0]) % 3 == 0 for level in levels]) ^ (X[:, 1].to_numpy() > 1.3)
    model = committee.TreeVoter(max_depth=4).fit(X, np.where(y, "a label of a good many letters", "no"))
    display = whole(TreeDisplay.from_estimator(model))
    assert_apart(display)
    assert display.figure_.get_size_inches()[0] < 16
    assert max(map(len, display.short_words)) < len(LONG)
    assert LONG in display.text


def test_a_large_tree_is_drawn_level_by_level():
    model, X = fitted(committee.RandomForestClassifier(1, random_state=0), n=600)
    n_leaves = len(np.unique(model.apply(X)))
    for most in (1, 2, 5, 16):
        display = TreeDisplay.from_estimator(model, max_leaves=most)
        ends = [line for line in display.ax_.texts if line.get_text().startswith("…")]
        counted = sum(int(end.get_text().split()[1].replace(",", "")) for end in ends)
        drawn = sum(line.get_marker() == "s" for line in display.ax_.lines if line.get_gid() == "node")
        assert len(ends) + drawn == most
        assert counted + drawn >= n_leaves  # of all that the tree has, not only those that these rows reach
        assert counted + drawn == int(display.title.split(": ")[1].split()[0])
    assert len(TreeDisplay.from_estimator(model, max_leaves=None).text.splitlines()) > 2 * n_leaves - 1


def leaf_texts(model: Any, tree: int = 0, **options: Any) -> dict[int, str]:
    text = TreeDisplay.from_estimator(model, tree, max_leaves=None, **options).text
    lines = [match.groupdict() for line in text.splitlines()[1:] if (match := LINE.match(line))]
    return {int(line["node"]): line["says"] for line in lines}


def test_boosters_say_what_they_add_to_the_score():
    model, X = fitted(committee.GradientBoostingClassifier(**BOOSTED))
    rounds, leaves = model.committee_.voters, model.apply(X)
    texts = leaf_texts(model, 1, for_class="cow")
    forest = rounds.forest[5:6]
    for leaf in np.unique(leaves[:, 1, 2]):
        assert texts[leaf] == f"{model.committee_.weights[1] * forest.value[leaf, 0]:+.3g}"
    title = TreeDisplay.from_estimator(model, 1, for_class="cow").title
    assert title == f"tree 1 of 3: {(forest.feature < 0).sum()} leaves, leaves add to the score of cow"


def test_forests_say_class_shares_and_means():
    model, X = fitted(committee.RandomForestClassifier(1, min_samples_leaf=20, random_state=0))
    shares = model.committee_.voters.value
    for leaf, text in leaf_texts(model).items():
        if leaf in model.apply(X):
            best = int(shares[leaf].argmax())
            assert text.startswith(f"{model.classes_[best]}: {shares[leaf, best]:.0%}")
            assert text.count(":") == (shares[leaf] >= 0.005).sum()
    model, X = fitted(committee.RandomForestRegressor(1, min_samples_leaf=20, random_state=0))
    for leaf in np.unique(model.apply(X)):
        assert leaf_texts(model)[leaf] == f"{model.committee_.voters.value[leaf, 0]:.4g}"


def test_votes_for_a_class_and_abstentions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).round(1)
    model = committee.AdaBoostClassifier(3, vote="abstaining", calibrate=None).fit(X, X[:, 0] > 0.3)
    said = set(leaf_texts(model).values())
    assert said & {"True", "False"} or any(text.startswith(("+", "-")) for text in said)
    named = committee.AdaBoostClassifier(3, calibrate=None).fit(X, X[:, 0] + X[:, 1] > 0.3)
    display = TreeDisplay.from_estimator(named)
    assert set(display.words[1:]) == {"True", "False"}
    assert display.title.startswith(
        f"tree 0 of 3: 2 leaves, leaves vote for a class (weight {named.committee_.weights[0]:.4g})"
    )


def test_several_numbers_stand_side_by_side():
    X, _ = table()
    rows = np.unique(X.select("height").to_numpy(), axis=0)
    y = np.hstack([rows, -rows, rows**2])
    model = committee.GradientBoostingRegressor(**(BOOSTED | {"tree": "shared"})).fit(rows, y)
    texts = leaf_texts(model)
    leaf = int(model.apply(rows)[0, 0])
    added = model.committee_.weights[0] * model.committee_.voters.value[leaf]
    assert texts[leaf] == ", ".join(f"{value:+.3g}" for value in added)
    apart = committee.GradientBoostingRegressor(**(BOOSTED | {"tree": "per_target"})).fit(rows, y)
    assert TreeDisplay.from_estimator(apart, 2, for_class=1).title.endswith("leaves add to the score of target 1")
    assert TreeDisplay.from_estimator(model).title.endswith("leaves add to the score of targets 0 to 2")
    averaged = committee.RandomForestRegressor(2, max_leaf_nodes=3, random_state=0).fit(rows, y)
    assert TreeDisplay.from_estimator(averaged).title.endswith("leaves hold predictions of targets 0 to 2")
    levels = {"quantile": [0.1, 0.5, 0.9], "loss": "quantile", "leaf": "constant"}
    quantiles = committee.GradientBoostingRegressor(**(BOOSTED | levels)).fit(rows, rows[:, 0])
    assert TreeDisplay.from_estimator(quantiles).title.endswith("leaves add to the score of quantiles 0 to 2")
    with pytest.raises(ValueError, match=r"for_class=0 selects the tree of one quantile, .* predicts all quantiles"):
        TreeDisplay.from_estimator(quantiles, for_class=0)


def test_leaves_of_lines_say_their_mean_score():
    model, X = fitted(committee.SBPMTClassifier(3, random_state=0))
    display = TreeDisplay.from_estimator(model)
    assert display.title.endswith("leaves hold lines; their mean score")
    assert re.fullmatch(r"(ant|bee|cow): [+-].*", display.words[int(model.apply(X)[0, 0])])


def test_committees_of_other_libraries_have_trees_too():
    X, score = table()
    rows = X.select("height").to_numpy()
    peer = Peer(3, random_state=0, max_depth=3).fit(rows, score > 1.0)
    for given in (Committee.from_estimator(peer), peer):
        display = TreeDisplay.from_estimator(given, 1)
        assert display.words[0] == f"x0 <= {peer.estimators_[1].tree_.threshold[0]:.6g}"
        assert display.shares[0] == 1.0
    ax = Figure(figsize=(4, 3)).subplots()
    assert TreeDisplay.from_estimator(peer, ax=ax).ax_ is ax and ax.texts[0].get_fontsize() < 6.5
    assert TreeDisplay.from_estimator(peer, -1).text == TreeDisplay.from_estimator(peer, 2).text


def test_without_a_table_categories_go_by_their_codes():
    model, _ = fitted(committee.RandomForestClassifier(3, random_state=0))
    bare = replace(model.committee_, table=None)
    named, coded = (TreeDisplay.from_estimator(each, max_leaves=None) for each in (model, bare))
    towns = [i for i, question in enumerate(named.words) if question.startswith("town = ")]
    assert towns
    known = model.table_.categories[2]
    for node in towns:
        assert coded.words[node] == f"x2 = {known.index(named.words[node].removeprefix('town = '))}"


@pytest.fixture(scope="module")
def refused() -> dict[str, Any]:
    X, score = table(n_towns=4)
    height, y = X[["height"]], score > 1.0
    lines = committee.GradientBoostingRegressor(**TINY_BOOSTED | {"leaf": "linear"})
    numbers = committee.RandomForestRegressor(2, max_depth=2, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        use_small_members(patch)
        blend = committee.CommitteeClassifier("fast", random_state=0).fit(X[:60], y[:60])
    return {
        "forest": committee.RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y),
        "large": committee.RandomForestClassifier(20, random_state=0).fit(X, y),
        "boosted": fitted(committee.GradientBoostingClassifier(**BOOSTED))[0],
        "numbers": fitted(committee.GradientBoostingRegressor(**BOOSTED))[0],
        "bayes": committee.SubaggingClassifier(GaussianNB(), n_estimators=2).fit(height, y),
        "lines": lines.fit(height, X["height"] ** 2),
        "several": numbers.fit(X, np.column_stack([score, -score])),
        "blend": blend,
        "unfitted": committee.TreeVoter(),
        "other": PeerRegressor(2).fit([[0.0], [1.0]], [0.0, 1.0]),
        "text": "forest",
    }


@pytest.mark.parametrize(
    ("name", "options", "error", "match"),
    [
        *(
            ("forest", {"tree": t}, ValueError, f"tree={t!r} is out of range; trees are")
            for t in (2, "a", 1.5, -3, None)
        ),
        ("forest", {"tree": True}, ValueError, "trees are numbered from 0 to 1, -1 is the last"),
        (
            "forest",
            {"for_class": True},
            ValueError,
            "the tree of one class, but each tree of this model predicts all classes",
        ),
        ("numbers", {"for_class": 0}, ValueError, "for_class=0 selects the tree of one target, .* a single number"),
        ("boosted", {"for_class": "dog"}, ValueError, "has no tree; there is one for each of 'ant', 'bee', 'cow'"),
        ("bayes", {}, TypeError, "TreeDisplay needs voters that are native trees; these are EstimatorVoters"),
        ("other", {}, TypeError, "estimator=.* has no trees that can be drawn; give a fitted learner"),
        ("text", {}, TypeError, "estimator='forest' has no trees that can be drawn"),
        ("unfitted", {}, NotFittedError, "not fitted"),
    ],
)
def test_trees_that_are_not_there_are_refused(refused, name, options, error, match):
    with pytest.raises(error, match=match):
        TreeDisplay.from_estimator(refused[name], **options)


@pytest.mark.parametrize(
    ("name", "rows", "error", "match"),
    [
        ("large", (), ValueError, "leaves in 20 trees; at most 60 .* prune.*max_nodes=40"),
        ("lines", (), TypeError, r'these have linear functions\..*leaf="constant"'),
        ("several", (), ValueError, "predicts 2 numbers of each row"),
        ("bayes", (), TypeError, "SmallEnsembleDisplay needs voters that are native trees"),
        ("blend", (), TypeError, r"a committee of ensembles\. .* max_leaf_nodes=8"),
        ("unfitted", (), NotFittedError, "not fitted"),
        ("forest", (table(n_towns=4)[0], 240), ValueError, "row=240 is out of range"),
        ("forest", (csr_array(np.ones((2, 3))),), TypeError, "X is sparse"),
    ],
)
def test_ensembles_that_cannot_be_drawn_are_refused(refused, name, rows, error, match):
    with pytest.raises(error, match=match):
        SmallEnsembleDisplay.from_estimator(refused[name], *rows)
    assert is_small(refused[name]) == (name == "forest")


@pytest.mark.parametrize(
    ("words", "children", "options", "message"),
    [
        ([], np.empty((0, 2)), {}, "at least one node"),
        (["a"], [[-1, -1], [-1, -1]], {}, "children has shape"),
        (["a"], [[-1, -1]], {"shares": [1.0, 2.0]}, "the other arguments have lengths"),
        (["a", "b", "c"], [[1, 1], [-1, -1], [-1, -1]], {}, "children do not make a tree"),
        (["a", "b", "c"], [[-1, -1], [0, 2], [-1, -1]], {}, "children do not make a tree"),
        (["a", "b"], [[1, -1], [-1, -1]], {}, "children do not make a tree"),
        (["a"], [[-1, -1]], {"max_leaves": 0}, "max_leaves=0 is not a number of leaves; give"),
        (["a"], [[-1, -1]], {"max_leaves": "all"}, "is not a number of leaves; give .* or None for all"),
        (["a"], [[-1, -1]], {"max_leaves": 1.5}, "max_leaves=1.5 is not a number of leaves; give"),
    ],
)
def test_nodes_that_make_no_tree_are_refused(words, children, options, message):
    with pytest.raises(ValueError, match=message):
        TreeDisplay(words, children, **options)


def test_leaves_with_lines_say_and_show_the_mean_of_their_rows():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    model = GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=5, subsample=1.0, random_state=0).fit(X, y)
    assert TreeDisplay.from_estimator(model).title.endswith("leaves hold lines; their mean adds to the score")
    leaves, votes = model.apply(X), model.committee_.votes(X) * model.committee_.weights
    for tree in range(4):
        display = TreeDisplay.from_estimator(model, tree)
        assert any("colour: sign of the mean" in text.get_text() for text in display.ax_.texts)
        for leaf in np.unique(leaves[:, tree]):
            mean = votes[leaves[:, tree] == leaf, tree].mean()
            assert float(display.words[leaf].split()[0]) == pytest.approx(mean, rel=5e-3)
            assert display.colors[leaf] == (FOR if mean > 0 else AGAINST)


@pytest.mark.parametrize("tree", ["shared", "per_target"])
def test_lines_that_do_not_fit_are_counted_in_the_picture_and_told_in_the_text(tree):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = GradientBoostingRegressor(n_estimators=2, tree=tree, random_state=0).fit(X, np.column_stack([y, -2 * y]))
    display = whole(TreeDisplay.from_estimator(model))
    assert_apart(display)
    voters = model.committee_.voters
    n_lines = np.diff(voters.lines.start)[: len(display.words)]
    for node in np.flatnonzero(display.children[:, 0] < 0):
        assert display.words[node].count(" per ") == n_lines[node]
        told = f"({n_lines[node]} lines)" if n_lines[node] > 1 else "(a line)"
        assert display.short_words[node] in (display.words[node], display.words[node].partition(" (")[0] + f" {told}")
    m = voters.lines.start[(node := int(np.argmax(n_lines)))]
    slopes = " / ".join(f"{slope:+.3g}" for slope in model.committee_.weights[0] * voters.lines.slope[m])
    assert f"({slopes} per {X.columns[voters.lines.column[m]]}" in display.words[node]


def answer(test: tuple[str, str], row: dict[str, Any]) -> bool | None:
    """What a reader says to a test; None where the value is missing."""
    value, condition = row[test[0]], test[1]
    if condition in ("is known", "is missing"):
        return (value is None) == (condition == "is missing")
    if value is None:
        return None
    if condition.startswith("≤ "):
        return bool(value <= float(condition[2:]))
    words = condition.removeprefix("is not ").removeprefix("is ").replace(" or ", ", ").split(", ")
    return (value in words) != condition.startswith("is not ")


def summed(words: EnsembleText, row: dict[str, Any]) -> np.ndarray:
    """What the leaves add up to, by reading the picture."""
    said, weights = [], []
    for tree in words.trees:
        node = 0
        while tree.children[node, 0] >= 0:
            true = answer(tree.tests[node], row)
            node = int(tree.children[node, tree.missing[node] if true is None else 1 - true])
        said.append(tree.values[node])
        weights.append(tree.weight)
    if words.leaves.kind == "sums":
        return np.asarray(words.leaves.start + np.sum(said, axis=0))
    return np.average(said, axis=0, weights=weights)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", SMALL_ENSEMBLES, ids=words)
def test_reading_the_picture_gives_the_vote(model, n_classes):
    model, X = fitted(model, n_classes, 4)
    found = EnsembleText.of(model)
    read = np.array([summed(found, row) for row in X.rows(named=True)])
    if found.leaves.kind == "shares":
        total = model.committee_.total_weight
        assert_allclose(model.committee_.link.probability(read * total, total), model.predict_proba(X), atol=1e-9)
    elif is_regressor(model):
        assert_allclose(np.exp(read[:, 0]) if found.leaves.is_log else read[:, 0], model.predict(X))
    else:
        probability = softmax(read, axis=1) if n_classes > 2 else np.column_stack([expit(-read), expit(read)])
        assert_allclose(probability, model.predict_proba(X), atol=1e-12)
    if n_classes == 3:
        display = SmallEnsembleDisplay.from_estimator(model, X, 7)
        assert_apart(display)
        assert display.row.sums[0] in str(display)


def test_trees_of_the_same_tests_are_drawn_as_one():
    model, X = fitted(committee.AdaBoostClassifier(4, max_depth=1, vote="confidence"), 2, 4)
    twice = model.committee_.select([0, 1, 0, 2, 1, 0])
    found = EnsembleText.of(twice)
    once = {tree.number: tree for tree in EnsembleText.of(model.committee_.select([0, 1, 2])).trees}
    assert sorted(tree.n_summed for tree in found.trees) == [1, 2, 3]
    assert found.size == "6 trees (drawn as 3: those of the same tests are added up), 6 leaves"
    for tree in found.trees:
        of = {0: 0, 1: 1, 3: 2}[tree.number]
        assert_allclose(tree.values, tree.n_summed * once[of].values)
        assert_allclose(tree.shares, once[of].shares)
        assert tree.name.endswith(f", the sum of {tree.n_summed}") == (tree.n_summed > 1)
    read = np.array([summed(found, row) for row in X.rows(named=True)])
    assert_allclose(np.column_stack([expit(-read), expit(read)]), twice.predict_proba(X), atol=1e-12)
    assert "the sum of 3" in str(SmallEnsembleDisplay.from_estimator(twice, X, 3))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_long_names_many_categories_and_many_classes_stay_apart(n_classes):
    rng = np.random.default_rng(0)
    town = rng.integers(0, 14, 900)
    X = pl.DataFrame({f"{LONG}_{j}": rng.normal(size=900) for j in range(3)}).with_columns(
        pl.Series(f"{LONG}_town", [f"{t}, a town with a long name" for t in town])
    )
    y = np.array([f"a class of a long name, the {k}" for k in range(n_classes)])[
        (town + (X[:, 0].to_numpy() > 0)) % n_classes
    ]
    boosted = committee.AdaBoostClassifier(3, max_depth=3, vote="confidence").fit(X, y)
    forest = committee.RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    for model in (boosted, committee.LeafReweighter(forest, max_nodes=21, C=1.0, growth=1.0, cv=2).fit(X, y)):
        display = SmallEnsembleDisplay.from_estimator(model, X, -1)
        assert_apart(whole(display))
        assert display.row.number == len(X) - 1
    assert "is one of" in str(SmallEnsembleDisplay.from_estimator(boosted))


def test_other_libraries_one_leaf_given_axes_and_pages():
    X, score = table(n_towns=4)
    numbers = X[["height"]].to_numpy()
    peer = Peer(2, max_depth=2, random_state=0).fit(numbers, score > 1.0)
    drawn = whole(SmallEnsembleDisplay.from_estimator(peer, numbers))
    assert f"probability {peer.predict_proba(numbers[:1]).max():.0%}" in str(drawn) or ";  mean" in str(drawn)
    assert str(SmallEnsembleDisplay.from_estimator(Committee.from_estimator(peer), numbers)) == str(drawn)
    leaf = committee.TreeVoter(max_depth=3).fit(np.ones((20, 1)), np.arange(20) % 2)
    assert "1 tree, 1 leaf" in str(whole(SmallEnsembleDisplay.from_estimator(leaf)))
    given = Figure(figsize=(5, 4)).subplots()
    assert SmallEnsembleDisplay.from_estimator(peer, ax=given).ax_ is given

    with pytest.warns(UserWarning, match="one class"):
        only = committee.TreeVoter().fit(np.zeros((3, 1)), ["only"] * 3)
    assert "only" in whole(TreeDisplay.from_estimator(only)).text
    page = render_model(committee.TreeVoter(max_depth=2).fit(X, score > 1.0), X)
    assert "All trees" in page and "dark: the path of row 0" in page
    large = committee.RandomForestClassifier(20, random_state=0).fit(X, score > 1.0)
    assert "All trees" not in render_model(large)
