"""Export tree committees to scikit-learn."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from committee.data.table_schema import TableSchema
from committee.vote.committee import Committee, RegressionCommittee, as_committee
from committee.vote.exports.score_trees import (
    NEAR_TIE_BREAK,
    ONE_CLASS,
    TIE_BREAK,
    FoldedTrees,
    ScoreTrees,
    break_score_ties,
    break_share_ties,
    fold_link,
    round_to_grid,
    ties_near_scores,
)

TARGET = "scikit-learn"
ONNX = "committee.to_onnx takes it"

Kept: TypeAlias = Literal["probabilities", "classes"]


def as_sklearn(estimator: Any, *, keep: Kept = "probabilities") -> Any:
    """Return a fitted tree model as a model of scikit-learn that does not need this library.

    Means of class shares and of numbers become decision trees or forests. Sums that are log-odds, numbers or
    logarithms, and tables with categorical columns become histogram boosting. For other links, and for class shares by
    boosting, a ``CalibratedClassifierCV`` is put around one of these. Predictions are the same within 1e-12, except for
    ties of forests with new weights, which scikit-learn gives to the first class and this library to the sum that is
    rounded up.

    Parameters
    ----------
    estimator : fitted learner, committee, or ensemble of another library
        A learner of this library with tree voters, or an argument of `Committee.from_estimator` or
        `RegressionCommittee.from_estimator`.
    keep : {"probabilities", "classes"}, default="probabilities"
        "classes": a forest that elects the same classes for any link, without categorical columns, for programs that
        support only forests. Its ``predict_proba`` is linear in the scores. Ignored for regression.

    Returns
    -------
    DecisionTree*, RandomForest*, HistGradientBoosting* or CalibratedClassifierCV
        Fitted for prediction. Forests and trees round rows to float32 before comparisons, so that values next to a
        threshold may go the other way. Forests with thresholds beyond 2^24, or with more than 1 % of a column's
        thresholds equal in float32, become boosting, which compares in float64.

    Raises
    ------
    NotFittedError
        If `estimator` is not fitted.
    TypeError
        If `estimator` is not supported, or scikit-learn has no such trees or link.
    ValueError
        If `keep` is unknown; trees split on a column with more than 255 categories, or with numbers in place of
        categories; decision trees are needed for a categorical or float64 column; or there is one class only.

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
    committee = as_committee(estimator, TARGET)
    if isinstance(committee, RegressionCommittee):
        return _of_numbers(fold_link(committee, TARGET, ONNX), committee.table)
    return _of_votes(committee) if keep == "classes" else _of_classes(committee)


def _of_votes(committee: Committee) -> Any:
    from committee.vote.exports.sklearn_models import check_columns, column_unfit_for_forests, voting_forest

    trees = ScoreTrees.of(committee, TARGET)
    if committee.n_classes < 2:
        raise ValueError(ONE_CLASS)
    if column_unfit_for_forests(trees, committee.table) is not None:
        remedy = ""
        with suppress(TypeError, ValueError):
            _of_classes(committee)
            remedy = 'leave keep at "probabilities", which exports to boosting, or '
        check_columns(trees, committee.table, remedy)
    return voting_forest(trees, committee.classes, committee.table, near_ties=ties_near_scores(committee))


def _of_classes(committee: Committee) -> Any:
    from committee.vote.exports import sklearn_models

    classes, table, alternative = committee.classes, committee.table, ONNX
    if sklearn_models.column_unfit_for_forests(ScoreTrees.of(committee, TARGET), table) is None:
        alternative = f'keep="classes" gives a forest that elects the same classes, and {ONNX}'
    plain = fold_link(committee, TARGET, alternative)
    trees = plain.trees
    if plain.link in ("shares", "softened"):
        return _of_shares(plain, committee)
    if plain.link == "clipped" and trees.n_scores > 1 and trees.largest > plain.constant:
        raise TypeError(
            f"scores may be as large as {trees.largest:.3g}, and the truncated link gives equal "
            f"probabilities to classes whose scores are above {plain.constant}; {alternative}."
        )
    if plain.rounded:
        trees = break_score_ties(trees, TIE_BREAK if plain.link == "clipped" else NEAR_TIE_BREAK)
    scores = sklearn_models.boosting_classifier(trees, classes, table)
    if plain.link == "one_vs_rest":
        return sklearn_models.one_vs_rest(scores, plain.constant)
    return sklearn_models.clipped(scores, plain.constant) if plain.link == "clipped" else scores


def _of_shares(plain: FoldedTrees, committee: Committee) -> Any:
    from committee.vote.exports import sklearn_models

    trees, table, classes = plain.trees, committee.table, committee.classes
    found = sklearn_models.column_unfit_for_forests(trees, table)
    if found is not None:
        return _boosted_shares(plain, committee, *found)
    forest, shares = trees.forest, trees.averaged(plain.total)
    if plain.rounded:
        shares = break_share_ties(shares, forest, centred=plain.link == "softened")
    if plain.link == "shares":
        return sklearn_models.forest_classifier(trees, shares, classes, table)
    ready = round_to_grid(sklearn_models.subtract_epsilon(shares, len(classes)), 2.0 * len(forest))
    return sklearn_models.tempered(sklearn_models.forest_classifier(trees, ready, classes, table), plain.constant)


def _boosted_shares(plain: FoldedTrees, committee: Committee, column: int, matter: str) -> Any:
    from committee.vote.exports import sklearn_models

    trees, classes, table = plain.trees, committee.classes, committee.table
    if plain.link == "shares":
        # (1 + F) / 2 is the share of a class where F is twice the share less one, and of two classes the difference
        shares = trees.signed().scaled(1.0 / plain.total) if len(classes) == 2 else trees.scaled(2.0 / plain.total)
        started = replace(shares, intercept=shares.intercept - (shares.n_scores > 1))
        return sklearn_models.clipped(
            sklearn_models.boosting_classifier(break_score_ties(started), classes, table), 1.0
        )
    if len(classes) == 2:
        name = f"x{column}" if table is None else table.column(column)
        raise ValueError(
            f"column {name!r} {matter}, for which scikit-learn has histogram boosting alone, and the two classes' "
            "probabilities are calibrated (the tempered_share link), for which it has forests alone. Train with "
            "calibrate=None, or use committee.to_onnx."
        )
    ready, K = trees.scaled(1.0 / plain.total), len(classes)
    value = ready.value * (1.0 + K * sklearn_models.EPSILON)
    started = replace(ready, value=value, intercept=sklearn_models.subtract_epsilon(ready.intercept, K))
    scores = sklearn_models.boosting_classifier(break_score_ties(started), classes, table)
    return sklearn_models.tempered(scores, plain.constant)


def _of_numbers(plain: FoldedTrees, table: TableSchema | None) -> Any:
    from committee.vote.exports import sklearn_models

    trees = plain.trees
    if plain.link == "exponential" and trees.n_scores == 1:
        return sklearn_models.boosting_regressor(trees, "poisson", table)
    boosts = plain.link == "number" or sklearn_models.column_unfit_for_forests(trees, table) is not None
    if trees.n_scores == 1 and boosts:
        return sklearn_models.boosting_regressor(trees.scaled(1.0 / plain.total), "squared_error", table)
    if plain.link == "exponential":
        raise TypeError(f"{TARGET} has no model of several outputs with the log link; use a committee per output.")
    return sklearn_models.forest_regressor(trees, trees.averaged(plain.total), table)
