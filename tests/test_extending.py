"""A new one of each kind from outside the package: a class or a function, and one entry in a table.

What has such a test among the tests of its own folder is not written twice: a kind of voters in
`tests/files/test_kinds.py`, a penalty in `tests/objectives/programs/test_penalties.py`, a booster in
`tests/learners/base/test_early_stopping.py`, a paper in `tests/cli/test_papers.py`.
"""

import re
import subprocess
from collections.abc import MutableMapping
from dataclasses import KW_ONLY, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

import committee
from committee import LEARNERS, MODELS, Committee, report
from committee.bounds import Bound, VoterLosses
from committee.data.rows import Rows
from committee.learners.base import shared_parameters as shared
from committee.learners.base.fit_tasks import FitTasks
from committee.learners.base.parameters import POSITIVE, parameter, with_parameters
from committee.learners.base.predictors import BaseClassifier
from committee.learners.boosting.dictionaries import DICTIONARIES, ListedStumps, listed_stumps
from committee.learners.certificates.certificates import CERTIFICATES
from committee.learners.reweighting.margin_reweighter import LEVELS
from committee.objectives.losses import REGRESSION_LOSSES
from committee.objectives.margins.named_objectives import OBJECTIVES
from committee.objectives.margins.objective import Objective, Reweighting
from committee.objectives.programs.margin_matrix import MarginMatrix
from committee.report.comparison import compare
from committee.report.comparison_tables import quality_grid
from committee.report.displays.base import Display
from committee.report.metrics import METRICS, Metric
from committee.report.models import PEERS, Peer
from committee.vote.adapters.ensembles import ADAPTERS, Members
from committee.vote.links.mean import MEAN_LINKS, MeanLink
from committee.vote.links.probability import LINKS, Link, Share
from committee.voters.growing import GrowthLimits, forest_from_grown, leaf_labels, tree_grower
from tests.objectives.losses.cases import LogCosh

PAGE = Path(__file__).resolve().parent.parent / "docs" / "extending.md"


@pytest.fixture(scope="module")
def patients():
    X, y = load_breast_cancer(return_X_y=True)
    return X[:300], y[:300]


@pytest.fixture(scope="module")
def forest(patients):
    return committee.RandomForestClassifier(15, max_depth=2, random_state=0).fit(*patients)


@with_parameters
class FlattenedStump(BaseClassifier):
    """A stump grown on row weights that are raised to a power."""

    _: KW_ONLY
    power: float = parameter(0.5, "Exponent of the row weights.", POSITIVE)
    max_bins: int = shared.max_bins()
    categorical_features: Any = shared.categorical_features()

    def _train(self, rows: Rows, tasks: FitTasks) -> dict[str, Any]:
        binned, n_classes = rows.binned(self.table_, self.max_bins, 1), len(self.classes_)
        growing = tree_grower(binned, "gini", n_classes, GrowthLimits(1, None, 1, 0.0), 1)
        tree = growing.grow_classes(rows.labels, rows.weights**self.power, None, 0)
        voters = forest_from_grown([tree], binned.bins, n_classes, label=[leaf_labels(tree)])
        return {"committee_": Committee(voters, np.ones(1), self.classes_, Share(), self.table_)}


def test_a_learner_is_a_class_and_a_line(patients, tmp_path, monkeypatch):
    X, y = patients
    search = GridSearchCV(clone(FlattenedStump(power=2.0)), {"power": [0.5, 1.0]}, cv=3).fit(X, y)
    stump = search.best_estimator_
    assert stump.score(X, y) > 0.85 and "power : float, default=0.5" in FlattenedStump.__doc__
    with pytest.raises(TypeError, match="FlattenedStump cannot be saved"):
        stump.save(tmp_path / "stump")
    monkeypatch.setitem(LEARNERS, "FlattenedStump", __name__)
    stump.save(tmp_path / "stump")
    loaded = committee.load(tmp_path / "stump")
    assert loaded.get_params() == stump.get_params()
    assert_array_equal(loaded.predict_proba(X), stump.predict_proba(X))


