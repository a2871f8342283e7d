"""The committees inside other ensembles: one function per kind, and what they have in common."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

from committee.data.frames import TableSchema
from committee.vote.adapters.boosted_model import BoostedModel
from committee.vote.adapters.boosters import is_booster, parts_of_booster, parts_of_model
from committee.vote.adapters.gradient_boosting import gradient_model
from committee.vote.adapters.histogram_boosting import histogram_model
from committee.vote.adapters.parts import CommitteeParts
from committee.vote.adapters.sklearn_trees import are_trees, forest_of_trees
from committee.vote.links.probability import Link, Share, Softmax
from committee.voters.estimators import EstimatorVoters


@dataclass(frozen=True)
class Members:
    """Members of an ensemble, and its rule of voting."""

    estimators: Sequence[Any]
    labels: NDArray[Any]
    """Classes as the members name them, in the ensemble's order."""
    weights: NDArray[np.float64]
    link: Link
    soft: bool
    features: Sequence[NDArray[np.intp]] | None = None
    as_array: bool = True


def parts_of(estimator: Any) -> CommitteeParts | None:
    """Parts of the committee inside a fitted classifier of another library; see `Committee.from_estimator`.

    Scores are sums with the ensemble's own weights, added in its own order, and mean shares are compared
    after the division, as in the originals: so even ties between classes are decided alike. (An original that
    adds in threads, in any order, may differ from itself there.) scikit-learn's AdaBoost is the exception:
    its scores have -1/(K-1) where a tally has 0, and rounding may part what is a tie here.

    Parameters
    ----------
    estimator : fitted classifier
        One of `ADAPTERS` or `BOOSTING`, or of `committee.vote.adapters.boosters`.

    Returns
    -------
    CommitteeParts or None
        Class shares are kept as K columns, also for two classes. None: there is no adapter for this kind.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If it is no classifier.
    ValueError
        If it predicts several outputs, or its weights are negative.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from committee.vote.adapters.scikit_learn import parts_of
    >>> X, y = load_iris(return_X_y=True)
    >>> len(parts_of(ExtraTreesClassifier(n_estimators=5).fit(X, y)).voters)
    5
    """
    if not isinstance(estimator, type) and is_booster(estimator):
        return parts_of_booster(estimator)
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator is {estimator!r}; it must be a fitted classifier.")
    if is_regressor(estimator):
        raise TypeError(f"estimator is the regressor {estimator!r}; only classifiers cast votes for classes.")
    boosting = next((found for kind, found in BOOSTING.items() if isinstance(estimator, kind)), None)
    if boosting is not None:
        check_is_fitted(estimator)
        return parts_of_model(boosting(estimator), estimator.classes_)
    adapter = next((found for kind, found in ADAPTERS.items() if isinstance(estimator, kind)), None)
    if adapter is None:
        return None
    check_is_fitted(estimator)
    n_outputs = getattr(estimator, "n_outputs_", 1)
    if n_outputs != 1:
        raise ValueError(
            f"estimator predicts {n_outputs} outputs; a committee votes on one. Fit one ensemble per output."
        )
    return _assemble(estimator, adapter(estimator))


def no_adapter(estimator: Any) -> TypeError:
    """The error for an estimator of a kind that is not known."""
    known = ", ".join(kind.__name__ for kind in (*ADAPTERS, *BOOSTING))
    return TypeError(
        f"estimator is a {type(estimator).__name__}, for which there is no adapter. Known are {known}, "
        "XGBClassifier, LGBMClassifier, CatBoostClassifier and this library's learners, and of numbers those that "
        "RegressionCommittee.from_estimator takes; any fitted classifiers can vote as EstimatorVoters."
    )


