"""Models of other libraries to compare with: defaults kept, one seed, one number of threads.

A peer learns from the encoded matrix of `committee.data.frames.TableSchema.encode`: float64, categories as codes, NaN
where a value is missing. Each declares to its library which columns are categories, in that library's own way. A new
peer is one function (two if it predicts numbers, too) and one line in `PEERS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from committee.data.frames import TableSchema

Matrix: TypeAlias = "NDArray[np.float64]"


def _random_forest(schema: TableSchema, seed: int, jobs: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return on_one_hot(schema, RandomForestClassifier(random_state=seed, n_jobs=jobs))


def _forest_of_numbers(schema: TableSchema, seed: int, jobs: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor

    return on_one_hot(schema, RandomForestRegressor(random_state=seed, n_jobs=jobs))


def on_one_hot(schema: TableSchema, forest: Any) -> Any:
    """One-hot categories (a missing one is all zeros), missing numbers natively."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = [j for j, count in enumerate(schema.n_categories) if count > 0]
    if not columns:
        return forest
    codes = [[float(code) for code in range(schema.n_categories[j])] for j in columns]
    one_hot = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)
    encode = ColumnTransformer([("categories", one_hot, columns)], remainder="passthrough", sparse_threshold=0)
    return make_pipeline(encode, forest)


def _hist_gradient_boosting(schema: TableSchema, seed: int, jobs: int) -> Any:
    """Native categories and missing values. Its OpenMP threads are limited by the caller, not by ``jobs``."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    mask = schema.categorical if schema.categorical.any() else None
    return HistGradientBoostingClassifier(categorical_features=mask, random_state=seed)


def _hist_gradient_boosting_of_numbers(schema: TableSchema, seed: int, jobs: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingRegressor

    mask = schema.categorical if schema.categorical.any() else None
    return HistGradientBoostingRegressor(categorical_features=mask, random_state=seed)


def _xgboost(schema: TableSchema, seed: int, jobs: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(**xgboost_categories(schema), n_jobs=jobs, random_state=seed, verbosity=0)


def _xgboost_of_numbers(schema: TableSchema, seed: int, jobs: int) -> Any:
    from xgboost import XGBRegressor

    return XGBRegressor(**xgboost_categories(schema), n_jobs=jobs, random_state=seed, verbosity=0)


def xgboost_categories(schema: TableSchema) -> dict[str, Any]:
    """Native categories and missing values."""
    types = ["c" if is_category else "q" for is_category in schema.categorical]
    return {"enable_categorical": True, "feature_types": types if schema.categorical.any() else None}


def _lightgbm(schema: TableSchema, seed: int, jobs: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=jobs, random_state=seed, verbose=-1, **_of_lightgbm(schema))


def _lightgbm_of_numbers(schema: TableSchema, seed: int, jobs: int) -> Any:
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=jobs, random_state=seed, verbose=-1, **_of_lightgbm(schema))


def _of_lightgbm(schema: TableSchema) -> dict[str, Any]:
    """Native categories and missing values."""
    # An alias of `categorical_feature`: under that name LightGBM takes it for an argument of fit and warns.
    columns = ",".join(str(j) for j, is_category in enumerate(schema.categorical) if is_category)
    return {"cat_feature": columns} if columns else {}


def _forest_size(model: Any) -> tuple[int, int]:
    forest = model[-1] if hasattr(model, "steps") else model
    return len(forest.estimators_), sum(tree.tree_.node_count for tree in forest.estimators_)


def _histogram_size(model: Any) -> tuple[int, int]:
    trees = [tree for round_ in model._predictors for tree in round_]
    return len(trees), sum(len(tree.nodes) for tree in trees)


def _xgboost_size(model: Any) -> tuple[int, int]:
    trees = model.get_booster().get_dump()
    return len(trees), sum(len(tree.splitlines()) for tree in trees)


def _lightgbm_size(model: Any) -> tuple[int, int]:
    trees = model.booster_.dump_model()["tree_info"]
    return len(trees), sum(2 * tree["num_leaves"] - 1 for tree in trees)


def _voting_part(model: Any, X: Matrix) -> tuple[Any, Matrix]:
    """Take the last step of a pipeline, and the matrix that it sees."""
    if hasattr(model, "steps"):
        return model[-1], model[:-1].transform(X)
    return model, X


@dataclass(frozen=True)
class Peer:
    """A model of another library.

    Attributes
    ----------
    module : str
        What has to be installed.
    make : callable ``(schema, seed, jobs) -> estimator``
        The unfitted scikit-learn style classifier for the encoded matrix of ``schema``.
    size : callable ``(fitted) -> (n_voters, n_nodes)``
        Number of trees and of nodes (inner ones and leaves) in all of them.
    voting_part : callable ``(fitted, X) -> (fitted, X)``
        The part that votes, and the matrix it votes on: what `Committee.from_estimator` reads.
    make_of_numbers : callable ``(schema, seed, jobs) -> estimator``, default=None
        The regressor; None for a model of classes alone.
    """

    module: str
    make: Callable[[TableSchema, int, int], Any]
    size: Callable[[Any], tuple[int, int]]
    voting_part: Callable[[Any, Matrix], tuple[Any, Matrix]] = _voting_part
    make_of_numbers: Callable[[TableSchema, int, int], Any] | None = None

    @property
    def installed(self) -> bool:
        """Whether its library is there to import."""
        return find_spec(self.module) is not None


PEERS: dict[str, Peer] = {
    "scikit-learn:random_forest": Peer("sklearn", _random_forest, _forest_size, make_of_numbers=_forest_of_numbers),
    "scikit-learn:hist_gradient_boosting": Peer(
        "sklearn", _hist_gradient_boosting, _histogram_size, make_of_numbers=_hist_gradient_boosting_of_numbers
    ),
    "xgboost": Peer("xgboost", _xgboost, _xgboost_size, make_of_numbers=_xgboost_of_numbers),
    "lightgbm": Peer("lightgbm", _lightgbm, _lightgbm_size, make_of_numbers=_lightgbm_of_numbers),
}
"""Names on the command line and the models behind them."""


def installed_peers() -> list[str]:
    """Names of the peers whose library is installed.

    Examples
    --------
    >>> from committee.report.peers import installed_peers
    >>> installed_peers()[:2]
    ['scikit-learn:random_forest', 'scikit-learn:hist_gradient_boosting']
    """
    return [name for name, peer in PEERS.items() if peer.installed]
