"""Pages under test, rendered by the library on data of scikit-learn."""

from collections.abc import Callable

from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    ProbitModelTreeClassifier,
    RandomForestClassifier,
    TreeVoter,
)
from committee.files.documents import Estimate
from committee.report.comparison import compare
from committee.report.comparison_page import render_report
from committee.report.explanation import RowExplanation
from committee.report.model_pages import evaluation_page, render_model, row_page
from committee.report.provenance import provenance_of

TUMOURS, KINDS = load_breast_cancer(return_X_y=True, as_frame=True)
WINES, CULTIVARS = load_wine(return_X_y=True, as_frame=True)
PATIENTS, PROGRESSION = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
LEARNT, NEW = slice(None, None, 2), slice(1, None, 2)


def comparison_of_three() -> str:
    return render_report(compare(TUMOURS, KINDS, ["adaboost", "random_forest", "scikit-learn:random_forest"], folds=3))


def comparison_of_numbers() -> str:
    return render_report(compare(PATIENTS, PROGRESSION, ["tree", "scikit-learn:hist_gradient_boosting"], folds=3))


def comparison_of_twenty_five() -> str:
    """Trees of many sizes under names of many lengths, one of which fails."""
    leaves = {f"tree_of_{'very_' * (n % 4)}many_leaves:{n}": n for n in range(2, 26)}
    models = {name: TreeVoter(max_leaf_nodes=n, max_depth=None) for name, n in leaves.items()}
    return render_report(
        compare(WINES, CULTIVARS, {**models, "none": TreeVoter(max_depth=-1)}, folds=3, metric="log_loss")
    )


def model_of_trees() -> str:
    """Many names, long and odd ones among them."""
    names = {name: f"{name} & <very> long, " * 4 for name in WINES.columns[:4]}
    X = WINES.rename(columns=names).assign(hall=[f"hall {i % 12}" for i in range(len(WINES))])
    return render_model(GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, CULTIVARS))


def model_of_kinds() -> str:
    kinds = CULTIVARS.map({0: "Barolo", 1: "Grignolino", 2: "Barbera"})
    return render_model(RandomForestClassifier(30, random_state=0).fit(WINES, kinds), name="wines.safetensors")


def model_of_few_trees() -> str:
    model = AdaBoostClassifier(3, max_depth=2, vote="confidence").fit(WINES[LEARNT], CULTIVARS[LEARNT])
    return render_model(model, WINES[NEW], CULTIVARS[NEW])


def model_of_members() -> str:
    model = CommitteeClassifier("fast", random_state=0).fit(TUMOURS[LEARNT], KINDS[LEARNT])
    return render_model(model, TUMOURS[NEW], KINDS[NEW])


def model_of_numbers() -> str:
    return render_model(GradientBoostingRegressor(n_estimators=20, random_state=0).fit(PATIENTS, PROGRESSION))


def evaluation_of_lines() -> str:
    model = ProbitModelTreeClassifier(max_depth=2).fit(TUMOURS[LEARNT], KINDS[LEARNT])
    return render_model(model, TUMOURS[NEW], KINDS[NEW], data="new.csv")


def evaluation_of_classes() -> str:
    labels = CULTIVARS.map({0: "Barolo", 1: "Grignolino, of the hills", 2: "Barbera"})
    model = RandomForestClassifier(20, random_state=0).fit(WINES[LEARNT], labels[LEARNT])
    return evaluation_page(model, WINES[NEW], labels[NEW], title="Wines", data="new.csv")


def evaluation_of_numbers() -> str:
    model = GradientBoostingRegressor(n_estimators=20, random_state=0).fit(PATIENTS[LEARNT], PROGRESSION[LEARNT])
    return evaluation_page(model, PATIENTS[NEW], PROGRESSION[NEW])


def evaluation_of_quantiles() -> str:
    quantiles = GradientBoostingRegressor(n_estimators=20, loss="quantile", quantile=[0.1, 0.5, 0.9], random_state=0)
    return evaluation_page(quantiles.fit(PATIENTS[LEARNT], PROGRESSION[LEARNT]), PATIENTS[NEW], PROGRESSION[NEW])


def row_of_a_model_that_knows_its_training() -> str:
    """A column of dates, and a file of a long name."""
    days = 1.7e9 + 86_400.0 * TUMOURS.index.to_numpy()
    X = TUMOURS.assign(day=days)
    model = RandomForestClassifier(20, random_state=0).fit(X[LEARNT], KINDS[LEARNT])
    model.table_ = model.table_.with_forms({"day": "%Y-%m-%d"})
    model.provenance_ = provenance_of(
        model,
        X[LEARNT],
        target="kind of tumour",
        data="a-file-with-a-name-that-is-rather-long-and-has-no-spaces-in-it.csv.gz",
        estimate=Estimate("5 folds", 285, {"accuracy": 0.95, "accuracy_of_most_frequent": 0.63, "log_loss": 0.15}),
    )
    return row_page(model, RowExplanation.of(model, X[NEW], 3), row="row 3 of new.csv (the first is 0)", most=40)


PAGES: dict[str, Callable[[], str]] = {
    each.__name__: each
    for each in (
        comparison_of_three,
        comparison_of_numbers,
        comparison_of_twenty_five,
        model_of_trees,
        model_of_kinds,
        model_of_few_trees,
        model_of_members,
        model_of_numbers,
        evaluation_of_lines,
        evaluation_of_classes,
        evaluation_of_numbers,
        evaluation_of_quantiles,
        row_of_a_model_that_knows_its_training,
    )
}