def test_a_learner_by_its_short_name_is_compared(patients, monkeypatch):
    monkeypatch.setitem(LEARNERS, "FlattenedStump", __name__)
    monkeypatch.setitem(MODELS, "flattened", ("FlattenedStump", {"power": 0.25}))
    assert committee.model("flattened").power == 0.25
    assert compare(*patients, ["flattened"], folds=2)["flattened"].mean("accuracy") > 0.8


class MedianStumps(ListedStumps):
    """One stump a column, at its median."""

    def __init__(self, rows: Any, table: Any, learner: Any, n_threads: int) -> None:
        self.n_threads = n_threads
        self.binned, self.stumps = listed_stumps(rows, table, 1, "quantile", n_threads)


def test_a_dictionary_is_a_class_and_a_line(patients, monkeypatch):
    X, y = patients
    model = committee.QuadBoostClassifier(dictionary="medians")
    with pytest.raises(ValueError, match="'dictionary' parameter"):
        model.fit(X, y)
    monkeypatch.setitem(DICTIONARIES, "medians", MedianStumps)
    listed = clone(model).set_params(dictionary="stumps", n_thresholds=1)
    assert_array_equal(model.fit(X, y).predict_proba(X), listed.fit(X, y).predict_proba(X))
    assert committee.LPBoostClassifier(0.8, dictionary="medians").fit(X, y).score(X, y) > 0.85


@dataclass(frozen=True)
class Cauchit(Link):
    """p_k in proportion to 1/2 + arctan(F_k) / pi."""

    name: ClassVar[str] = "cauchit"

    def _probability(self, F: np.ndarray, total: float | None) -> np.ndarray:
        each = 0.5 + np.arctan(F if F.shape[1] > 1 else np.column_stack([-F, F])) / np.pi
        return each / each.sum(axis=1, keepdims=True)


def test_a_link_is_a_class_and_a_line(patients, forest, tmp_path, monkeypatch):
    X = patients[0]
    linked = forest.committee_.select(slice(None), link=Cauchit())
    assert_array_equal(linked.predict(X), forest.predict(X))
    with pytest.raises(ValueError, match="link name is 'cauchit'; it must be one of softmax"):
        linked.save(tmp_path / "linked")
    monkeypatch.setitem(LINKS, "cauchit", Cauchit)
    linked.save(tmp_path / "linked")
    assert_array_equal(committee.load(tmp_path / "linked").predict_proba(X), linked.predict_proba(X))


