"""Leaf models as a table: one row for each leaf and class, the rule in words and the linear score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.frames import TableSchema
from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.vote.explain.rules import leaf_rules
from committee.voters.committees import BoostedCommittees
from committee.voters.model_forest import ModelForest

if TYPE_CHECKING:
    import polars as pl

LEADING = ("committee", "tree", "alpha", "leaf", "rule", "rows", "class", "intercept")
"""Columns before the coefficients; `committee` and `alpha` only where trees are gathered in committees."""


def leaf_models(
    voters: ModelForest | BoostedCommittees,
    classes: NDArray[Any],
    table: TableSchema,
    trees: Sequence[int] | None = None,
) -> pl.DataFrame:
    """Every leaf model of model trees.

    A polars frame, whatever the training table was: polars is what the package depends on, and a frame whose kind
    hung on that of the training rows would be another one after the model was saved and loaded.

    Parameters
    ----------
    voters : ModelForest or BoostedCommittees
        The trees.
    classes : array (K,)
        Class labels.
    table : TableSchema
        Names and categories of the columns.
    trees : sequence of int, default=None
        Which trees; all by default.

    Returns
    -------
    polars.DataFrame
        One row for each (tree, leaf, class). ``committee``, ``tree``: counted from 0, a tree within its committee;
        ``alpha``: the tree's weight in it (these two only for `BoostedCommittees`); ``leaf``: node number as `apply`
        gives it; ``rule``; ``rows``: training rows in the leaf; ``class``: what the score speaks for (two classes:
        the second alone; trees of one class: that class); ``intercept``; then one coefficient for each design
        column, in the user's units, named as the column. A column that is named as one of the above stands as
        "coefficient of rows", and a name that is taken gets a number.

    Raises
    ------
    IndexError
        If there is no tree of such a number.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ProbitModelTreeClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> tree = ProbitModelTreeClassifier().fit(X, y)
    >>> tree.leaf_models_.select("rule", "rows", "class")[0].rows()
    [('petal length (cm) <= 2.45', 50, 0)]
    """
    require_package("polars", "the table of leaves")
    import polars as pl

    members = voters.members if isinstance(voters, BoostedCommittees) else voters
    forest = members.forest
    chosen = [range(len(forest))[t] for t in (range(len(forest)) if trees is None else trees)]
    had_missing = np.zeros(members.n_features, dtype=bool)
    had_missing[members.design.source[members.design.category == -2]] = True
    n_outputs = members.intercept.shape[1]
    columns: dict[str, list[Any]] = {name: [] for name in LEADING}
    models = []
    for t in chosen:
        rules = leaf_rules(forest, t, table, had_missing)
        leaves = np.fromiter(rules, dtype=np.int64) + forest.offset[t]
        models.append(members.model[leaves])
        each = len(rules) * n_outputs
        committee, place, alpha = _place(voters, t)
        columns["committee"] += [committee] * each
        columns["tree"] += [place] * each
        columns["alpha"] += [alpha] * each
        columns["leaf"] += np.repeat(list(rules), n_outputs).tolist()
        columns["rule"] += [rule for rule in rules.values() for _ in range(n_outputs)]
        columns["rows"] += np.repeat(forest.count[leaves], n_outputs).tolist()
        columns["class"] += _spoken_for(members, t, classes) * len(rules)
    model = np.concatenate([*models, np.empty(0, dtype=np.int32)]).astype(np.int64)
    columns["intercept"] = members.intercept[model].ravel()  # type: ignore[assignment]
    if not isinstance(voters, BoostedCommittees):
        del columns["committee"], columns["alpha"]
    coefficient = members.coefficient[model].reshape(-1, len(members.design))
    names = coefficient_names(members.design.names(table))
    return pl.DataFrame({**columns, **{name: coefficient[:, c].copy() for c, name in enumerate(names)}})


def model_trees(estimator: Any) -> ModelForest:
    """The model trees of a fitted classifier, without their committees."""
    voters = getattr(getattr(estimator, "committee_", None), "voters", None)
    if isinstance(voters, BoostedCommittees):
        return voters.members
    if not isinstance(voters, ModelForest):
        raise ValueError(f"{type(estimator).__name__} has no linear leaf models; give a fitted model tree or SBPMT")
    return voters


def model_tree_means(voters: ModelForest | BoostedCommittees, tree: int) -> F64 | None:
    """Mean score of every node of a model tree over its training rows, ``(nodes, O)``; None if there is no record."""
    from committee.vote.explain.contributions import node_means

    members = voters.members if isinstance(voters, BoostedCommittees) else voters
    return None if members.record is None else node_means(members, tree)


def coefficient_names(design_names: Sequence[str]) -> list[str]:
    """Distinct column names of the coefficients, none of them one of `LEADING`.

    Examples
    --------
    >>> from committee.vote.explain.leaf_models import coefficient_names
    >>> coefficient_names(["age", "rows", "age missing", "age missing"])
    ['age', 'coefficient of rows', 'age missing', 'age missing (2)']
    """
    seen = Counter(LEADING)
    names = []
    for given in design_names:
        name = f"coefficient of {given}" if given in LEADING else given
        while name in seen:
            seen[name] += 1
            name = f"{name} ({seen[name]})"
        seen[name] += 1
        names.append(name)
    return names


def _place(voters: ModelForest | BoostedCommittees, tree: int) -> tuple[int, int, float]:
    """Committee, place in it and weight of a tree; trees of one class share all but their number."""
    if not isinstance(voters, BoostedCommittees):
        return 0, tree, 1.0
    per_voter = voters.members.trees_per_voter
    voter = tree // per_voter
    committee = int(np.searchsorted(voters.start, voter, side="right")) - 1
    return committee, tree - int(voters.start[committee]) * per_voter, float(voters.alpha[voter])


def _spoken_for(members: ModelForest, tree: int, classes: NDArray[Any]) -> list[Any]:
    """Class that each output of a tree speaks for."""
    labels: list[Any] = classes.tolist()
    if members.trees_per_voter > 1:
        k = tree % members.trees_per_voter
        return labels[k : k + 1]
    return labels[1:2] if members.intercept.shape[1] == 1 else labels
