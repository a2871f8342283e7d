"""A committee of trees as a model of scikit-learn's own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeAlias

from committee.data.frames import TableSchema
from committee.vote.committee import Committee
from committee.vote.committee_in import committee_in
from committee.vote.exports.first_of_ties import AHEAD, AHEAD_OF_NEAR, on_grid, scores_of_first, shares_of_first
from committee.vote.exports.folded import ONE_CLASS, Folded, folded, ties_near_scores
from committee.vote.exports.score_trees import ScoreTrees
from committee.vote.regression import RegressionCommittee

PLACE = "scikit-learn"
ONNX = "committee.to_onnx takes it"

Kept: TypeAlias = Literal["probabilities", "classes"]
"""What the model that goes out has in common with the one that it is made of."""


def as_sklearn(estimator: Any, *, keep: Kept = "probabilities") -> Any:
    """Return a fitted model of trees as one of scikit-learn's own, which needs this library no more.

    Means of class shares and of numbers become forests of decision trees, or one tree; sums that are log-odds, numbers
    or logarithms, and tables with columns of categories, become boosting on histograms; other links are the calibrators
    of a ``CalibratedClassifierCV`` around one of these. Probabilities and numbers are the same within 1e-12, and so are
    classes, except where sums of weighted votes differ by nothing but their rounding: such a tie of forests with new
    weights goes to the first class there, and here to the one whose sum is rounded up; elsewhere it may go to another.

    Parameters
    ----------
    estimator : fitted learner, committee, or ensemble of another library
        Any learner of this library whose voters are trees, and whatever `Committee.from_estimator` or
        `RegressionCommittee.from_estimator` take.
    keep : {"probabilities", "classes"}, default="probabilities"
        "classes": a forest that elects the same classes, whatever the link, of tables without categories; its
        ``predict_proba`` is a straight line in the scores, to which a last tree of one leaf may add the same for all
        classes. For programs that take nothing but forests. Models of numbers take no notice of it.

    Returns
    -------
    DecisionTree*, RandomForest*, HistGradientBoosting* or CalibratedClassifierCV
        Fitted, as far as predicting goes. Importances of forests are by the gain of the splits. Forests and trees round
        rows to single precision before they compare them, as all of scikit-learn's do: a value that lies within this
        rounding of a threshold may go the other way. Boosting compares doubles, and is what forests become that have
        thresholds beyond 2^24, or more than one in a hundred of a column that fall together in single precision.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If `estimator` is none; naming what scikit-learn has no trees for, such as lines in leaves, or no link.
    ValueError
        If `keep` is neither of these; trees split on a column with more than 255 categories, or one where numbers stand
        for categories, as learners have it of more than 16; decision trees are needed, since `keep` is "classes" or two
        classes have calibrated probabilities, and a column has categories or needs doubles; or there is one class only.

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
        return _of_numbers(folded(committee, PLACE, ONNX), committee.table)
    return _of_votes(committee) if keep == "classes" else _of_classes(committee)


def _of_votes(committee: Committee) -> Any:
    from committee.vote.exports.sklearn_forests import column_for_boosting, of_votes, refuse_columns

    trees = ScoreTrees.of(committee, PLACE)
    if committee.n_classes < 2:
        raise ValueError(ONE_CLASS)
    if column_for_boosting(trees, committee.table) is not None:
        way = 'leave keep at "probabilities", for boosting does, or ' if _has_probabilities(committee) else ""
        refuse_columns(trees, committee.table, way)
    return of_votes(trees, committee.classes, committee.table, near_ties=ties_near_scores(committee))


def _has_probabilities(committee: Committee) -> bool:
    """Whether a model of scikit-learn can have the probabilities."""
    try:
        _of_classes(committee)
    except (TypeError, ValueError):
        return False
    return True


def _instead(committee: Committee) -> str:
    """What takes any link: a forest, where one can be."""
    from committee.vote.exports.sklearn_forests import column_for_boosting

    trees = ScoreTrees.of(committee, PLACE)
    if column_for_boosting(trees, committee.table) is not None:
        return ONNX
    return f'keep="classes" gives a forest that elects the same classes, and {ONNX}'


