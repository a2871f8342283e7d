"""The models of a comparison: learners of this library, peers of other libraries, and estimators of the user.

A peer comes as it is: defaults kept, one seed, one number of threads. It learns from the encoded matrix of
`committee.data.frames.TableSchema.encode`: float64, categories as codes, NaN where a value is missing. Each declares to
its library which columns are categories, in that library's own way. A new peer is one function and one line in `PEERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from committee import MODELS
from committee import model as new_model
from committee.data.names import hint_of_names

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from committee.data.frames import TableSchema
    from committee.vote.committee import Committee

Matrix: TypeAlias = "NDArray[np.float64]"


def _random_forest(schema: TableSchema, seed: int, jobs: int) -> Any:
    """One-hot categories (a missing one is all zeros), missing numbers natively."""
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    forest = RandomForestClassifier(random_state=seed, n_jobs=jobs)
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


def _xgboost(schema: TableSchema, seed: int, jobs: int) -> Any:
    """Native categories and missing values."""
    from xgboost import XGBClassifier

    categorical = schema.categorical
    types = ["c" if is_category else "q" for is_category in categorical] if categorical.any() else None
    return XGBClassifier(enable_categorical=True, feature_types=types, n_jobs=jobs, random_state=seed, verbosity=0)


def _lightgbm(schema: TableSchema, seed: int, jobs: int) -> Any:
    """Native categories and missing values."""
    from lightgbm import LGBMClassifier

    # An alias of `categorical_feature`: under that name LightGBM takes it for an argument of fit and warns.
    columns = ",".join(str(j) for j, is_category in enumerate(schema.categorical) if is_category)
    options: dict[str, Any] = {"cat_feature": columns} if columns else {}
    return LGBMClassifier(n_jobs=jobs, random_state=seed, verbose=-1, **options)


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
    """

    module: str
    make: Callable[[TableSchema, int, int], Any]
    size: Callable[[Any], tuple[int, int]]
    voting_part: Callable[[Any, Matrix], tuple[Any, Matrix]] = _voting_part

    @property
    def installed(self) -> bool:
        """Whether its library is there to import."""
        return find_spec(self.module) is not None


PEERS: dict[str, Peer] = {
    "scikit-learn:random_forest": Peer("sklearn", _random_forest, _forest_size),
    "scikit-learn:hist_gradient_boosting": Peer("sklearn", _hist_gradient_boosting, _histogram_size),
    "xgboost": Peer("xgboost", _xgboost, _xgboost_size),
    "lightgbm": Peer("lightgbm", _lightgbm, _lightgbm_size),
}
"""Names on the command line and the models behind them."""


def installed_peers() -> list[str]:
    """Names of the peers whose library is installed.

    Examples
    --------
    >>> from committee.report.models import installed_peers
    >>> installed_peers()[:2]
    ['scikit-learn:random_forest', 'scikit-learn:hist_gradient_boosting']
    """
    return [name for name, peer in PEERS.items() if peer.installed]


BUILDING_BLOCKS = frozenset({"abstaining_stump"})
"""Models that are members of a committee rather than rivals of one; compared only when named."""


@dataclass(frozen=True)
class ComparedModel:
    """A model to compare: a name of this library or of a peer, or an unfitted estimator under any name."""

    name: str
    estimator: Any = None

    @property
    def peer(self) -> Peer | None:
        """The peer of that name; None for other models."""
        return PEERS.get(self.name) if self.estimator is None else None

    @property
    def own(self) -> bool:
        """Whether it is a learner of this library, which takes frames."""
        if self.estimator is None:
            return self.name in MODELS
        from committee.learners.base.estimator import BaseClassifier

        return isinstance(self.estimator, BaseClassifier)

    @property
    def package(self) -> str:
        """Distribution that the model comes from."""
        if self.own:
            return "committee"
        module = self.peer.module if self.peer else type(self.estimator).__module__.partition(".")[0]
        return {"sklearn": "scikit-learn"}.get(module, module)

    def make(self, schema: TableSchema | None, seed: int) -> Any:
        """Unfitted estimator with the seed set; ``schema`` describes the matrix that a peer will see."""
        from sklearn.base import clone

        if self.peer is not None:
            assert schema is not None
            return self.peer.make(schema, seed, 1)
        model = new_model(self.name) if self.estimator is None else clone(self.estimator)
        if model.get_params().get("random_state", seed) is None:
            model.set_params(random_state=seed)
        return model

    def committee(self, fitted: Any, X: Any) -> tuple[Committee | None, Any]:
        """The committee of a fitted model and the rows it votes on; None for a model whose votes are not read."""
        from committee.vote.committee import Committee

        if self.own:
            return fitted.committee_, X
        voting, seen = (fitted, X) if self.peer is None else self.peer.voting_part(fitted, X)
        try:
            return Committee.from_estimator(voting), seen
        except (TypeError, ValueError):
            return None, seen

    def size(self, fitted: Any, committee: Committee | None) -> tuple[int, int] | None:
        """Voters, and nodes in all of them; None where they are not counted."""
        if self.peer is not None:
            return self.peer.size(fitted)
        return None if committee is None else (committee.n_voters, committee.n_nodes)


def default_models() -> list[str]:
    """Names compared when none are given: this library's learners, then the peers that are installed."""
    return [name for name in MODELS if name not in BUILDING_BLOCKS] + installed_peers()


def compared_models(models: Iterable[str] | Mapping[str, Any] | None) -> list[ComparedModel]:
    """Turn names, or a mapping from names to estimators, into the models of a comparison.

    Raises
    ------
    ValueError
        No model, an unknown name (close ones are listed), a name given twice, or a peer that is not
        installed.
    """
    if isinstance(models, Mapping):
        chosen = [ComparedModel(name, estimator) for name, estimator in models.items()]
    else:
        chosen = [ComparedModel(name) for name in (default_models() if models is None else models)]
    if not chosen:
        raise ValueError("models is empty: name at least one model to compare")
    names = [model.name for model in chosen]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"model {name!r} is named {names.count(name)} times; name it once")
    for model in chosen:
        name = model.name
        if model.estimator is not None or name in MODELS:
            continue
        if name not in PEERS:
            raise ValueError(f"there is no model {name!r}; {hint_of_names(name, [*MODELS, *PEERS])}")
        if not PEERS[name].installed:
            raise ValueError(f"model {name!r} needs the package {PEERS[name].module!r}, which is not installed")
    return chosen
