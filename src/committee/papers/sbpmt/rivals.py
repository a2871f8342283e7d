"""The methods beside SBPMT in Table 2, on the same folds, by well-kept libraries in place of the paper's R packages."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from committee.data.frames import TableSchema
from committee.files.journal import Cell
from committee.papers.sbpmt.table2 import (
    FOREST,
    OURS,
    XGBOOST,
    PublishedAccuracies,
    classifier,
    folds_of,
    settings_of,
    tables_of,
)
from committee.papers.shared.bundled_tables import Folder
from committee.papers.shared.cells import Task, timed
from committee.papers.shared.paired import packed
from committee.report.crossvalidation import Split, Table
from committee.report.peers import on_one_hot, xgboost_categories

GBM, ADABOOST, XGBOOST_10 = "gradient boosting (100)", "AdaBoost.M1 (100)", "XGBoost (10)"
CATBOOST, LIGHTGBM = "CatBoost (100)", "LightGBM (100)"
SHARE = 0.7
"""Rows of a tree in gradient boosting and XGBoost; the paper's."""


def _forest(schema: TableSchema, seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return on_one_hot(schema, RandomForestClassifier(500, random_state=seed))


def _imputed(model: Any) -> Any:
    """Medians of columns for missing numbers, for the methods of scikit-learn that refuse these."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline

    return make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), model)


def _gbm(schema: TableSchema, seed: int) -> Any:
    """By the defaults of R's gbm: stumps with ten rows on each side."""
    from sklearn.ensemble import GradientBoostingClassifier

    model = GradientBoostingClassifier(
        n_estimators=100, learning_rate=0.1, max_depth=1, min_samples_leaf=10, subsample=SHARE, random_state=seed
    )
    return on_one_hot(schema, _imputed(model))


def _adaboost(schema: TableSchema, seed: int) -> Any:
    """On trees by entropy with two rows in a leaf, in the place of RWeka's C4.5, which are pruned besides."""
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)
    return on_one_hot(schema, _imputed(AdaBoostClassifier(tree, n_estimators=100, random_state=seed)))


def _xgboost(rounds: int, schema: TableSchema, seed: int) -> Any:
    from xgboost import XGBClassifier

    categories = xgboost_categories(schema)
    return XGBClassifier(n_estimators=rounds, subsample=SHARE, random_state=seed, n_jobs=1, verbosity=0, **categories)


def _lightgbm(schema: TableSchema, seed: int) -> Any:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_estimators=100, subsample=SHARE, subsample_freq=1, random_state=seed, n_jobs=1, verbose=-1)
    return on_one_hot(schema, model)


def _catboost(schema: TableSchema, seed: int) -> Any:
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=100, random_seed=seed, thread_count=1, verbose=False, allow_writing_files=False
    )
    return on_one_hot(schema, model)


@dataclass(frozen=True)
class Rival:
    """A method of another library."""

    module: str
    """What has to be installed."""
    make: Callable[[TableSchema, int], Any]
    """Unfitted classifier for the encoded matrix of a schema, with a seed."""


RIVALS: dict[str, Rival] = {
    FOREST: Rival("sklearn", _forest),
    GBM: Rival("sklearn", _gbm),
    ADABOOST: Rival("sklearn", _adaboost),
    XGBOOST_10: Rival("xgboost", partial(_xgboost, 10)),
    XGBOOST: Rival("xgboost", partial(_xgboost, 100)),
    LIGHTGBM: Rival("lightgbm", _lightgbm),
    CATBOOST: Rival("catboost", _catboost),
}
"""By the paper's names, in its order; the last two are not the paper's."""


def installed_rivals() -> list[str]:
    """Return those whose library is installed, in order."""
    return [name for name, rival in RIVALS.items() if find_spec(rival.module)]


def warn_of_missing() -> None:
    """Tell which methods will have no column, as their library is not installed, and how to install it."""
    missing = {name: rival.module for name, rival in RIVALS.items() if not find_spec(rival.module)}
    if missing:
        warnings.warn(
            f"left out: {', '.join(missing)}, as {' and '.join(dict.fromkeys(missing.values()))} cannot be found; "
            'pip install "committee[peers]" installs the libraries of all methods',
            stacklevel=2,
        )


def tasks(
    rows: Sequence[PublishedAccuracies],
    folder: Folder,
    settings: str,
    methods: Sequence[str],
    repeats: int,
    seed: int,
) -> list[Task]:
    """Every method on ten stratified folds of every table: those of `table2.tasks`."""
    found = []
    for row, table, digest in tables_of(rows, folder):
        for place, split, own_seed in folds_of(table, repeats, seed):
            for method in methods:
                own = {"table": row.name, "digest": digest, "method": method, **place}
                run = partial(method_cell, table, split, method, settings, own_seed)
                found.append(Task(own, run, f"{row.title}, {method}"))
    return found


def described(settings: str, seed: int) -> dict[str, Any]:
    """Return all that the cells depend on."""
    return {"rivals": True, **settings_of(settings, seed)}


def method_cell(table: Table, split: Split, method: str, settings: str, seed: int) -> Cell:
    """Fit a method on the training rows, and mark the test rows that it predicts right."""
    train, test = split
    codes = table.labels.codes
    if method == OURS:
        model, X, X_test = classifier(settings, seed), table.rows(train), table.rows(test)
    else:
        schema = TableSchema.learn(table.rows(train))
        model = RIVALS[method].make(schema, seed)
        X, X_test = schema.encode(table.rows(train)), schema.encode(table.rows(test))
    fitted, seconds = timed(lambda: model.fit(X, codes[train]))
    right = fitted.predict(X_test).ravel() == codes[test]
    return {"right": packed(right), "rows": len(test), "fit_seconds": round(seconds, 4)}