def _assemble(estimator: Any, members: Members) -> CommitteeParts:
    names = getattr(estimator, "feature_names_in_", None)
    names = None if names is None else tuple(map(str, names))
    # a vote of pipelines over text has no columns to count
    n_features: int | None = getattr(estimator, "n_features_in_", None)
    classes = estimator.classes_
    if n_features is not None and are_trees(members.estimators):
        forest = forest_of_trees(
            members.estimators,
            n_features=n_features,
            classes=members.labels,
            soft=members.soft,
            features=members.features,
        )
        table = TableSchema(names, (None,) * n_features)
        return CommitteeParts(forest, members.weights, classes, members.link, table)
    voters = EstimatorVoters(
        members.estimators,
        members.labels,
        soft=members.soft,
        features=members.features,
        as_array=members.as_array,
        names=names,
        n_features=n_features,
    )
    return CommitteeParts(voters, members.weights, classes, members.link)


def _forest(estimator: RandomForestClassifier | ExtraTreesClassifier) -> Members:
    """Mean of the trees' class shares. The weights are 1, not 1/T: sums of unrounded shares."""
    trees = estimator.estimators_
    return Members(trees, np.arange(len(estimator.classes_)), np.ones(len(trees)), Share(), soft=True)


def _bagging(estimator: BaggingClassifier) -> Members:
    """Mean of the members' probabilities, or their majority where they have none."""
    members, p = estimator.estimators_, estimator.n_features_in_
    features = [np.asarray(subset) for subset in estimator.estimators_features_]
    whole = all(np.array_equal(subset, np.arange(p)) for subset in features)
    soft = [hasattr(member, "predict_proba") for member in members]
    if any(soft) and not all(soft):
        raise ValueError("estimator mixes members with and without predict_proba; they cannot vote alike.")
    return Members(
        members,
        np.arange(len(estimator.classes_)),
        np.ones(len(members)),
        Share(),
        soft=all(soft),
        features=None if whole else features,
    )


def _adaboost(estimator: AdaBoostClassifier) -> Members:
    """SAMME: weighted hard votes; p = softmax(F' / (K - 1)) of F'_k = mean vote with -1/(K-1) for "not k".

    In terms of the tally F over the total weight W, F'_k = (K F_k / W - 1) / (K - 1), so that p is the
    softmax of K / (K - 1)^2 times F / W.
    """
    K, members = len(estimator.classes_), estimator.estimators_
    link = Softmax(scale=K / max(1, K - 1) ** 2, normalized=True)
    # room is made for all rounds, of which fewer may have been needed
    return Members(members, estimator.classes_, estimator.estimator_weights_[: len(members)], link, soft=False)


def _voting(estimator: VotingClassifier) -> Members:
    """Weighted hard votes or mean probabilities of members that were fitted on encoded labels."""
    members = estimator.estimators_
    weights = np.ones(len(members))
    if estimator.weights is not None:
        pairs = zip(estimator.estimators, estimator.weights, strict=True)
        counted = [weight for (_, member), weight in pairs if not isinstance(member, str)]  # not "drop"
        weights = np.asarray(counted, dtype=np.float64)
    labels = np.arange(len(estimator.classes_))
    # members get what the caller passes: a data frame stays one
    return Members(members, labels, weights, Share(), soft=estimator.voting == "soft", as_array=False)


def _tree(estimator: DecisionTreeClassifier | ExtraTreeClassifier) -> Members:
    """A tree alone: its class shares."""
    return Members([estimator], estimator.classes_, np.ones(1), Share(), soft=True)


ADAPTERS: dict[type, Callable[[Any], Members]] = {
    RandomForestClassifier: _forest,
    ExtraTreesClassifier: _forest,
    BaggingClassifier: _bagging,
    AdaBoostClassifier: _adaboost,
    VotingClassifier: _voting,
    DecisionTreeClassifier: _tree,
}
"""Rules of voting by kind of ensemble; a further one is one more function and one more line."""

BOOSTING: dict[type, Callable[[Any], BoostedModel]] = {
    GradientBoostingClassifier: gradient_model,
    HistGradientBoostingClassifier: histogram_model,
}
"""Readers of boosted trees, whose leaves hold scores."""