def _of_classes(committee: Committee) -> Any:
    from committee.vote.exports import sklearn_boosting, sklearn_calibrated

    instead = _instead(committee)
    plain = folded(committee, PLACE, instead)
    trees, classes, table = plain.trees, committee.classes, committee.table
    if plain.link in ("shares", "softened"):
        return _of_shares(plain, committee)
    if plain.link == "clipped" and trees.n_scores > 1 and trees.largest > plain.constant:
        raise TypeError(
            f"scores may be as large as {trees.largest:.3g}, and the truncated link tells no classes apart whose "
            f"scores are above {plain.constant}; {instead}."
        )
    if plain.rounded:
        trees = scores_of_first(trees, AHEAD if plain.link == "clipped" else AHEAD_OF_NEAR)
    scores = sklearn_boosting.classifier(trees, classes, table)
    if plain.link == "one_vs_rest":
        return sklearn_calibrated.one_vs_rest(scores, plain.constant)
    return sklearn_calibrated.clipped(scores, plain.constant) if plain.link == "clipped" else scores


def _of_shares(plain: Folded, committee: Committee) -> Any:
    from committee.vote.exports import sklearn_calibrated, sklearn_forests

    trees, table, classes = plain.trees, committee.table, committee.classes
    found = sklearn_forests.column_for_boosting(trees, table)
    if found is not None:
        return _boosted_shares(plain, committee, *found)
    forest, shares = trees.forest, trees.averaged(plain.total)
    if plain.rounded:
        shares = shares_of_first(shares, forest, centred=plain.link == "softened")
    if plain.link == "shares":
        return sklearn_forests.classifier(trees, shares, classes, table)
    ready = on_grid(sklearn_calibrated.before_logarithms(shares, len(classes)), 2.0 * len(forest))
    return sklearn_calibrated.softened(sklearn_forests.classifier(trees, ready, classes, table), plain.constant)


def _boosted_shares(plain: Folded, committee: Committee, column: int, matter: str) -> Any:
    """Shares of trees on columns that forests cannot take, as sums by boosting on histograms that calibrators take."""
    from committee.vote.exports import sklearn_boosting, sklearn_calibrated

    trees, classes, table = plain.trees, committee.classes, committee.table
    if plain.link == "shares":
        # (1 + F) / 2 is the share of a class where F is twice the share less one, and of two classes the difference
        shares = trees.signed().scaled(1.0 / plain.total) if len(classes) == 2 else trees.scaled(2.0 / plain.total)
        started = replace(shares, intercept=shares.intercept - (shares.n_scores > 1))
        return sklearn_calibrated.clipped(sklearn_boosting.classifier(scores_of_first(started), classes, table), 1.0)
    if len(classes) == 2:
        name = f"x{column}" if table is None else table.column(column)
        raise ValueError(
            f"column {name!r} {matter}, which boosting on histograms takes, and the probabilities of these two classes "
            "are calibrated (the tempered_share link), which forests take: scikit-learn has nothing that takes both. "
            "Train with calibrate=None, or leave it to committee.to_onnx."
        )
    ready, K = trees.scaled(1.0 / plain.total), len(classes)
    value = ready.value * (1.0 + K * sklearn_calibrated.EPSILON)
    started = replace(ready, value=value, intercept=sklearn_calibrated.before_logarithms(ready.intercept, K))
    scores = sklearn_boosting.classifier(scores_of_first(started), classes, table)
    return sklearn_calibrated.softened(scores, plain.constant)


def _of_numbers(plain: Folded, table: TableSchema | None) -> Any:
    from committee.vote.exports import sklearn_boosting, sklearn_forests

    trees = plain.trees
    if plain.link == "exponential" and trees.n_scores == 1:
        return sklearn_boosting.regressor(trees, "poisson", table)
    boosts = plain.link == "number" or sklearn_forests.column_for_boosting(trees, table) is not None
    if trees.n_scores == 1 and boosts:
        return sklearn_boosting.regressor(trees.scaled(1.0 / plain.total), "squared_error", table)
    if plain.link == "exponential":
        raise TypeError(f"{PLACE} has no model of several numbers that are powers of scores; take a committee of each.")
    return sklearn_forests.regressor(trees, trees.averaged(plain.total), table)
