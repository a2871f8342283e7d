"""Small learners that may stand for a committee of ensembles: shapes of as many nodes as they are allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from committee.learners.trees.probit_boost import LogitBoostClassifier
from committee.learners.trees.probit_model_tree import ProbitModelTreeClassifier

MOST_ROUNDS = 300


@dataclass(frozen=True)
class Boosting:
    """Gradient boosting of trees of at most so many leaves, in as many rounds as the nodes allow.

    Few rounds take large steps: all together go `total` times as far as a Newton step, each no further than one.
    """

    leaves: int
    total: float
    leaf: str = "constant"
    shared: bool = False
    """One tree for all classes in each round."""

    def made(self, n_classes: int | None, most_nodes: float, n: int) -> Any:
        """Return the learner; None if no tree is small enough."""
        of_round = 1 if self.shared or n_classes is None or n_classes == 2 else n_classes
        leaves = min(self.leaves, int((most_nodes / of_round + 1.0) // 2.0))
        if leaves < 2 or (self.shared and n_classes == 2):
            return None
        rounds = min(MOST_ROUNDS, int(most_nodes / (of_round * (2 * leaves - 1))))
        settings: dict[str, Any] = {
            "n_estimators": rounds,
            "max_leaf_nodes": leaves,
            "learning_rate": min(1.0, max(0.1, self.total / rounds)),
            "leaf": self.leaf,
            "leaf_l2": 1.0,
            "subsample": 1.0,
            "max_features": None,
        }
        if n_classes is None:
            return GradientBoostingRegressor(**settings)
        return GradientBoostingClassifier(**settings, tree="shared" if self.shared else "per_class")


@dataclass(frozen=True)
class ModelTree:
    """One tree with lines in its leaves."""

    leaves: int

    def made(self, n_classes: int | None, most_nodes: float, n: int) -> Any:
        """Return the learner, for n rows."""
        return ProbitModelTreeClassifier(
            60,
            link="logit",
            max_depth=None,
            max_leaf_nodes=max(2, min(self.leaves, int((most_nodes + 1.0) // 2.0))),
            min_samples_leaf=max(5, n // 100),
            min_impurity_decrease=0.0,
        )


@dataclass(frozen=True)
class Lines:
    """One line for each class."""

    def made(self, n_classes: int | None, most_nodes: float, n: int) -> Any:
        """Return the learner."""
        return LogitBoostClassifier()


Student = Boosting | ModelTree | Lines
STUDENTS: dict[str, Student] = {
    "small_trees": Boosting(4, 8.0),
    "trees": Boosting(8, 8.0),
    "large_trees": Boosting(16, 8.0),
    "larger_trees": Boosting(32, 6.0),
    "trees_with_lines": Boosting(8, 8.0, "linear"),
    "large_trees_with_lines": Boosting(16, 6.0, "linear"),
    "shared_trees": Boosting(8, 8.0, shared=True),
    "large_shared_trees": Boosting(16, 8.0, shared=True),
    "model_tree": ModelTree(8),
    "large_model_tree": ModelTree(32),
    "lines": Lines(),
}
"""By name, those of trees first; numbers have no model trees, lines or shared trees."""


def students(n_classes: int | None) -> dict[str, Student]:
    """Return those for so many classes; None: for numbers.

    Examples
    --------
    >>> "lines" in students(2), "lines" in students(None), "shared_trees" in students(2)
    (True, False, False)
    """
    if n_classes is None:
        return {name: one for name, one in STUDENTS.items() if isinstance(one, Boosting) and not one.shared}
    return {
        name: one for name, one in STUDENTS.items() if n_classes > 2 or not (isinstance(one, Boosting) and one.shared)
    }