def test_a_loss_is_a_class_and_a_line(tmp_path, monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    y = (y - y.mean()) / y.std()
    unnamed = committee.GradientBoostingRegressor(loss=LogCosh(), n_estimators=20, random_state=0).fit(X, y)
    with pytest.raises(TypeError, match="LogCosh"):
        unnamed.save(tmp_path / "model")
    monkeypatch.setitem(REGRESSION_LOSSES, "log_cosh", LogCosh)
    model = committee.GradientBoostingRegressor(n_estimators=20, loss="log_cosh", random_state=0).fit(X, y)
    assert_array_equal(model.predict(X), unnamed.predict(X))
    assert model.score(X, y) > 0.4
    for number, saved in enumerate((model, unnamed)):
        saved.save(tmp_path / f"model{number}")
        assert_array_equal(committee.load(tmp_path / f"model{number}").predict(X), model.predict(X))


@dataclass(frozen=True)
class Square(MeanLink):
    """The mean is the square of the score."""

    name: ClassVar[str] = "square"

    def _mean(self, F, total):
        return F**2

    def score(self, mean):
        return np.sqrt(mean)


def test_a_mean_link_is_a_class_and_a_line(tmp_path, monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    votes = committee.TreeRegressor(max_depth=2).fit(X, y).committee_
    squared = committee.RegressionCommittee(votes.voters, votes.weights, Square(), votes.table)
    monkeypatch.setitem(MEAN_LINKS, "square", Square)
    squared.save(tmp_path / "squared")
    assert_array_equal(committee.load(tmp_path / "squared").predict(X), votes.predict(X) ** 2)


@dataclass(frozen=True)
class BestVoter(Objective):
    """The mean margin, of which a single voter is the best vote."""

    name: ClassVar[str] = "best_voter"

    def value(self, lines: MarginMatrix, weights: np.ndarray) -> float:
        return float(lines.mean_votes() @ weights)

    def solve(self, lines: MarginMatrix) -> Reweighting:
        weights = np.eye(lines.n_voters)[np.argmax(lines.mean_votes())]
        before = self.value(lines, lines.own)
        return Reweighting(weights, self.value(lines, weights), before, "Optimal", len(lines.matrix), gap=0.0)


def test_an_objective_is_a_class_and_a_line(patients, forest, tmp_path, monkeypatch):
    X, y = patients
    unnamed = committee.MarginReweighter(forest, BestVoter(), on="train").fit(X, y)
    with pytest.raises(TypeError, match="BestVoter"):
        unnamed.save(tmp_path / "model")
    monkeypatch.setitem(OBJECTIVES, "best_voter", BestVoter)
    model = committee.MarginReweighter(forest, "best_voter", on="train").fit(X, y)
    assert model.value_ > model.value_before_
    assert_array_equal(model.voters_, unnamed.voters_)
    assert model.committee_.n_voters == 1
    model.save(tmp_path / "model")
    loaded = committee.load(tmp_path / "model")
    assert loaded.objective_ == BestVoter()
    assert_array_equal(loaded.predict(X), model.predict(X))
    small = committee.prune(forest, X, y, level="voter", objective="best_voter", on="train")
    assert_array_equal(small.predict(X), model.predict(X))


def first_voters(ensemble, limits, X, y, sample_weight, **options):
    """The first voters stay, with the weights that they have."""
    return ensemble.committee_.select(slice(limits.max_voters))


def test_a_level_of_pruning_is_a_function_and_a_line(patients, forest, monkeypatch):
    X, y = patients
    monkeypatch.setitem(LEVELS, "first", first_voters)
    small = committee.prune(forest, X, y, level="first", max_voters=3)
    assert_array_equal(small.predict(X), forest.committee_.select(slice(3)).predict(X))
    reweighted = committee.MarginReweighter(forest, BestVoter(), on="train").fit(X, y)
    assert reweighted.prune(level="first", max_voters=1).n_voters == 1


def hoeffding(losses: VoterLosses, delta: float = 0.05) -> Bound:
    """Twice the mean loss of the voters, by Hoeffding's inequality."""
    gibbs, slack = float(losses.gibbs().mean()), float(np.sqrt(np.log(1.0 / delta) / (2 * losses.n_rows)))
    statement = f"error of the vote is at most the value, with probability {1.0 - delta:g}"
    terms = {"gibbs": gibbs, "slack": slack}
    return Bound("Hoeffding", statement, 2.0 * (gibbs + slack), terms, "More rows.", {"delta": delta}, trivial=0.5)


def test_a_bound_is_a_function_and_a_line(patients, forest, monkeypatch):
    X, y = load_breast_cancer(return_X_y=True)
    monkeypatch.setitem(CERTIFICATES, "hoeffding", hoeffding)
    certificate = committee.certify(forest, X[300:], y[300:], bounds=("first_order", "hoeffding"))
    mine = certificate["hoeffding"]
    assert mine.inputs == {"delta": 0.025} and mine.value == 2.0 * sum(mine.terms.values())
    assert "Hoeffding" in str(certificate) and certificate.best.value <= mine.value
    bounds = [
        committee.certify(forest.committee_.select(slice(t)), X[300:], y[300:], bounds=("hoeffding",)).best.value
        for t in (1, 2, 3)
    ]
    drawn = report.BoundDisplay({"Hoeffding": bounds}, subject="error").plot()
    assert_array_equal(drawn.ax_.get_lines()[0].get_ydata(), bounds)


class WeightDisplay(Display):
    """Weights of the voters, largest first."""

    def __init__(self, weights):
        self.weights = np.sort(weights)[::-1]

    @classmethod
    def from_estimator(cls, estimator, *, ax=None):
        return cls(estimator.committee_.weights).plot(ax)

    def _draw(self, ax):
        self._axes(ax, 6.0, 3.0).plot(self.weights)


def test_a_display_is_a_class_and_a_line(forest, monkeypatch):
    monkeypatch.setitem(report.DISPLAYS, "WeightDisplay", __name__)
    assert "WeightDisplay" in dir(report)
    display = report.WeightDisplay.from_estimator(forest)
    del report.WeightDisplay  # which its first use has put into the package
    assert isinstance(display, WeightDisplay) and len(display.ax_.get_lines()[0].get_ydata()) == 15


def test_a_peer_and_a_column_are_a_function_and_a_line_each(patients, monkeypatch):
    peer = Peer("sklearn", "sklearn.tree.ExtraTree", lambda kind, schema, seed: kind(), lambda fitted: (1, 0))
    monkeypatch.setitem(PEERS, "scikit-learn:extra_tree", peer)
    errors = Metric(
        "errors", "quality", lambda fold: int((fold.predicted != fold.y_test).sum()), lambda e: f"{e.sum()}"
    )
    monkeypatch.setitem(METRICS, "errors", errors)
    found = compare(*patients, ["scikit-learn:extra_tree", "tree"], folds=2)
    for model in found.models:
        wrong = model.values("errors").sum()
        assert model.error is None and abs(wrong - 300 * (1.0 - model.mean("accuracy"))) < 1e-9
        assert model.to_json()["summary"]["errors"]["mean"] == wrong / 2
    assert found["scikit-learn:extra_tree"].mean("n_voters") == 1
    grid = quality_grid(found)
    column = grid.columns.index("errors")
    assert [row[column] for row in grid.rows] == [f"{model.values('errors').sum()}" for model in found.models]


class TwoTrees(ClassifierMixin, BaseEstimator):
    """An ensemble of another library: the mean of two trees."""

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        self.n_features_in_ = X.shape[1]
        self.estimators_ = [DecisionTreeClassifier(max_depth=depth).fit(X, codes) for depth in (1, 3)]
        return self

    def predict_proba(self, X):
        return np.mean([tree.predict_proba(X) for tree in self.estimators_], axis=0)


def test_an_adapter_is_a_function_and_a_line(patients, monkeypatch):
    X, y = patients
    trees = TwoTrees().fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(TypeError, match="TwoTrees"):
        Committee.from_estimator(trees)
    monkeypatch.setitem(
        ADAPTERS, TwoTrees, lambda found: Members(found.estimators_, np.arange(2), np.ones(2), Share(), soft=True)
    )
    votes = Committee.from_estimator(trees)
    assert votes.classes.tolist() == ["no", "yes"]
    assert_array_equal(votes.predict_proba(X), trees.predict_proba(X))


def rows_of_page() -> list[list[str]]:
    """Cells of the table at the head of the page: what, new file, table, test."""
    lines = [line for line in PAGE.read_text("utf-8").split("\n## ")[0].splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("row", rows_of_page(), ids=lambda row: row[0])
def test_the_page_names_tables_that_are_there(row):
    tables = re.findall(r"\[`(\w+)`\]\(\.\./src/([^)]+)\.pyi?\)", row[2])
    assert tables and len(row) == 4
    for name, path in tables:
        module = import_module(path.replace("/", ".").removesuffix(".__init__"))
        assert isinstance(getattr(module, name), MutableMapping)


def test_the_diffs_of_the_page_apply(tmp_path):
    diffs = re.findall(r"```diff\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    assert len(diffs) == 5
    for diff in diffs:
        for name in re.findall(r"^--- a/(.+)$", diff, re.MULTILINE):
            copy = tmp_path / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes((PAGE.parent.parent / name).read_bytes())
        subprocess.run(["git", "apply", "--check", "-"], input=diff, cwd=tmp_path, check=True, encoding="utf-8")
