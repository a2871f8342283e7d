"""Export tree committees to treelite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.vote.committee import Committee, RegressionCommittee, as_committee
from committee.vote.exports.score_trees import ONE_CLASS, FoldedTrees, ScoreTrees, fold_link
from committee.voters.redundant_splits import MergedLeaves, categories_opposite_missing

if TYPE_CHECKING:
    from treelite import Model

TARGET = "treelite"
ALTERNATIVE = (
    'output="votes" gives sums of votes without intercept and link, from which committee_.probability_of computes '
    "probabilities of classes"
)

UNSUPPORTED_LINKS = {
    "softened": "the tempered_share link, which calibrates shares of votes",
    "one_vs_rest": "the logistic link of several classes, whose curves are normalised",
    "clipped": "the truncated link, which clips scores",
}

Output: TypeAlias = Literal["predictions", "votes"]


def to_treelite(estimator: Any, *, output: Output = "predictions") -> Model:
    """Return a fitted tree model as a treelite model, for compilers and servers of tree ensembles.

    Thresholds and leaves are float64. Rows are ``committee_.encode(table)``: numbers, codes of categories, and NaN for
    missing or unseen values.

    Parameters
    ----------
    estimator : fitted learner, committee, or ensemble of another library
        A learner of this library with tree voters, or an argument of `Committee.from_estimator` or
        `RegressionCommittee.from_estimator`.
    output : {"predictions", "votes"}, default="predictions"
        "predictions": probabilities or numbers; for log-odds of two classes the probability of the second. "votes":
        weighted sums of votes without the intercept, from which ``committee_.probability_of`` computes probabilities of
        classes.

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
        If `estimator` is not supported, or treelite has no such trees or link.
    ValueError
        If `output` is unknown, or there is one class only.

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
    committee = as_committee(estimator, TARGET)
    known = None if committee.table is None else committee.table.n_categories
    form = _votes(committee) if output == "votes" else _predictions(fold_link(committee, TARGET, ALTERNATIVE))
    return _model(form, known)


@dataclass(frozen=True, eq=False)
class _TreeliteSpec:
    trees: ScoreTrees
    value: F64
    intercept: F64
    task: str
    link: str
    averaged: bool = False


def _votes(committee: Committee | RegressionCommittee) -> _TreeliteSpec:
    trees = ScoreTrees.of(committee, TARGET)
    if isinstance(committee, Committee) and committee.n_classes < 2:
        raise ValueError(ONE_CLASS)
    of_classes = isinstance(committee, Committee) and trees.n_scores > 1
    task, link = ("kMultiClf", "identity_multiclass") if of_classes else ("kRegressor", "identity")
    return _TreeliteSpec(trees, trees.value, np.zeros(trees.n_scores), task, link)


def _predictions(plain: FoldedTrees) -> _TreeliteSpec:
    trees = plain.trees
    if plain.link in UNSUPPORTED_LINKS:
        raise TypeError(f"{TARGET} has no counterpart of {UNSUPPORTED_LINKS[plain.link]}; {ALTERNATIVE}.")
    if plain.link in ("shares", "mean"):
        task, link = ("kMultiClf", "identity_multiclass") if plain.link == "shares" else ("kRegressor", "identity")
        zero = np.zeros(trees.n_scores)
        return _TreeliteSpec(trees.by_leaf(), trees.averaged(plain.total), zero, task, link, averaged=True)
    task, link = {
        "log_odds": ("kBinaryClf", "sigmoid"),
        "softmax": ("kMultiClf", "softmax"),
        "number": ("kRegressor", "identity"),
        "exponential": ("kRegressor", "exponential"),
    }[plain.link]
    return _TreeliteSpec(trees, trees.value, trees.intercept, task, link)


def _model(form: _TreeliteSpec, known: NDArray[np.int32] | None) -> Model:
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
    _add_trees(builder, trees, form.value, known)
    return builder.commit()


def _add_trees(builder: Any, trees: ScoreTrees, value: F64, known: NDArray[np.int32] | None) -> None:
    forest, categorical = trees.forest, trees.categorical
    merged = MergedLeaves.of(forest, [value])
    ends = np.searchsorted(merged.nodes, forest.offset)
    for t, first in enumerate(forest.offset[:-1].tolist()):
        builder.start_tree()
        for node in merged.nodes[ends[t] : ends[t + 1]].tolist():
            builder.start_node(node - first)
            if merged.is_leaf[node]:
                leaf = value[merged.representative[node]].tolist()
                builder.leaf(leaf[0] if len(leaf) == 1 else leaf)
                builder.end_node()
                continue
            left, feature = int(merged.left[node]) - first, int(forest.feature[node])
            missing_left = bool(forest.missing_left[node])
            ways: dict[str, Any] = {"default_left": missing_left, "left_child_key": left, "right_child_key": left + 1}
            if categorical[node]:
                codes = categories_opposite_missing(forest, node, 0 if known is None else int(known[feature]))
                ways |= {"category_list": codes.tolist(), "category_list_right_child": missing_left}
                builder.categorical_test(feature, **ways)
            else:
                builder.numerical_test(feature, float(forest.threshold[node]), opname="<=", **ways)
            builder.end_node()
        builder.end_tree()
