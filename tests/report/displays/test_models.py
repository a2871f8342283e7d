"""Displays of contributions, coefficients, risks and members, and the page of a model."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import RandomForestClassifier as ScikitForest

from committee import (
    AdaBoostClassifier,
    Committee,
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingRegressor,
    ProbitBoostClassifier,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    SBPMTClassifier,
)
from committee.report import (
    CoefficientMapDisplay,
    ContributionDisplay,
    MeanContributionDisplay,
    MemberDisagreementDisplay,
    MemberVotesDisplay,
    RiskPathDisplay,
)
from committee.report.displays.contributions import contribution_sizes
from committee.report.inspection import inspection
from committee.report.members import MemberAnswers
from committee.report.model_pages import render_model
from tests.report.displays.drawn import LONG, legend_of, texts_inside, whole
from tests.small_portfolio import use_small_members
from tests.subjects import noisy_scores, numbers


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    columns = {f"{LONG}_{j}": rng.normal(size=500) for j in range(28)}
    X = pl.DataFrame(columns | {"town": rng.choice(["Oslo", "Bergen", "a town with a long name"], 500)})
    score = X[:, 0].to_numpy() + 2.0 * (X["town"] == "Oslo").to_numpy() + rng.normal(0, 0.5, 500)
    y = np.array(["first", "second", "third"])[np.digitize(score, np.quantile(score, [1 / 3, 2 / 3]))]
    return X, y, ProbitModelTreeClassifier(min_impurity_decrease=0.0, n_leaf_steps=20).fit(X, y)


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True, as_frame=True)
    return X, y, SBPMTClassifier(3, 2, 20, random_state=0).fit(X, y)


@pytest.mark.parametrize("standardised", [False, True])
def test_map_shows_leaves_and_columns(wide, standardised):
    X, _, model = wide
    display = CoefficientMapDisplay.from_estimator(model, X if standardised else None, label="second", max_columns=9)
    texts = texts_inside(display)
    assert display.values.shape[1] == 9 and len(display.rules) == display.values.shape[0]
    assert any("score for second" in text and "9 of 31 columns" in text for text in texts)
    assert len([text for text in texts if text.startswith("leaf ")]) == len(display.rules)
    assert all(len(label.get_text()) <= 28 for label in display.ax_.get_xticklabels())


def test_map_holds_the_coefficients(iris):
    X, _, model = iris
    display = CoefficientMapDisplay.from_estimator(model, X, label=1, tree=0)
    frame = model.leaf_models_.filter((pl.col("committee") == 0) & (pl.col("tree") == 0) & (pl.col("class") == 1))
    frame = frame.sort("rows", descending=True, maintain_order=True)
    expected = frame[display.columns].to_numpy() * X[display.columns].to_numpy().std(axis=0)
    np.testing.assert_allclose(display.values, expected)


def test_map_of_many_leaves_takes_the_largest(wide):
    model = ProbitModelTreeClassifier(min_impurity_decrease=0.0, min_samples_leaf=5, n_leaf_steps=2).fit(*wide[:2])
    display = CoefficientMapDisplay.from_estimator(model, max_leaves=4)
    assert len(display.rules) == 4 and display.n_leaves > 4
    rows = [int(re.search(r"\((\d+) rows\)", rule)[1]) for rule in display.rules]
    assert rows == sorted(rows, reverse=True)
    assert any("4 of" in text for text in texts_inside(display))
    ax = Figure().subplots()
    assert CoefficientMapDisplay.from_estimator(model, ax=ax).ax_ is ax
    constant = CoefficientMapDisplay(np.zeros((2, 3)), ["a", "b"], ["x", "y", "z"]).plot()
    assert texts_inside(constant).count("constant") == 2


@pytest.mark.parametrize(("leaves", "columns", "written"), [(20, 20, 400), (21, 20, 0), (20, 21, 0)])
def test_map_writes_numbers_where_there_is_room(leaves, columns, written):
    rules, names = [f"rule {i}" for i in range(leaves)], [f"x{j}" for j in range(columns)]
    values = np.arange(1.0, leaves * columns + 1).reshape(leaves, columns)
    display = CoefficientMapDisplay(values, rules, names, max_leaves=30, max_columns=30).plot()
    assert len(display.ax_.texts) == written


def test_contributions_lead_from_the_bias_to_the_score(iris):
    X, _, model = iris
    display = ContributionDisplay.from_estimator(model, X, 100)
    shares = model.contributions(X)[100, :, int(model.predict(X)[100])]
    np.testing.assert_array_equal(display.contributions, shares)
    ends = display.ax_.lines[-2].get_xdata()
    np.testing.assert_allclose(ends, [shares[-1], shares.sum()])
    share = model.predict_proba(X)[100, 2]
    assert f"predicted 2 ({share:.0%})" in texts_inside(display)
    assert display.ax_.get_xlabel() == "mean score for 2"


@pytest.mark.parametrize("row", [0, -1, 17])
def test_contributions_of_frames_and_arrays(row):
    X, y = load_breast_cancer(return_X_y=True)
    model = ProbitModelTreeClassifier().fit(X, y)
    display = ContributionDisplay.from_estimator(model, X, row, label=0)
    np.testing.assert_array_equal(display.contributions, model.contributions(X)[row])
    assert display.ax_.get_xlabel() == "score: above 0 for 1, below for 0"
    frame, labels = load_breast_cancer(return_X_y=True, as_frame=True)
    again = ContributionDisplay.from_estimator(ProbitModelTreeClassifier().fit(frame, labels), frame, row)
    np.testing.assert_array_equal(again.contributions, display.contributions)
    assert again.labels[0] == f"mean radius = {frame.iloc[row, 0]:.6g}"


def test_contributions_of_many_long_names(wide):
    X, _, model = wide
    display = ContributionDisplay.from_estimator(model, X, 3, label="third", max_features=6)
    texts = texts_inside(display)
    assert any(re.fullmatch(r"\d+ others", text) for text in texts)
    assert all(len(text) <= 41 for text in texts if LONG in text)


def test_contributions_of_categories_gaps_lists_and_plain_numbers():
    X = pl.DataFrame({"town": ["Oslo", "Bergen", None, "Oslo"] * 30, "age": [1.0, None, 2.0, 3.0] * 30})
    model = ProbitModelTreeClassifier().fit(X, np.tile([0, 1, 1, 0], 30))
    assert ContributionDisplay.from_estimator(model, X, 1).labels == ["town = Bergen", "age is missing"]
    assert ContributionDisplay.from_estimator(model, X, 2).labels == ["town is missing", "age = 2"]
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(2).fit(X, y)
    listed, array = (ContributionDisplay.from_estimator(model, rows, -1) for rows in (X.tolist(), X))
    np.testing.assert_array_equal(listed.contributions, array.contributions)
    assert listed.labels == array.labels
    display = ContributionDisplay([0.5, -0.25, 1.0], ["age = 3", "size = 2"]).plot()
    assert display.ax_.get_title("left") == ""
    np.testing.assert_allclose(display.ax_.lines[-2].get_xdata(), [1.0, 1.25])


def test_contributions_to_numbers_end_at_the_prediction_and_leave_zero_out():
    X, y = load_iris(return_X_y=True, as_frame=True)
    far = y + 1000.0
    for model in (RandomForestRegressor(5, random_state=0), GradientBoostingRegressor(n_estimators=5)):
        display = ContributionDisplay.from_estimator(model.fit(X, far), X, 7)
        assert_array_equal(display.contributions, model.contributions(X, output="prediction")[7])
        assert display.contributions.sum() == pytest.approx(model.predict(X)[7])
        assert display.ax_.get_xlabel() == "prediction" and display.ax_.get_xlim()[0] > 990.0
        assert {f"predicted {model.predict(X)[7]:.4g}", "prediction"} <= set(texts_inside(display))
    counts = GradientBoostingRegressor(n_estimators=5, loss="poisson").fit(X, far)
    display = ContributionDisplay.from_estimator(counts, X, 7)
    assert np.exp(display.contributions.sum()) == pytest.approx(counts.predict(X)[7])
    assert display.ax_.get_xlabel() == "score: the logarithm of the prediction"


def test_contributions_to_one_of_several_targets_or_quantiles(iris):
    X, y, _ = iris
    two = GradientBoostingRegressor(n_estimators=5).fit(X, np.column_stack([y, -2.0 * y]))
    quantiles = GradientBoostingRegressor(n_estimators=5, loss="quantile", quantile=[0.25, 0.75]).fit(X, y)
    for model, label, k, subject in (
        (two, None, 0, "prediction for target 0"),
        (two, 0, 0, "prediction for target 0"),
        (two, 1, 1, "prediction for target 1"),
        (quantiles, 0.75, 1, "prediction of quantile 0.75"),
    ):
        display = ContributionDisplay.from_estimator(model, X, 7, label=label)
        assert display.contributions.sum() == pytest.approx(model.predict(X)[7, k])
        assert display.ax_.get_xlabel() == subject
        assert model is quantiles or display.remark == f"predicted {model.predict(X)[7, k]:.4g}"
    with pytest.raises(ValueError, match="label=2 is out of range; targets are numbered from 0 to 1"):
        ContributionDisplay.from_estimator(two, X, 7, label=2)
    with pytest.raises(ValueError, match=r"label=0.3 is not a quantile of the estimator, which has 0.25, 0.75"):
        ContributionDisplay.from_estimator(quantiles, X, 7, label=0.3)


def test_risk_of_a_model_tree_falls(wide):
    model = wide[2]
    assert (np.diff(model.risk_path_, axis=2) <= 0.0).all()
    display = RiskPathDisplay.from_estimator(model)
    texts_inside(display)
    mean = display.ax_.lines[-1].get_ydata()
    counts = model.leaf_models_["rows"].to_numpy()
    expected = np.average(model.risk_path_.reshape(len(counts), -1), axis=0, weights=counts)
    np.testing.assert_allclose(mean, expected)


@pytest.mark.parametrize("tree", ["shared", "per_class"])
def test_risk_curves_are_named(iris, tree):
    X, y, _ = iris
    model = ProbitModelTreeClassifier(tree=tree, max_depth=1).fit(X, y)
    display = RiskPathDisplay.from_estimator(model)
    frame = model.leaf_models_
    assert display.names == [f"leaf {leaf}, {label}" for leaf, label in frame[["leaf", "class"]].rows()]
    texts_inside(display)


def test_risk_of_a_boosted_score():
    X, y = load_iris(return_X_y=True)
    model = ProbitBoostClassifier(30).fit(X, y)
    display = RiskPathDisplay.from_estimator(model)
    np.testing.assert_array_equal(display.risk, model.risk_path_)
    assert display.names == ["0", "1", "2"]
    two = RiskPathDisplay.from_estimator(ProbitBoostClassifier(30).fit(X[50:], y[50:]))
    assert two.names == ["2"] and two.ax_.get_legend() is None


def test_inspection_names_the_leaves(wide, iris):
    grids = {grid.title: grid for grid in inspection(wide[2])}
    leaves = next(grid for title, grid in grids.items() if "leaves" in title)
    assert leaves.columns == ("leaf", "rule", "rows", "score for")
    assert re.match(r"(first|second|third): -?[\d.]+", leaves.rows[0][3])
    features = next(grid for title, grid in grids.items() if title.startswith("Most used features"))
    assert features.columns[1] == "share of risk decrease"
    titles = [grid.title for grid in inspection(iris[2])]
    assert any(re.fullmatch(r"Largest of \d (leaf|leaves) of the first of \d trees", title) for title in titles)
    assert any(re.search(r" \+ \d+ more$", row[3]) for row in leaves.rows), "of 31 columns three are written"
    plain = [grid.title for grid in inspection(AdaBoostClassifier(2).fit(*iris[:2]))]
    assert not any("leaves" in title for title in plain)


def test_inspection_counts_the_leaves_with_lines(iris):
    X, y, _ = iris
    for n_targets in (1, 2):
        targets = X.iloc[:, 0] if n_targets == 1 else X.iloc[:, :2]
        model = GradientBoostingRegressor(n_estimators=5, max_leaf_nodes=3, extra_trees=False, random_state=0).fit(
            X.iloc[:, 2:], targets
        )
        voters = model.committee_.voters
        leaves = lines = 0
        for node, feature in enumerate(voters.forest.feature):
            own = range(voters.lines.start[node], voters.lines.start[node + 1])
            leaves, lines = leaves + (len(own) > 0), lines + len(own)
            assert feature < 0 or not own
        told = dict(inspection(model)[0].rows)["lines"]
        assert told == f"{lines} in {leaves} of {15 * n_targets} leaves"
        assert told in render_model(model)
    constant = GradientBoostingRegressor(n_estimators=5, leaf="constant").fit(X, y)
    assert "lines" not in dict(inspection(constant)[0].rows)
    assert inspection(constant)[-1].columns[1] == "share of gain"


def test_page_of_a_model_is_whole_and_the_same_each_time(wide, iris):
    X, y, model = wide
    page = render_model(model, X, name="wide & long", margins=model.committee_.margins(X, y))
    assert page == render_model(model, X, name="wide & long", margins=model.committee_.margins(X, y))
    assert page.startswith("<!DOCTYPE html>") and page.rstrip().endswith("</html>")
    assert "<h1>wide &amp; long</h1>" in page and '"Curves of the mean training risk"' in page
    assert not set(re.findall(r"https?://[^\"]*", page))
    headings = (
        "Feature importance",
        "Effects of columns",
        "Linear models in the leaves of the first tree",
        "Model card",
    )
    assert all(words in page for words in headings)
    without = render_model(iris[2])
    assert "described by the model alone" in without and "Linear models in the leaves" not in without
    assert "Effects of columns" in render_model(AdaBoostClassifier(2).fit(*iris[:2]))


def small_blend(kind, X, y):
    with pytest.MonkeyPatch.context() as patch:
        use_small_members(patch)
        return kind("best", cv=2, min_gain=0.0, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classes():
    X, y = numbers(3, 240)
    y = np.array(["a class of a long name", "b", "c"])[y]
    return small_blend(CommitteeClassifier, X[::2], y[::2]), X[1::2], y[1::2]


@pytest.fixture(scope="module")
def of_numbers():
    X, y = noisy_scores(240, 1)
    return small_blend(CommitteeRegressor, X[::2], y[::2]), X[1::2], y[1::2]


def test_the_map_has_a_cell_for_each_two(classes, of_numbers):
    model, X, _ = classes
    display = whole(MemberDisagreementDisplay.from_estimator(model, X))
    apart, m = MemberAnswers.of(model, X).disagreement(), len(model.member_names_) + 1
    assert_array_equal(display.disagreement, apart)
    assert len(display.ax_.texts) == m * (m - 1) // 2
    assert display.ax_.texts[0].get_text() in (f"{apart[1, 0]:.0%}", f"{apart[1, 0]:.1%}")
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()][-1] == "vote"
    display = whole(MemberDisagreementDisplay.from_estimator(*of_numbers[:2]))
    assert display.ax_.texts[0].get_text() == f"{display.disagreement[1, 0]:.3g}"
    display = whole(MemberDisagreementDisplay(["a", "vote"], np.zeros((2, 2))).plot())
    assert [text.get_text() for text in display.ax_.texts] == ["0.0%"]


def test_marks_are_probabilities_of_the_class_that_the_vote_elects(classes):
    model, X, y = classes
    told = MemberAnswers.of(model, X, y)
    display = whole(MemberVotesDisplay.from_estimator(model, X, y, max_rows=7))
    assert_array_equal(display.rows, told.most_disputed(7))
    winner = told.vote[display.rows].argmax(axis=1)
    marks = [points.get_offsets() for points in display.ax_.collections[1:]]  # the lines come first
    assert len(marks) == len(told.names) + 1
    for at, p in zip(marks, told.everyone, strict=True):
        assert_allclose(at[:, 0], p[display.rows, winner])
    assert legend_of(display.ax_)[-1] == "vote"
    words = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    for row, said in zip(display.rows, words, strict=True):
        elected = model.predict(X[[row]])[0]
        assert said.startswith(f"row {row}: {elected[:15]}")
        assert (", is " in said) == (elected != y[row])
    unlabelled = MemberVotesDisplay.from_estimator(model, X).ax_
    assert not any(", is " in tick.get_text() for tick in unlabelled.get_yticklabels())


def test_marks_of_numbers_and_the_truth(of_numbers):
    model, X, y = of_numbers
    display = whole(MemberVotesDisplay.from_estimator(model, X, y, max_rows=5))
    assert legend_of(display.ax_)[-2:] == ["vote", "true"]
    assert_allclose(display.ax_.collections[-1].get_offsets()[:, 0], y[display.rows])
    assert legend_of(MemberVotesDisplay.from_estimator(model, X).ax_)[-1] == "vote"


def test_no_member_has_the_dark_grey_of_the_vote():
    p = np.random.default_rng(0).dirichlet([1.0, 1.0], size=(27, 4))
    names = tuple(f"member_{i}" for i in range(27))
    answers = MemberAnswers(names, np.full(27, 1.0 / 27.0), p, p.mean(axis=0), np.array([0, 1]), None)
    *members, (_, vote) = MemberVotesDisplay(answers).dot_rows().series
    assert vote == "ink" and [color % 7 for _, color in members] == [*range(6)] * 4 + [0, 1, 2]
    assert len({color for _, color in members}) == 27


def test_bars_are_mean_sizes_and_lines_their_quantiles(classes):
    model, X, _ = classes
    display = whole(MeanContributionDisplay.from_estimator(model, X, max_features=3))
    shares = model.contributions(X)[:, :-1]
    sizes = np.array([[np.abs(shares[i, j]).sum() / 2 for j in range(5)] for i in range(len(X))])
    assert_allclose(display.sizes, sizes)
    assert_allclose(display.mean, sizes.mean(axis=0))
    drawn = [bar.get_width() for bar in display.ax_.patches]
    order = np.argsort(-sizes.mean(axis=0))
    largest = sizes.mean(axis=0)[order]
    assert_allclose(drawn, [*largest[:3], largest[3:].sum()])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()][-1] == "2 others, together"
    spread = [line.get_xdata() for line in display.ax_.get_lines()]
    assert_allclose(spread, np.quantile(sizes, [0.1, 0.9], axis=0, method="inverted_cdf").T[order[:3]])
    label = "mean probability moved between classes\nlines: 10 % to 90 % quantile of the rows"
    assert display.ax_.get_xlabel() == label
    one = MeanContributionDisplay.of(model, X, label=model.classes_[0], max_rows=7)
    some = np.unique(np.linspace(0, len(X) - 1, 7).astype(int))
    assert_allclose(one.sizes, np.abs(shares[some, :, 0]))
    weight = np.arange(len(X)) % 3
    weighted, repeated = (
        MeanContributionDisplay.of(model, rows, sample_weight=given, max_rows=500)
        for rows, given in ((X, weight), (np.repeat(X, weight, axis=0), None))
    )
    assert_allclose(weighted.mean, repeated.mean)
    assert_array_equal(weighted.spread, repeated.spread)


def test_of_two_classes_and_of_numbers_they_are_absolute_values(of_numbers):
    model, X, _ = of_numbers
    shares = model.contributions(X)
    assert_allclose(contribution_sizes(shares), np.abs(shares[:, :-1]))
    one = np.random.default_rng(0).normal(size=(4, 3))
    both = np.stack([-one, one], axis=2)
    assert_allclose(contribution_sizes(both, of_probabilities=True), np.abs(one[:, :-1]))
    assert_allclose(contribution_sizes(np.stack([one, 3.0 * one], axis=2)), 2.0 * np.abs(one[:, :-1]))
    display = whole(MeanContributionDisplay.from_estimator(model, X))
    assert display.ax_.get_xlabel().startswith("mean absolute contribution to the prediction\nlines")


def test_mean_contributions_of_every_kind_of_learner(iris):
    X, y, model_trees = iris
    several = GradientBoostingRegressor(2, loss="quantile", quantile=[0.25, 0.75]).fit(X, y)
    counts = GradientBoostingRegressor(2, loss="poisson").fit(X, y + 1.0)
    two = GradientBoostingRegressor(n_estimators=2).fit(X, np.column_stack([y, -2.0 * y]))
    forest = RandomForestClassifier(2, calibrate=None, random_state=0).fit(X, y)
    boosted = AdaBoostClassifier(2).fit(X, y)
    for model, label, subject, expected in (
        (model_trees, None, "score, mean of 3 classes", np.abs(model_trees.contributions(X)).mean(axis=2)),
        (boosted, 2, "score for class 2", np.abs(boosted.contributions(X)[:, :, 2])),
        (forest, 1, "probability for class 1", np.abs(forest.contributions(X, output="probability")[:, :, 1])),
        (several, 0.75, "prediction for quantile 0.75", np.abs(several.contributions(X)[:, :, 1])),
        (two, 1, "prediction for target 1", np.abs(two.contributions(X, output="prediction")[:, :, 1])),
        (counts, None, "logarithm of the prediction", np.abs(counts.contributions(X))),
    ):
        display = MeanContributionDisplay.of(model, X, label=label)
        assert display.subject == subject and display.labels == X.columns.tolist()
        assert_allclose(display.sizes, expected[:, :-1])
    with pytest.raises(ValueError, match="label='x' is not a class of the model, which has 0, 1, 2"):
        MeanContributionDisplay.of(boosted, X, label="x")
    with pytest.raises(ValueError, match=r"label=0.5 is not a quantile of the model, which has 0.25, 0.75"):
        MeanContributionDisplay.of(several, X, label=0.5)
    with pytest.raises(ValueError, match="label=2 is out of range"):
        MeanContributionDisplay.of(two, X, label=2)


def test_one_row_of_a_blend_leads_to_its_probability(classes, of_numbers):
    model, X, _ = classes
    display = whole(ContributionDisplay.from_estimator(model, X, 3))
    k = model.predict_proba(X)[3].argmax()
    assert_array_equal(display.contributions, model.contributions(X)[3, :, k])
    assert display.ax_.get_xlabel() == f"probability for {model.classes_[k]}"
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert (labels[0], labels[-1]) == ("baseline", "probability")
    model, X, _ = of_numbers
    display = ContributionDisplay.from_estimator(model, X, 3)
    assert_allclose(display.contributions.sum(), model.predict(X)[3])


def contributions(*given, **options):
    return lambda X, y, model: ContributionDisplay.from_estimator(model, X, *given, **options)


def coefficients(model=None, **options):
    return lambda X, y, fitted: CoefficientMapDisplay.from_estimator(model.fit(X, y) if model else fitted, **options)


AGREED = np.full((1, 4, 2), 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda *_: CoefficientMapDisplay(np.zeros((2, 3)), ["a", "b"], ["x", "y"]), r"shape \(2, 3\); 2 rules and 2 "),
        (coefficients(label=7), "label=7 has no score in tree 0; it has 0, 1, 2"),
        (coefficients(tree=99), "tree=99 is out of range; trees are numbered from 0"),
        (coefficients(max_leaves="all"), "max_leaves='all' is not a number of leaves; give"),
        (coefficients(AdaBoostClassifier(2)), "AdaBoostClassifier has no linear leaf models"),
        (contributions(150), "row=150 is out of range; rows are numbered from 0 to 149, -1 is the last"),
        (contributions(label="x"), "label='x' is not a class; the classes are 0, 1, 2"),
        (
            lambda X, y, _: ContributionDisplay.from_estimator(AdaBoostClassifier(2).fit(X, y > 0), X, label="x"),
            "label='x' is not a class; the classes are False, True",
        ),
        (
            lambda X, y, _: ContributionDisplay.from_estimator(RandomForestRegressor(2).fit(X, y), X, label="x"),
            "label='x' is out of range; targets are numbered from 0 to 0",
        ),
        (
            lambda *_: ContributionDisplay(np.zeros((2, 3)), ["a"]),
            r"1 labels need \(2,\), the bias last; of several",
        ),
        (lambda X, y, _: ContributionDisplay.from_estimator(AdaBoostClassifier(2), X), "not fitted"),
        (lambda *_: RiskPathDisplay.from_estimator(AdaBoostClassifier()), "AdaBoostClassifier has no risk_path_"),
        (lambda *_: RiskPathDisplay(np.ones((2, 3)), names=["one"]), "names"),
        (lambda *_: RiskPathDisplay(np.ones((2, 3, 4))), "risk has shape"),
        (lambda *_: MemberDisagreementDisplay(["vote"], np.zeros((1, 1))), r"disagreement has shape .*; 1 names need"),
        (lambda *_: MemberDisagreementDisplay(["a", "vote"], np.zeros((3, 3))), "2 names need"),
        (
            lambda *_: MemberVotesDisplay(MemberAnswers(("a",), np.ones(1), AGREED, AGREED[0], np.array([0, 1]), None)),
            "agree on every row",
        ),
        (lambda *_: MeanContributionDisplay([1.0], ["a", "b"]), r"sizes has shape \(1,\); 2 labels need \(n, 2\)"),
    ],
)
def test_invalid_arguments_are_refused(iris, make, message):
    with pytest.raises(ValueError, match=message):
        make(*iris)


def test_models_without_contributions_and_sparse_rows_are_refused(iris):
    X, y, _ = iris
    peer = ScikitForest(2).fit(X, y)
    for other in (3, peer, Committee.from_estimator(peer)):
        with pytest.raises(TypeError, match=r"estimator is a \w+, which has no contributions\(X\); give a fitted"):
            ContributionDisplay.from_estimator(other, X)
    boosted = AdaBoostClassifier(2).fit(X.to_numpy(), y)
    with pytest.raises(TypeError, match="X is sparse, and values of one row are explained"):
        ContributionDisplay.from_estimator(boosted, csr_array(X.to_numpy()))
    with pytest.raises(TypeError, match=r"is a RandomForestClassifier, which has no contributions\(X\)"):
        MeanContributionDisplay.from_estimator(peer, X)
    dense, rows = MeanContributionDisplay.of(boosted, X.to_numpy()), csr_array(X.to_numpy())
    assert_allclose(MeanContributionDisplay.of(boosted, rows).sizes, dense.sizes)
    assert whole(MeanContributionDisplay([[0.0]], ["a"]).plot()).ax_.texts[0].get_text() == "0"
