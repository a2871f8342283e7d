"""Kinds of parts of a model file, and the look-up of their classes by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from committee.data.typed_json import field
from committee.files.documents import Document, Tensors

VOTERS = {  # their classes also have ``check_columns(table)``, which raises for unsuitable columns
    "forest": "committee.voters.forest:Forest",
    "shared_forest": "committee.voters.shared_forest:SharedForest",
    "rounds": "committee.voters.rounds:Rounds",
    "model_trees": "committee.voters.model_forest:ModelForest",
    "linear_scores": "committee.voters.model_forest:LinearScores",
    "linear_leaves": "committee.voters.rounds:LinearLeaves",
    "committees": "committee.voters.model_forest:BoostedCommittees",
    "estimators": "committee.voters.estimators:EstimatorVoters",
    "signed": "committee.voters.estimators:SignedVoters",
    "regressors": "committee.voters.estimators:RegressorVoters",
    "regressor_rounds": "committee.voters.estimators:RegressorRounds",
    "members": "committee.vote.members:MemberCommittees",
    "stacked": "committee.vote.members:StackedVoters",
    "graph": "committee.voters.vote_graph:PathMajority",  # graphs with and without a majority of their paths
}

GRAPH_VOTERS = {
    "soft_stumps": "committee.voters.probabilistic_voters:SoftStumps",
    "oracles": "committee.voters.probabilistic_voters:OracleVoters",
}

COMMITTEES = {  # models without a learner
    "Committee": "committee.vote.committee:Committee",
    "RegressionCommittee": "committee.vote.committee:RegressionCommittee",
}

MAX_DEPTH = 8  # deepest nesting of committees of committees; deeper files are taken for an attack on the stack


def describe_part(part: object, kinds: Mapping[str, str], tensors: Tensors) -> Document:
    write = vars(type(part)).get("to_document")  # that of a base class would lose what the subclass adds
    document: Document = {} if write is None else write(part, tensors)
    if document.get("kind") not in kinds:
        raise TypeError(cannot_save_message(part))
    return document


def rebuild_part(document: Document, kinds: Mapping[str, str], tensors: Tensors, what: str) -> Any:
    kind = field(document, "kind", str)
    if kind not in kinds:
        raise ValueError(f"{what} are of kind {kind!r}; the kind must be one of {', '.join(map(repr, kinds))}")
    return resolve_name(kinds[kind]).from_document(document, tensors)


def cannot_save_message(thing: object) -> str:
    kind = type(thing)
    return (
        f"{kind.__module__}.{kind.__qualname__} cannot be saved: a model file holds only known classes of committee "
        f"(learners: {', '.join(sorted(_learners()))}), so that loading it never runs anyone's code. "
        "Use skops.io.dump or joblib.dump for this model."
    )


def learner_class(name: str, depth: int) -> type[Any]:
    if depth > MAX_DEPTH:
        raise ValueError(f"learners are nested more than {MAX_DEPTH} deep")
    learners = _learners()
    if name not in learners:
        raise ValueError(f"class is {name!r}, which is no learner; there are {', '.join(sorted(learners))}")
    found: type[Any] = resolve_name(f"{learners[name]}:{name}")
    return found


def check_learner(thing: object) -> None:
    name = type(thing).__name__
    if name not in _learners() or learner_class(name, 0) is not type(thing):
        raise TypeError(cannot_save_message(thing))


def describe_learners(learners: Iterable[Any], tensors: Tensors) -> list[Document]:
    documents = []
    for number, learner in enumerate(learners):
        check_learner(learner)
        documents.append(learner.to_document(tensors.member(number)))
    return documents


def rebuild_learners(documents: list[Any], tensors: Tensors) -> list[Any]:
    learners = []
    for number, document in enumerate(documents):
        member = tensors.member(number)
        if type(document) is not dict:
            raise ValueError(f"{tensors.prefix}{number} is not a JSON object")
        learners.append(learner_class(field(document, "class", str), member.depth).from_document(document, member))
    return learners


def describe_model(model: Any, tensors: Tensors) -> Document:
    name = type(model).__name__
    if name not in COMMITTEES or resolve_name(COMMITTEES[name]) is not type(model):
        check_learner(model)
    document: Document = model.to_document(tensors)
    return document


def rebuild_member(document: Document, tensors: Tensors) -> Any:
    name = field(document, "class", str)
    kind = resolve_name(COMMITTEES[name]) if name in COMMITTEES else learner_class(name, tensors.depth)
    return kind.from_document(document, tensors)


def rebuild_model(document: Document, tensors: Tensors) -> Any:
    model = rebuild_member(document, tensors)
    if tensors.arrays:
        raise ValueError(f"the array {sorted(tensors.arrays)[0]!r} belongs to nothing")
    return model


def _learners() -> dict[str, str]:
    table: dict[str, str] = import_module("committee").LEARNERS
    return table
