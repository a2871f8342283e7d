"""The pages that are looked at, each made by the library on data that comes with scikit-learn."""

from collections.abc import Callable

from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from committee import GradientBoostingRegressor, ProbitModelTreeClassifier, RandomForestClassifier
from committee.report.comparison import compare
from committee.report.html import render_report
from committee.report.model_page import render_model


def comparison_of_three() -> str:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return render_report(compare(X, y, ["adaboost", "random_forest", "scikit-learn:random_forest"], folds=3))


def model_of_trees() -> str:
    X, y = load_wine(return_X_y=True, as_frame=True)
    return render_model(RandomForestClassifier(20, random_state=0).fit(X, y))


def model_of_lines() -> str:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    return render_model(ProbitModelTreeClassifier(max_depth=2).fit(X, y), X)


def model_of_numbers() -> str:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    return render_model(GradientBoostingRegressor(n_estimators=20, random_state=0).fit(X, y))


PAGES: dict[str, Callable[[], str]] = {
    each.__name__: each for each in (comparison_of_three, model_of_trees, model_of_lines, model_of_numbers)
}
