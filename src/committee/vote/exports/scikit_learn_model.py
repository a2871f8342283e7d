"""A committee of trees as a model of scikit-learn's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

from committee.data.frames import TableSchema
from committee.vote.committee import Committee
from committee.vote.committee_in import committee_in
from committee.vote.exports.folded import Folded, folded
from committee.vote.exports.score_trees import ScoreTrees
from committee.vote.regression import RegressionCommittee

PLACE = "scikit-learn"
INSTEAD = 'keep="classes" gives a forest that elects the same classes, and committee.to_onnx takes the link'

Kept: TypeAlias = Literal["probabilities", "classes"]
"""What the model that goes out has in common with the one that it is made of."""


def as_sklearn(estimator: Any, *, keep: Kept = "probabilities") -> Any:
    """Return a fitted model of trees as one of scikit-learn's own, which needs this library no more.

    Means of class shares and of numbers become forests of decision trees, or one tree; sums that are log-odds, numbers
    or logarithms become boosting on histograms, with missing values and categories; other links are the calibrators of
    a ``CalibratedClassifierCV`` around one of these. Predictions are the same, probabilities and numbers within 1e-12.

    Parameters
    ----------
    estimator : fitted learner, committee, or ensemble of another library
        Any learner of this library whose voters are trees, and whatever `Committee.from_estimator` or
        `RegressionCommittee.from_estimator` take.
    keep : {"probabilities", "classes"}, default="probabilities"
        "classes": a forest that elects the same classes, whatever the link; its ``predict_proba`` is a straight line in
        the scores. For programs that take nothing but forests. Models of numbers take no notice of it.

    Returns
    -------
    DecisionTree*, RandomForest*, HistGradientBoosting* or CalibratedClassifierCV
        Fitted, as far as predicting goes. Importances of forests are by the gain of the splits. Forests and trees round
        rows to single precision before they compare them, as all of scikit-learn's do: a value that lies within this
        rounding of a threshold may go the other way. Boosting compares doubles.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        Naming what scikit-learn has no trees for, such as lines in leaves, or no link.
    ValueError
        If `keep` is neither of these, a column that trees split on has more than 255 categories, a forest has to be one
        of trees without categories (`keep` is "classes", or two classes have calibrated probabilities) and splits on
        some, or there is one class only.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import committee
    >>> X, y = load_iris(return_X_y=True)
    >>> model = committee.GradientBoostingClassifier(n_estimators=10, random_state=0).fit(X, y)
    >>> theirs = committee.as_sklearn(model)
    >>> type(theirs).__name__, bool(abs(theirs.predict_proba(X) - model.predict_proba(X)).max() < 1e-12)
    ('HistGradientBoostingClassifier', True)
    """
    if keep not in ("probabilities", "classes"):
        raise ValueError(f"keep is {keep!r}; it must be 'probabilities' or 'classes'.")
    committee = committee_in(estimator, PLACE)
    if isinstance(committee, RegressionCommittee):
        return _of_numbers(folded(committee, PLACE, "committee.to_onnx takes it"), committee.table)
    if keep == "classes":
        return _of_votes(committee)
    return _of_classes(folded(committee, PLACE, INSTEAD), committee)


def _of_votes(committee: Committee) -> Any:
    from committee.vote.exports.sklearn_forests import classifier, shares_of_votes

    trees = ScoreTrees.of(committee, PLACE)
    return classifier(trees, shares_of_votes(trees), committee.classes, committee.table)


def _of_classes(plain: Folded, committee: Committee) -> Any:
    from committee.vote.exports import sklearn_boosting, sklearn_calibrated

    trees, classes, table = plain.trees, committee.classes, committee.table
    if plain.link in ("shares", "softened"):
        return (_boosted_shares if _by_category(trees, table) else _forest_of_shares)(plain, committee)
    if plain.link == "clipped" and trees.n_scores > 1 and trees.largest > plain.constant:
        raise TypeError(
            f"scores may be as large as {trees.largest:.3g}, and the truncated link tells no classes apart whose "
            f"scores are above {plain.constant}; {INSTEAD}."
        )
    scores = sklearn_boosting.classifier(trees, classes, table)
    if plain.link == "one_vs_rest":
        return sklearn_calibrated.one_vs_rest(scores, plain.constant)
    return sklearn_calibrated.clipped(scores, plain.constant) if plain.link == "clipped" else scores


def _forest_of_shares(plain: Folded, committee: Committee) -> Any:
    from committee.vote.exports import sklearn_calibrated, sklearn_forests

    trees, shares = plain.trees, plain.trees.averaged(plain.total)
    if plain.link == "shares":
        return sklearn_forests.classifier(trees, shares, committee.classes, committee.table)
    ready = sklearn_calibrated.before_logarithms(shares, len(committee.classes))
    ready = sklearn_calibrated.on_grid(ready, 2.0 * len(trees.forest))
    forest = sklearn_forests.classifier(trees, ready, committee.classes, committee.table)
    return sklearn_calibrated.softened(forest, plain.constant)


def _boosted_shares(plain: Folded, committee: Committee) -> Any:
    """Shares of trees that split on categories, as sums by boosting on histograms that calibrators take."""
    from committee.vote.exports import sklearn_boosting, sklearn_calibrated

    trees, classes, table = plain.trees, committee.classes, committee.table
    if plain.link == "shares":
        # (1 + F) / 2 is the share of a class where F is twice the share less one, and of two classes the difference
        shares = trees.signed().scaled(1.0 / plain.total) if len(classes) == 2 else trees.scaled(2.0 / plain.total)
        value = sklearn_calibrated.on_grid(shares.value, 2.0)
        started = replace(shares, value=value, intercept=shares.intercept - (shares.n_scores > 1))
        return sklearn_calibrated.clipped(sklearn_boosting.classifier(started, classes, table), 1.0)
    if len(classes) == 2:
        raise ValueError(
            "a forest of two classes that splits on categories has calibrated probabilities (the tempered_share link), "
            "which scikit-learn's forests, without categories, and its boosting, without this link, cannot both hold; "
            f"train without calibration. {INSTEAD[0].upper()}{INSTEAD[1:]}."
        )
    ready, K = trees.scaled(1.0 / plain.total), len(classes)
    value = sklearn_calibrated.on_grid(ready.value * (1.0 + K * sklearn_calibrated.EPSILON), 2.0)
    started = replace(ready, value=value, intercept=sklearn_calibrated.before_logarithms(ready.intercept, K))
    return sklearn_calibrated.softened(sklearn_boosting.classifier(started, classes, table), plain.constant)


def _by_category(trees: ScoreTrees, table: TableSchema | None) -> bool:
    """Whether splits ask for columns of categories."""
    asked = trees.split_columns.tolist()
    return bool(trees.categorical.any()) or any(table is not None and table.categories[j] is not None for j in asked)


def _of_numbers(plain: Folded, table: TableSchema | None) -> Any:
    from committee.vote.exports import sklearn_boosting, sklearn_forests

    trees = plain.trees
    if plain.link == "exponential" and trees.n_scores == 1:
        return sklearn_boosting.regressor(trees, "poisson", table)
    if trees.n_scores == 1 and (plain.link == "number" or _by_category(trees, table)):
        return sklearn_boosting.regressor(trees.scaled(1.0 / plain.total), "squared_error", table)
    if plain.link == "exponential":
        raise TypeError(f"{PLACE} has no model of several numbers that are powers of scores; take a committee of each.")
    return sklearn_forests.regressor(trees, trees.averaged(plain.total), table)
