"""The models of a comparison: learners of this library, peers of other libraries, and estimators of the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from committee import MODELS, MODELS_OF_NUMBERS
from committee import model as new_model
from committee.data.text import suggest_names
from committee.report.peers import PEERS, Peer, installed_peers

if TYPE_CHECKING:
    from committee.data.frames import TableSchema

BUILDING_BLOCKS = frozenset({"abstaining_stump"})
"""Models that are members of a committee rather than rivals of one; compared only when named."""

HANDFUL = (
    "gradient_boosting",
    "adaboost_trees",
    "random_forest",
    "sbpmt",
    "tree",
    "scikit-learn:random_forest",
    "scikit-learn:hist_gradient_boosting",
)
"""Compared unless others are named: models that differ, and fit in seconds on small tables."""

HANDFUL_OF_NUMBERS = (
    "gradient_boosting",
    "random_forest",
    "quadboost",
    "tree",
    "scikit-learn:random_forest",
    "scikit-learn:hist_gradient_boosting",
)


@dataclass(frozen=True)
class ComparedModel:
    """A model to compare: a name of this library or of a peer, or an unfitted estimator under any name.

    Attributes
    ----------
    name : str
    estimator : estimator or None
        None for a name of `committee.MODELS` or `PEERS`.
    parameters : mapping of str
        Set on a named model.
    numbers : bool
        Whether a named one is to predict numbers.
    """

    name: str
    estimator: Any = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    numbers: bool = False

    @property
    def peer(self) -> Peer | None:
        """The peer of that name; None for other models."""
        return PEERS.get(self.name) if self.estimator is None else None

    @property
    def own(self) -> bool:
        """Whether it is a learner of this library, which takes frames."""
        if self.estimator is None:
            return self.name in MODELS
        from committee.learners.base.estimator import BaseClassifier, BaseRegressor

        return isinstance(self.estimator, BaseClassifier | BaseRegressor)

    @property
    def package(self) -> str:
        """Distribution that the model comes from."""
        if self.own:
            return "committee"
        module = self.peer.module if self.peer else type(self.estimator).__module__.partition(".")[0]
        return {"sklearn": "scikit-learn"}.get(module, module)

    def make(self, schema: TableSchema | None, seed: int) -> Any:
        """Unfitted estimator with the seed set; ``schema`` describes the matrix that a peer will see.

        Raises
        ------
        ValueError
            If it has no parameter of a name that is to be set.
        """
        from sklearn.base import clone

        if self.peer is not None:
            assert schema is not None
            make = self.peer.make_of_numbers if self.numbers else self.peer.make
            assert make is not None
            made = make(schema, seed, 1)
            self._set(made[-1] if hasattr(made, "steps") else made)
            return made
        model = new_model(self.name, numbers=self.numbers) if self.estimator is None else clone(self.estimator)
        self._set(model)
        if model.get_params().get("random_state", seed) is None:
            model.set_params(random_state=seed)
        return model

    def _set(self, model: Any) -> None:
        known = model.get_params()
        for name in self.parameters:
            if name not in known:
                raise ValueError(f"{self.name} has no parameter {name!r}; {suggest_names(name, list(known))}")
        if self.parameters:
            model.set_params(**self.parameters)

    def committee(self, fitted: Any, X: Any) -> tuple[Any, Any]:
        """The committee of a fitted model and the rows it votes on; None for a model whose votes are not read."""
        from committee.vote.committee import Committee

        if self.own:
            return fitted.committee_, X
        voting, seen = (fitted, X) if self.peer is None else self.peer.voting_part(fitted, X)
        try:
            return Committee.from_estimator(voting), seen
        except (TypeError, ValueError):
            return None, seen

    def size(self, fitted: Any, committee: Any) -> tuple[int, int] | None:
        """Voters, and nodes in all of them; None where they are not counted."""
        if self.peer is not None:
            return self.peer.size(fitted)
        return None if committee is None else (committee.n_voters, committee.n_nodes)


def default_models(numbers: bool = False) -> list[str]:
    """Names compared when none are given: a handful that differ."""
    return list(HANDFUL_OF_NUMBERS if numbers else HANDFUL)


def all_models(numbers: bool = False) -> list[str]:
    """This library's learners, then the peers that are installed."""
    own = MODELS_OF_NUMBERS if numbers else MODELS
    return [name for name in own if name not in BUILDING_BLOCKS] + [
        name for name in installed_peers() if not numbers or PEERS[name].make_of_numbers is not None
    ]


def compared_models(
    models: Iterable[str] | Mapping[str, Any] | str | None,
    *,
    numbers: bool | None = False,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
) -> list[ComparedModel]:
    """Turn names, or a mapping from names to estimators, into the models of a comparison.

    Parameters
    ----------
    models : iterable of str, mapping of str to estimator, "all" or None
        None takes `default_models`, "all" `all_models`.
    numbers : bool or None, default=False
        Whether they are to predict numbers; None: it is not known yet, and names of either kind will do.
    parameters : mapping of str to mapping, default=None
        Parameters to set, by the name of the model.

    Raises
    ------
    ValueError
        No model, an unknown name (close ones are listed), a name given twice, a peer that is not installed, a model
        that does not predict numbers, or parameters of a model that is not compared.
    """
    given = parameters or {}
    if isinstance(models, Mapping):
        chosen = [ComparedModel(name, each, given.get(name, {})) for name, each in models.items()]
    else:
        if models is None:
            models = default_models(bool(numbers))
        elif models == "all" or (not isinstance(models, str) and list(models) == ["all"]):
            models = all_models(bool(numbers))
        names = [models] if isinstance(models, str) else list(models)
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
            raise ValueError(f"parameters are set of {name!r}, which is not compared; {suggest_names(name, names)}")
    return chosen


def _check_name(name: str, numbers: bool | None) -> None:
    if name not in MODELS and name not in PEERS:
        raise ValueError(f"there is no model {name!r}; {suggest_names(name, [*MODELS, *PEERS])}")
    if name in PEERS and not PEERS[name].installed:
        raise ValueError(
            f'model {name!r} needs {PEERS[name].module}, which is not installed: pip install "committee[peers]"'
        )
    of_numbers = name in MODELS_OF_NUMBERS or (name in PEERS and PEERS[name].make_of_numbers is not None)
    if numbers and not of_numbers:
        raise ValueError(f"{name} predicts classes only; of numbers choose out of {', '.join(all_models(True))}")
