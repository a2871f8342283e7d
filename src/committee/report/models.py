"""Models of a comparison: learners of this library, peers of other libraries, and estimators of the user."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from committee import MODELS, MODELS_OF_NUMBERS
from committee import model as new_model
from committee.data.text import suggest_names
from committee.report.page import Grid

if TYPE_CHECKING:  # the help of the command line lists models, and needs no NumPy
    import numpy as np
    from numpy.typing import NDArray

    from committee.data.table_schema import TableSchema

Matrix: TypeAlias = "NDArray[np.float64]"

BUILDING_BLOCKS = frozenset({"abstaining_stump"})
"""Models that are weak learners of ensembles."""

BASELINE = "baseline"
"""Model that ignores the columns."""

OF_OTHERS = ("scikit-learn:random_forest", "scikit-learn:hist_gradient_boosting", "catboost", BASELINE)

DEFAULT_MODELS = (
    *("committee", "gradient_boosting", "adaboost_trees", "random_forest", "sbpmt", "tree"),
    *OF_OTHERS,
)

DEFAULT_MODELS_OF_NUMBERS = ("committee", "gradient_boosting", "random_forest", "quadboost", "tree", *OF_OTHERS)


def on_one_hot(schema: TableSchema, forest: Any) -> Any:
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    columns = [j for j, count in enumerate(schema.n_categories) if count > 0]
    if not columns:
        return forest
    codes = [[float(code) for code in range(schema.n_categories[j])] for j in columns]
    one_hot = OneHotEncoder(categories=codes, handle_unknown="ignore", sparse_output=False)  # missing: zeros
    encode = ColumnTransformer([("categories", one_hot, columns)], remainder="passthrough", sparse_threshold=0)
    return make_pipeline(encode, forest)


def xgboost_categories(schema: TableSchema) -> dict[str, Any]:
    types = ["c" if is_category else "q" for is_category in schema.categorical]
    return {"enable_categorical": True, "feature_types": types if schema.categorical.any() else None}


def _random_forest(kind: Any, schema: TableSchema, seed: int) -> Any:
    return on_one_hot(schema, kind(random_state=seed, n_jobs=1))


def _hist_gradient_boosting(kind: Any, schema: TableSchema, seed: int) -> Any:
    # its OpenMP threads are limited by the caller
    return kind(categorical_features=schema.categorical if schema.categorical.any() else None, random_state=seed)


def _xgboost(kind: Any, schema: TableSchema, seed: int) -> Any:
    return kind(**xgboost_categories(schema), n_jobs=1, random_state=seed, verbosity=0)


def _lightgbm(kind: Any, schema: TableSchema, seed: int) -> Any:
    # an alias of `categorical_feature`, which LightGBM takes for an argument of fit and warns of
    columns = ",".join(str(j) for j, is_category in enumerate(schema.categorical) if is_category)
    return kind(n_jobs=1, random_state=seed, verbose=-1, **({"cat_feature": columns} if columns else {}))


def _catboost(kind: Any, schema: TableSchema, seed: int) -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    options = {"thread_count": 1, "random_seed": seed, "verbose": False, "allow_writing_files": False}
    columns = [j for j, is_category in enumerate(schema.categorical) if is_category]
    if not columns:
        return kind(**options)
    booster = kind(cat_features=columns, **options)
    return make_pipeline(FunctionTransformer(_codes_as_text, kw_args={"columns": columns}), booster)


def _codes_as_text(X: Matrix, columns: list[int]) -> NDArray[Any]:
    # CatBoost takes categories as text or integers, a missing one as a category
    cells = X.astype(object)
    cells[:, columns] = X[:, columns].astype(str)
    return cells


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


def _catboost_size(model: Any) -> tuple[int, int]:
    leaves = (model[-1] if hasattr(model, "steps") else model).get_tree_leaf_counts()
    return len(leaves), int(2 * leaves.sum() - len(leaves))


@dataclass(frozen=True)
class Peer:
    """A model of another library.

    Attributes
    ----------
    module : str
        Package that has to be installed.
    kind : str
        Module and class of the model, without "Classifier" or "Regressor".
    new : callable ``(class, schema, seed) -> estimator``
        Unfitted model in the style of scikit-learn, on one thread, for the encoded matrix of ``schema``.
    size : callable ``(fitted) -> (n_voters, n_nodes)``
        Number of trees, and of nodes (inner ones and leaves) in all of them; `None` for a model without trees.
    """

    module: str
    kind: str
    new: Callable[[Any, TableSchema, int], Any]
    size: Callable[[Any], tuple[int, int] | None]

    @property
    def installed(self) -> bool:
        return find_spec(self.module) is not None

    def make(self, schema: TableSchema, seed: int, *, numbers: bool = False) -> Any:
        package, _, name = self.kind.rpartition(".")
        kind = getattr(import_module(package), name + ("Regressor" if numbers else "Classifier"))
        return self.new(kind, schema, seed)


PEERS: dict[str, Peer] = {
    "scikit-learn:random_forest": Peer("sklearn", "sklearn.ensemble.RandomForest", _random_forest, _forest_size),
    "scikit-learn:hist_gradient_boosting": Peer(
        "sklearn", "sklearn.ensemble.HistGradientBoosting", _hist_gradient_boosting, _histogram_size
    ),
    "xgboost": Peer("xgboost", "xgboost.XGB", _xgboost, _xgboost_size),
    "lightgbm": Peer("lightgbm", "lightgbm.LGBM", _lightgbm, _lightgbm_size),
    "catboost": Peer("catboost", "catboost.CatBoost", _catboost, _catboost_size),
    BASELINE: Peer("sklearn", "sklearn.dummy.Dummy", lambda kind, *_: kind(), lambda model: None),
}


def installed_peers() -> list[str]:
    return [name for name, peer in PEERS.items() if peer.installed]


def models_grid() -> Grid:
    from committee import learner as learner_class

    rows = []
    for name, (learner, parameters) in MODELS.items():
        summary = (learner_class(learner).__doc__ or "").strip().partition("\n")[0].replace(" [1]_", "")
        given = ", ".join(f"{key}={value!r}" for key, value in parameters.items())
        task = "classes, numbers" if name in MODELS_OF_NUMBERS else "classes"
        rows.append((name, task, f"{learner}({given}). {summary}"))
    for name, peer in PEERS.items():
        module, _, name_of_class = peer.kind.rpartition(".")
        missing = "" if peer.installed else f", not installed: pip install {peer.module}"
        summary = f"{name_of_class}Classifier of {module}, only for committee compare{missing}."
        rows.append((name, "classes, numbers", summary))
    return Grid("Models", ("model", "predicts", "learner"), tuple(rows), "lll")


@dataclass(frozen=True)
class ComparedModel:
    """A model by name, or an unfitted estimator; `numbers` selects the regressor of a name."""

    name: str
    estimator: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    numbers: bool = False

    @property
    def peer(self) -> Peer | None:
        return PEERS.get(self.name) if self.estimator is None else None

    @property
    def own(self) -> bool:
        if self.estimator is None:
            return self.name in MODELS
        from committee.learners.base.predictors import BaseClassifier, BaseRegressor

        return isinstance(self.estimator, BaseClassifier | BaseRegressor)

    @property
    def package(self) -> str:
        if self.own:
            return "committee"
        module = self.peer.module if self.peer else type(self.estimator).__module__.partition(".")[0]
        return {"sklearn": "scikit-learn"}.get(module, module)

    def make(self, schema: TableSchema | None, seed: int) -> Any:
        from sklearn.base import clone

        if self.peer is not None:
            assert schema is not None
            made = self.peer.make(schema, seed, numbers=self.numbers)
            self._set_parameters(made[-1] if hasattr(made, "steps") else made)
            return made
        model = new_model(self.name, numbers=self.numbers) if self.estimator is None else clone(self.estimator)
        self._set_parameters(model)
        if model.get_params().get("random_state", seed) is None:
            model.set_params(random_state=seed)
        return model

    def _set_parameters(self, model: Any) -> None:
        known = {**model.get_params(), **signature(type(model)).parameters}  # CatBoost's has only those that are set
        for name in self.parameters:
            if name not in known:
                raise ValueError(f"{self.name} has no parameter {name!r}; {suggest_names(name, list(known))}")
        if self.parameters:
            model.set_params(**self.parameters)

    def committee(self, fitted: Any, X: Any) -> tuple[Any, Any]:
        """Return the committee of a fitted model, if its votes are available, and the rows it votes on."""
        if self.own:
            return fitted.committee_, X
        if self.peer is not None and self.name == BASELINE:
            return None, X
        from committee.vote.committee import Committee

        voting, rows = (fitted, X) if self.peer is None else voting_part(fitted, X)
        try:
            return Committee.from_estimator(voting), rows
        except (TypeError, ValueError):
            return None, rows

    def size(self, fitted: Any, committee: Any) -> tuple[int, int] | None:
        if self.peer is not None:
            return self.peer.size(fitted)
        return None if committee is None else (committee.n_voters, committee.n_nodes)


def voting_part(model: Any, X: Matrix) -> tuple[Any, Matrix]:
    return (model[-1], model[:-1].transform(X)) if hasattr(model, "steps") else (model, X)


def weight_argument(model: Any, weights: NDArray[np.float64] | None) -> dict[str, Any]:
    if weights is None:
        return {}
    from sklearn.utils.validation import has_fit_parameter

    step = model.steps[-1][0] + "__" if hasattr(model, "steps") else ""
    last = model[-1] if step else model
    if not has_fit_parameter(last, "sample_weight"):
        raise ValueError(f"{type(last).__name__} takes no row weights; leave it out, or compare without weights")
    return {f"{step}sample_weight": weights}


def default_models(numbers: bool = False) -> list[str]:
    names = DEFAULT_MODELS_OF_NUMBERS if numbers else DEFAULT_MODELS
    return [name for name in names if name not in PEERS or PEERS[name].installed]


def all_models(numbers: bool = False) -> list[str]:
    own = MODELS_OF_NUMBERS if numbers else MODELS
    return [name for name in own if name not in BUILDING_BLOCKS] + installed_peers()


def compared_models(
    models: Iterable[str] | Mapping[str, Any] | str | None,
    *,
    numbers: bool | None = False,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[ComparedModel]:
    """Return the models to compare; `numbers` is `None` before the task is known."""
    given = parameters or {}
    if isinstance(models, Mapping):
        chosen = [ComparedModel(name, each, given.get(name, {})) for name, each in models.items()]
    else:
        models = default_models(bool(numbers)) if models is None else models
        names = [models] if isinstance(models, str) else list(models)
        if "all" in names:
            every = all_models(bool(numbers))
            names = [*every, *(name for name in names if name not in (*every, "all"))]
        chosen = [ComparedModel(name, None, given.get(name, {}), bool(numbers)) for name in names]
    if not chosen:
        raise ValueError("models is empty: name at least one model to compare")
    names = [model.name for model in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"model {name!r} is named {names.count(name)} times; name it once")
    for model in chosen:
        if model.estimator is None:
            _check_name(model.name, numbers)
    for name in given:
        if name not in names and numbers is not None:
            raise ValueError(f"parameters are set for {name!r}, which is not compared; {suggest_names(name, names)}")
    return chosen


def _check_name(name: str, numbers: bool | None) -> None:
    if name not in MODELS and name not in PEERS:
        raise ValueError(f"there is no model {name!r}; {suggest_names(name, [*MODELS, *PEERS])}")
    if name in PEERS and not PEERS[name].installed:
        raise ValueError(
            f'model {name!r} needs {PEERS[name].module}, which is not installed; run: pip install "committee[peers]"'
        )
    if numbers and name not in MODELS_OF_NUMBERS and name not in PEERS:
        raise ValueError(f"{name} predicts classes only; for numbers use one of {', '.join(all_models(True))}")
