"""Tables of what a model file may name, and the look-up of the class behind a name.

A class that files hold says itself how it is written and read: ``to_document(tensors)`` puts its arrays into `Tensors`
and returns a JSON object, and the class method ``from_document(document, tensors)`` undoes that, trusting no value and
raising ``ValueError`` for what the first could not have written. Its module is imported when a file first names it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pkgutil import resolve_name
from typing import Any

from committee.data.typed_json import field
from committee.files.tensors import Document, Tensors

VOTERS = {
    "forest": "committee.voters.forest:Forest",
    "shared_forest": "committee.voters.shared_forest:SharedForest",
    "rounds": "committee.voters.rounds:Rounds",
    "model_trees": "committee.voters.model_forest:ModelForest",
    "linear_scores": "committee.voters.linear_scores:LinearScores",
    "linear_leaves": "committee.voters.linear_leaves:LinearLeaves",
    "committees": "committee.voters.committees:BoostedCommittees",
    "estimators": "committee.voters.estimators:EstimatorVoters",
    "signed": "committee.voters.signed:SignedVoters",
    "regressors": "committee.voters.regressors:RegressorVoters",
    "regressor_rounds": "committee.voters.regressor_rounds:RegressorRounds",
    "members": "committee.vote.members:MemberCommittees",
    "graph": "committee.voters.path_majority:PathMajority",  # reads graphs with and without a majority of their paths
}
"""Kinds of voters. Their classes also have ``check_columns(table)``, which refuses columns that they cannot use."""

GRAPH_VOTERS = {
    "soft_stumps": "committee.voters.soft_stumps:SoftStumps",
    "oracles": "committee.voters.oracles:OracleVoters",
}
"""Kinds of voters at the nodes of a graph."""

COMMITTEES = {
    "Committee": "committee.vote.committee:Committee",
    "RegressionCommittee": "committee.vote.regression:RegressionCommittee",
}
"""Models without a learner. The learners are those of `committee.LEARNERS`."""

MAX_DEPTH = 8
"""Committees of committees of ... : deeper nesting is taken for an attack on the stack."""


# -- parts of a model -----------------------------------------------------------------------------------------


def describe_part(part: object, kinds: Mapping[str, str], tensors: Tensors) -> Document:
    """Write a part of a model down; its kind must be in the table `kinds`.

    Its class has a ``to_document`` of its own: that of a base class does not count, as it would forget what the
    subclass adds.

    Raises
    ------
    TypeError
        If it is of no such kind, or holds something that has no place in a file.
    """
    write = vars(type(part)).get("to_document")
    document: Document = {} if write is None else write(part, tensors)
    if document.get("kind") not in kinds:
        raise TypeError(foreign(part))
    return document


def rebuild_part(document: Document, kinds: Mapping[str, str], tensors: Tensors, what: str) -> Any:
    """Make what `describe_part` wrote; errors call it `what`.

    Raises
    ------
    ValueError
        Saying what is wrong with the document or an array.
    """
    kind = field(document, "kind", str)
    if kind not in kinds:
        raise ValueError(f"{what} are of kind {kind!r}; known are {', '.join(map(repr, kinds))}")
    return resolve_name(kinds[kind]).from_document(document, tensors)


# -- learners and committees ----------------------------------------------------------------------------------


def foreign(thing: object) -> str:
    """Say why something has no place in a file, and what to do instead."""
    kind = type(thing)
    return (
        f"{kind.__module__}.{kind.__qualname__} cannot be saved: a model file holds only committee's own "
        f"classes ({', '.join(sorted(_learners()))}), so that loading it never runs anyone's code. "
        "Use skops.io.dump or joblib.dump for this model."
    )


def learner_class(name: str, depth: int) -> type[Any]:
    """The learner of that name.

    Raises
    ------
    ValueError
        If `committee.LEARNERS` has none, or it is inside of too many others.
    """
    if depth > MAX_DEPTH:
        raise ValueError(f"learners are nested more than {MAX_DEPTH} deep")
    learners = _learners()
    if name not in learners:
        raise ValueError(f"class is {name!r}; known are {', '.join(sorted(learners))}")
    found: type[Any] = resolve_name(f"{learners[name]}:{name}")
    return found


def check_learner(thing: object) -> None:
    """Refuse, with ``TypeError``, everything but the library's learners themselves."""
    name = type(thing).__name__
    if name not in _learners() or learner_class(name, 0) is not type(thing):
        raise TypeError(foreign(thing))


def describe_learners(learners: Iterable[Any], tensors: Tensors) -> list[Document]:
    """Write fitted learners down, each with arrays under its number; undone by `rebuild_learners`."""
    documents = []
    for number, learner in enumerate(learners):
        check_learner(learner)
        documents.append(learner.to_document(tensors.member(number)))
    return documents


def rebuild_learners(documents: list[Any], tensors: Tensors) -> list[Any]:
    """Make the learners that `describe_learners` wrote.

    Raises
    ------
    ValueError
        Saying what is wrong with the documents or an array.
    """
    learners = []
    for number, document in enumerate(documents):
        member = tensors.member(number)
        if type(document) is not dict:
            raise ValueError(f"{tensors.prefix}{number} is no object")
        learners.append(learner_class(field(document, "class", str), member.depth).from_document(document, member))
    return learners


def describe_model(model: Any, tensors: Tensors) -> Document:
    """Write a fitted learner or a committee down.

    Raises
    ------
    TypeError
        If the class of the model, of a voter or of a parameter's value has no place in a file.
    sklearn.exceptions.NotFittedError
        If the learner is not fitted.
    """
    name = type(model).__name__
    if name not in COMMITTEES or resolve_name(COMMITTEES[name]) is not type(model):
        check_learner(model)
    document: Document = model.to_document(tensors)
    return document


def rebuild_model(document: Document, tensors: Tensors) -> Any:
    """Make the learner or committee that `describe_model` wrote.

    Raises
    ------
    ValueError
        Saying what is wrong with the document or an array.
    """
    name = field(document, "class", str)
    kind = resolve_name(COMMITTEES[name]) if name in COMMITTEES else learner_class(name, tensors.depth)
    model = kind.from_document(document, tensors)
    if tensors.arrays:
        raise ValueError(f"the array {sorted(tensors.arrays)[0]!r} belongs to nothing")
    return model


def _learners() -> dict[str, str]:
    """The table of learners stands in the package's own face, which is looked up by name as everything above is."""
    table: dict[str, str] = import_module("committee").LEARNERS
    return table
