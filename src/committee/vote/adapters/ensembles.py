"""Arguments of committees for fitted ensembles of scikit-learn, XGBoost, LightGBM and CatBoost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils.validation import check_is_fitted

from committee.data.number_types import F64
from committee.vote.adapters.boosted_model import BoostedModel, CommitteeParts, RegressionParts
from committee.vote.adapters.catboost_model import catboost_model
from committee.vote.adapters.lightgbm_model import lightgbm_model
from committee.vote.adapters.sklearn_trees import (
    feature_names,
    forest_of_trees,
    gradient_model,
    histogram_model,
    numeric_table,
)
from committee.vote.adapters.xgboost_model import xgboost_model
from committee.vote.links.mean import Average
from committee.vote.links.probability import Link, Logistic, Share, Softmax
from committee.voters.estimators import EstimatorVoters


@dataclass(frozen=True)
class Members:
    estimators: Sequence[Any]
    labels: NDArray[Any]  # classes as the members name them, in the ensemble's order
    weights: NDArray[np.float64]
    link: Link
    soft: bool
    features: Sequence[NDArray[np.intp]] | None = None
    as_array: bool = True


def parts_of(estimator: Any) -> CommitteeParts | None:
    """Return the arguments of `Committee` for another library's fitted classifier, or None without an adapter."""
    if is_booster(estimator):
        return parts_of_model(*BOOSTERS[str(_package(estimator))](estimator))
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator is {estimator!r}; it must be a fitted classifier.")
    if is_regressor(estimator):
        raise TypeError(f"estimator is the regressor {estimator!r}; only classifiers cast votes for classes.")
    boosting = _reader(BOOSTING, estimator)
    if boosting is not None:
        check_is_fitted(estimator)
        return parts_of_model(boosting(estimator), estimator.classes_)
    adapter = _reader(ADAPTERS, estimator)
    if adapter is None:
        return None
    check_is_fitted(estimator)
    n_outputs = getattr(estimator, "n_outputs_", 1)
    if n_outputs != 1:
        raise ValueError(
            f"estimator predicts {n_outputs} outputs; a committee votes on one. Fit one ensemble per output."
        )
    members: Members = adapter(estimator)
    # pipelines over text have no number of columns
    n_features: int | None = getattr(estimator, "n_features_in_", None)
    shared: dict[str, Any] = {"n_features": n_features, "soft": members.soft, "features": members.features}
    exact = (DecisionTreeClassifier, ExtraTreeClassifier)
    if n_features is not None and all(type(one) in exact and one.n_outputs_ == 1 for one in members.estimators):
        forest = forest_of_trees(members.estimators, classes=members.labels, **shared)
        return CommitteeParts(forest, members.weights, estimator.classes_, members.link, numeric_table(estimator))
    voters = EstimatorVoters(
        members.estimators, members.labels, as_array=members.as_array, names=feature_names(estimator), **shared
    )
    return CommitteeParts(voters, members.weights, estimator.classes_, members.link)


def regression_parts_of(estimator: Any) -> RegressionParts:
    if is_booster(estimator):
        return regression_parts_of_model(REGRESSORS[str(_package(estimator))](estimator)[0])
    if isinstance(estimator, AdaBoostRegressor):
        raise ValueError(
            "estimator is an AdaBoostRegressor, which predicts the weighted median of its members; a committee"
            " predicts a sum or mean. Use GradientBoostingRegressor or a forest."
        )
    reader: Callable[[Any], RegressionParts] | None = _reader(READERS, estimator)
    if reader is None:
        raise TypeError(
            f"estimator is {estimator!r}, for which there is no adapter. Supported regressors are fitted "
            f"{', '.join(kind.__name__ for kind in READERS)}, XGBRegressor, LGBMRegressor, CatBoostRegressor and this "
            "library's learners."
        )
    check_is_fitted(estimator)
    return reader(estimator)


def no_adapter(estimator: Any) -> TypeError:
    known = ", ".join(kind.__name__ for kind in (*ADAPTERS, *BOOSTING))
    return TypeError(
        f"estimator is a {type(estimator).__name__}, for which there is no adapter. Supported are {known}, "
        "XGBClassifier, LGBMClassifier, CatBoostClassifier and this library's learners; for regressors use "
        "RegressionCommittee.from_estimator, and for other fitted classifiers EstimatorVoters."
    )


def regression_parts_of_model(model: BoostedModel) -> RegressionParts:
    if model.number_link is None:
        raise ValueError("estimator has a classification objective; give it to Committee.from_estimator.")
    if len(model.intercept) > 1:
        raise ValueError(f"estimator predicts {len(model.intercept)} outputs; fit one ensemble for each.")
    voters, weights, intercept = model.weighted_voters()
    return RegressionParts(voters, weights, model.number_link, model.table, intercept)


