"""A committee of trees as a model of treelite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.vote.committee import Committee
from committee.vote.committee_in import committee_in
from committee.vote.exports.folded import ONE_CLASS, Folded, folded
from committee.vote.exports.score_trees import ScoreTrees
from committee.vote.regression import RegressionCommittee
from committee.voters.merged_leaves import MergedLeaves, known_apart

if TYPE_CHECKING:
    from treelite import Model

PLACE = "treelite"
INSTEAD = 'output="votes" gives the sums that committee_.probability_of makes probabilities of'

UNKNOWN = {
    "softened": "the tempered_share link, by which a learner calibrates shares of votes",
    "one_vs_rest": "the logistic link of several classes, whose curves are normalised",
    "clipped": "the truncated link, which clips scores",
}
"""Links that treelite does not have, in words."""

Output: TypeAlias = Literal["predictions", "votes"]
"""What the model answers with."""


def to_treelite(estimator: Any, *, output: Output = "predictions") -> Model:
    """Return a fitted model of trees as a model of treelite, which compilers and servers of tree ensembles take.

    Thresholds and leaves are double. Rows are the matrix that the voters take, ``committee_.encode(table)``: numbers as
    they are, codes of categories, NaN for what is missing or has not been seen.

    Parameters
    ----------
    estimator : fitted learner, committee, or ensemble of another library
        Any learner of this library whose voters are trees, and whatever `Committee.from_estimator` or
        `RegressionCommittee.from_estimator` take.
    output : {"predictions", "votes"}, default="predictions"
        "predictions": probabilities or numbers; of log-odds, as boosting has them, the probability of the second of two
        classes. "votes": weighted sums of votes, of which ``committee_.probability_of`` makes probabilities, whatever
        the link.

    Returns
    -------
    treelite.Model

    Raises
    ------
    MissingExtraError
        If the package treelite is not installed.
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        Naming what treelite has no trees for, such as lines in leaves, or no link.
    ValueError
        If `output` is neither of these, or there is one class only.

    Examples
    --------
    >>> import treelite
    >>> from sklearn.datasets import load_breast_cancer
    >>> import committee
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = committee.GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> answers = treelite.gtil.predict(committee.to_treelite(model), X)
    >>> answers.shape, bool(abs(answers[:, 0, 0] - model.predict_proba(X)[:, 1]).max() < 1e-12)
    ((569, 1, 1), True)
    """
    require_package("treelite", "to_treelite")
    if output not in ("predictions", "votes"):
        raise ValueError(f"output is {output!r}; it must be 'predictions' or 'votes'.")
    committee = committee_in(estimator, PLACE)
    known = None if committee.table is None else committee.table.n_categories
    form = _votes(committee) if output == "votes" else _predictions(folded(committee, PLACE, INSTEAD))
    return _model(form, known)


@dataclass(frozen=True, eq=False)
class _Form:
    """What treelite is told of the trees: their leaves, and what becomes of the sums of these."""

    trees: ScoreTrees
    value: F64
    intercept: F64
    task: str
    link: str
    averaged: bool = False


def _votes(committee: Committee | RegressionCommittee) -> _Form:
    """Sums of votes; an intercept is no vote."""
    trees = ScoreTrees.of(committee, PLACE)
    if isinstance(committee, Committee) and committee.n_classes < 2:
        raise ValueError(ONE_CLASS)
    of_classes = isinstance(committee, Committee) and trees.n_scores > 1
    task, link = ("kMultiClf", "identity_multiclass") if of_classes else ("kRegressor", "identity")
    return _Form(trees, trees.value, np.zeros(trees.n_scores), task, link)


def _predictions(plain: Folded) -> _Form:
    trees = plain.trees
    if plain.link in UNKNOWN:
        raise TypeError(f"{PLACE} has nothing like {UNKNOWN[plain.link]}; {INSTEAD}.")
    if plain.link in ("shares", "mean"):
        task, link = ("kMultiClf", "identity_multiclass") if plain.link == "shares" else ("kRegressor", "identity")
        zero = np.zeros(trees.n_scores)
        return _Form(trees.by_leaf(), trees.averaged(plain.total), zero, task, link, averaged=True)
    task, link = {
        "log_odds": ("kBinaryClf", "sigmoid"),
        "softmax": ("kMultiClf", "softmax"),
        "number": ("kRegressor", "identity"),
        "exponential": ("kRegressor", "exponential"),
    }[plain.link]
    return _Form(trees, trees.value, trees.intercept, task, link)


def _model(form: _Form, known: NDArray[np.int32] | None) -> Model:
    from treelite.model_builder import Metadata, ModelBuilder, PostProcessorFunc, TreeAnnotation

    trees, D, T = form.trees, form.trees.n_scores, len(form.trees.forest)
    of_classes, width = form.task == "kMultiClf", form.value.shape[1]
    score = [-1 if width > 1 else 0] * T if trees.score is None else trees.score.tolist()
    builder = ModelBuilder(
        threshold_type="float64",
        leaf_output_type="float64",
        metadata=Metadata(
            num_feature=trees.forest.n_features,
            task_type=form.task,
            average_tree_output=form.averaged,
            num_target=1 if of_classes else D,
            num_class=[D] if of_classes else [1] * D,
            leaf_vector_shape=(1, width) if of_classes else (width, 1),
        ),
        tree_annotation=TreeAnnotation(
            num_tree=T,
            target_id=[0] * T if of_classes else score,
            class_id=score if of_classes else [0] * T,
        ),
        postprocessor=PostProcessorFunc(name=form.link),
        base_scores=form.intercept.tolist(),
    )
    _grow(builder, trees, form.value, known)
    return builder.commit()


def _grow(builder: Any, trees: ScoreTrees, value: F64, known: NDArray[np.int32] | None) -> None:
    """Tell treelite all nodes, tree by tree."""
    forest = trees.forest
    merged = MergedLeaves.of(forest, [value])
    kept = merged.nodes
    ends, leaf = np.searchsorted(kept, forest.offset), merged.single[kept]
    said = value[merged.stands[kept]]
    leaves: list[Any] = said[:, 0].tolist() if value.shape[1] == 1 else said.tolist()
    feature, threshold = forest.feature[kept].tolist(), forest.threshold[kept].tolist()
    left, missing_left = merged.left[kept].tolist(), forest.missing_left[kept].astype(bool).tolist()
    by_category, node = trees.categorical[kept].tolist(), kept.tolist()
    is_leaf = leaf.tolist()
    for t in range(len(forest)):
        first = int(forest.offset[t])
        builder.start_tree()
        for i in range(int(ends[t]), int(ends[t + 1])):
            builder.start_node(node[i] - first)
            if is_leaf[i]:
                builder.leaf(leaves[i])
            else:
                ways = {"left_child_key": left[i] - first, "right_child_key": left[i] - first + 1}
                if by_category[i]:
                    codes = known_apart(forest, node[i], 0 if known is None else int(known[feature[i]]))
                    builder.categorical_test(
                        feature[i],
                        default_left=missing_left[i],
                        category_list=codes.tolist(),
                        category_list_right_child=missing_left[i],
                        **ways,
                    )
                else:
                    builder.numerical_test(feature[i], threshold[i], default_left=missing_left[i], opname="<=", **ways)
            builder.end_node()
        builder.end_tree()
