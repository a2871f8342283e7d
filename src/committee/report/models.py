"""The models of a comparison: learners of this library, peers, and estimators of the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from committee import MODELS
from committee import model as new_model
from committee.data.names import hint_of_names
from committee.report.peers import PEERS, Peer, installed_peers

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.vote.committee import Committee

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
        from committee.learners.base.estimator import CommitteeClassifier

        return isinstance(self.estimator, CommitteeClassifier)

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