def parts_of_model(model: BoostedModel, classes: NDArray[Any] | None = None) -> CommitteeParts:
    if model.number_link is not None:
        raise ValueError("estimator has a regression objective; give it to RegressionCommittee.from_estimator.")
    classes = np.arange(model.n_classes) if classes is None else classes
    if len(classes) != model.n_classes:
        raise ValueError(
            f"estimator has {len(classes)} classes, and its trees are for {model.n_classes}; train it on that many."
        )
    one_score = len(model.intercept) == 1
    link: Link = Softmax(scale=model.sigmoid if one_score else 1.0)
    if model.one_vs_rest and not one_score:
        link = Logistic(scale=model.sigmoid)
    voters, weights, intercept = model.weighted_voters()
    return CommitteeParts(voters, weights, classes, link, model.table, intercept)


def _reader(readers: Mapping[type, Callable[[Any], Any]], estimator: Any) -> Any:
    return next((found for kind, found in readers.items() if isinstance(estimator, kind)), None)


Read = tuple[BoostedModel, NDArray[Any] | None]


def _xgboost(estimator: Any, learner: str = "XGBClassifier") -> Read:
    if _kind(estimator, learner) == "Booster":
        return xgboost_model(estimator.save_raw("json")), None
    check_is_fitted(estimator)
    missing = estimator.missing
    if missing is not None and not np.isnan(missing):
        raise ValueError(
            f"estimator has missing={missing!r}; here NaN alone is missing. Put NaN where {missing!r} is, and give "
            "estimator.get_booster()."
        )
    booster = estimator.get_booster()
    best = booster.attr("best_iteration")  # early stopping: the classifier predicts with these rounds only
    model = xgboost_model(booster.save_raw("json"), None if best is None else int(best) + 1)
    return model, getattr(estimator, "classes_", None)


def _lightgbm(estimator: Any, learner: str = "LGBMClassifier") -> Read:
    if _kind(estimator, learner) == "Booster":
        return lightgbm_model(estimator.model_to_string()), None
    check_is_fitted(estimator)
    return lightgbm_model(estimator.booster_.model_to_string()), getattr(estimator, "classes_", None)


def _catboost(estimator: Any) -> Read:
    if "CatBoost" not in {base.__name__ for base in type(estimator).__mro__}:
        kind = type(estimator).__name__
        raise TypeError(f"estimator is a {kind}; give a fitted CatBoostClassifier, CatBoostRegressor or CatBoost.")
    if not estimator.is_fitted():
        raise NotFittedError(f"This {type(estimator).__name__} instance is not fitted yet; call its fit first.")
    with TemporaryDirectory() as folder:  # CatBoost writes models to files only
        path = Path(folder) / "model.json"
        try:
            estimator.save_model(str(path), format="json")
        except Exception as error:  # CatBoost has one class for all its errors, of its own
            raise ValueError(f"estimator cannot be written as JSON, from which it is read: {error}") from error
        model, recorded = catboost_model(path.read_bytes())
    if model.number_link is not None:
        return model, None
    classes = np.asarray(getattr(estimator, "classes_", ()))
    return model, classes if classes.size else recorded


BOOSTERS: dict[str, Callable[[Any], Read]] = {"xgboost": _xgboost, "lightgbm": _lightgbm, "catboost": _catboost}
REGRESSORS: dict[str, Callable[[Any], Read]] = {
    "xgboost": partial(_xgboost, learner="XGBRegressor"),
    "lightgbm": partial(_lightgbm, learner="LGBMRegressor"),
    "catboost": _catboost,
}


def is_booster(estimator: Any) -> bool:
    return not isinstance(estimator, type) and _package(estimator) is not None


def _package(estimator: Any) -> str | None:
    packages = (base.__module__.partition(".")[0] for base in type(estimator).__mro__)
    return next((name for name in packages if name in BOOSTERS), None)


def _kind(estimator: Any, learner: str) -> str:
    names = {base.__name__ for base in type(estimator).__mro__}
    found = next((name for name in (learner, "Booster") if name in names), None)
    if found is None:
        kind, numbers = type(estimator).__name__, learner.endswith("Regressor")
        here, other, what = "RegressionCommittee", "Committee", "classifiers"
        if not numbers:
            here, other, what = other, here, "regressors"
        raise TypeError(
            f"estimator is a {kind}; {here}.from_estimator reads {learner} and Booster. For {what} use "
            f"{other}.from_estimator."
        )
    return found


def _forest(estimator: RandomForestClassifier | ExtraTreesClassifier) -> Members:
    # weights of 1, not 1/T: sums of unrounded shares
    trees = estimator.estimators_
    return Members(trees, np.arange(len(estimator.classes_)), np.ones(len(trees)), Share(), soft=True)


def _bagging(estimator: BaggingClassifier) -> Members:
    members, p = estimator.estimators_, estimator.n_features_in_
    features = [np.asarray(subset) for subset in estimator.estimators_features_]
    whole = all(np.array_equal(subset, np.arange(p)) for subset in features)
    soft = [hasattr(member, "predict_proba") for member in members]
    if any(soft) and not all(soft):
        raise ValueError("estimator mixes members with and without predict_proba; they cannot vote alike.")
    labels, weights = np.arange(len(estimator.classes_)), np.ones(len(members))
    return Members(members, labels, weights, Share(), soft=all(soft), features=None if whole else features)


def _adaboost(estimator: AdaBoostClassifier) -> Members:
    # SAMME: p = softmax(F' / (K - 1)) with F'_k = (K F_k / W - 1) / (K - 1) for a tally F of total weight W
    K, members = len(estimator.classes_), estimator.estimators_
    link = Softmax(scale=K / max(1, K - 1) ** 2, normalized=True)
    # the array of weights is for n_estimators rounds, of which fewer may have been fitted
    return Members(members, estimator.classes_, estimator.estimator_weights_[: len(members)], link, soft=False)


def _voting(estimator: VotingClassifier) -> Members:
    labels, weights = np.arange(len(estimator.classes_)), _voting_weights(estimator)
    # members get what the caller passes: a data frame stays one
    soft = estimator.voting == "soft"
    return Members(estimator.estimators_, labels, weights, Share(), soft=soft, as_array=False)


def _voting_weights(estimator: Any) -> F64:
    if getattr(estimator, "weights", None) is None:
        return np.ones(len(estimator.estimators_))
    pairs = zip(estimator.estimators, estimator.weights, strict=True)
    return np.asarray(
        [weight for (_, member), weight in pairs if not isinstance(member, str)], np.float64
    )  # not "drop"


def _tree(estimator: DecisionTreeClassifier | ExtraTreeClassifier) -> Members:
    return Members([estimator], estimator.classes_, np.ones(1), Share(), soft=True)


ADAPTERS: dict[type, Callable[[Any], Members]] = {
    RandomForestClassifier: _forest,
    ExtraTreesClassifier: _forest,
    BaggingClassifier: _bagging,
    AdaBoostClassifier: _adaboost,
    VotingClassifier: _voting,
    DecisionTreeClassifier: _tree,
}
BOOSTING: dict[type, Callable[[Any], BoostedModel]] = {
    GradientBoostingClassifier: gradient_model,
    HistGradientBoostingClassifier: histogram_model,
}


def _mean_of_trees(estimator: Any) -> RegressionParts:
    members = [estimator] if isinstance(estimator, DecisionTreeRegressor) else estimator.estimators_
    n_outputs = max(getattr(member, "n_outputs_", 1) for member in members)
    if n_outputs != 1:
        raise ValueError(f"estimator predicts {n_outputs} outputs; fit one ensemble for each.")
    if not all(type(member) in (DecisionTreeRegressor, ExtraTreeRegressor) for member in members):
        kinds = sorted({type(member).__name__ for member in members})
        raise ValueError(
            f"estimator is a {type(estimator).__name__} of {', '.join(kinds)}; its members must be"
            " DecisionTreeRegressor or ExtraTreeRegressor."
        )
    features = (
        [np.asarray(own) for own in estimator.estimators_features_] if isinstance(estimator, BaggingRegressor) else None
    )
    weights = _voting_weights(estimator) if isinstance(estimator, VotingRegressor) else np.ones(len(members))
    p = estimator.n_features_in_
    forest = forest_of_trees(members, n_features=p, classes=None, soft=True, features=features)
    return RegressionParts(forest, weights, Average(), numeric_table(estimator))


READERS: dict[type, Callable[[Any], RegressionParts]] = {
    RandomForestRegressor: _mean_of_trees,
    ExtraTreesRegressor: _mean_of_trees,
    BaggingRegressor: _mean_of_trees,
    VotingRegressor: _mean_of_trees,
    DecisionTreeRegressor: _mean_of_trees,
    GradientBoostingRegressor: lambda estimator: regression_parts_of_model(gradient_model(estimator)),
    HistGradientBoostingRegressor: lambda estimator: regression_parts_of_model(histogram_model(estimator)),
}
