"""A committee's voters as JSON and named arrays, and back again with every value distrusted.

The voters' part of `committee.files.learner`, one pair of functions per kind of voters. Voters that are learners
themselves are written and read by the functions that the caller hands in.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor

import committee
from committee.data.typed_json import decode_array, encode_array, field
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.soundness import MAX_FEATURES

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.voters.committees import BoostedCommittees
    from committee.voters.estimators import EstimatorVoters
    from committee.voters.model_forest import ModelForest
    from committee.voters.path_majority import PathMajority
    from committee.voters.signed import SignedVoters
    from committee.voters.vote_graph import VoteGraph

    StoredVoters: TypeAlias = (
        Forest | Rounds | EstimatorVoters | SignedVoters | ModelForest | BoostedCommittees | VoteGraph | PathMajority
    )

Document: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, NDArray[Any]]
DescribeMember: TypeAlias = Callable[[BaseEstimator, Arrays, str], Document]
"""Writes a learner down, its arrays under the given prefix."""
RebuildMember: TypeAlias = Callable[[Document, Arrays, str], BaseEstimator]
"""Undoes that."""

_FOREST_ARRAYS = (
    "offset",
    "feature",
    "threshold",
    "left",
    "missing_left",
    "category_offset",
    "category_bits",
    "gain",
    "weight",
    "count",
)
_MODEL_ARRAYS = {
    "": ("model", "intercept", "coefficient"),
    "design.": ("source", "category", "fill"),
    "record.": ("mass", "centre", "risk_fall"),
}
"""Arrays of model trees, beside those of their forest."""


# -- writing ------------------------------------------------------------------------------------------------


def describe_voters(
    voters: object, owner: BaseEstimator, describe_member: DescribeMember, arrays: Arrays, prefix: str
) -> Document:
    """Write voters down.

    Parameters
    ----------
    voters : Voters
        Of one of the kinds that a file can hold.
    owner : estimator
        The learner they belong to, for the error.
    describe_member : callable
        What writes a voter that is a learner.
    arrays : dict of str to array
        Receives the arrays, their names starting with `prefix`.
    prefix : str
        What tells these voters' arrays from others.

    Returns
    -------
    dict
        JSON-able.

    Raises
    ------
    TypeError
        If the voters, or learners among them, have no place in a file.

    Examples
    --------
    ``describe_voters(model.committee_.voters, model, describe, arrays, "voters.")`` with `describe` of
    `committee.files.learner`.
    """
    from committee.voters.committees import BoostedCommittees
    from committee.voters.estimators import EstimatorVoters
    from committee.voters.linear_scores import LinearScores
    from committee.voters.model_forest import ModelForest
    from committee.voters.path_majority import PathMajority
    from committee.voters.signed import SignedVoters
    from committee.voters.vote_graph import VoteGraph

    if isinstance(voters, Forest):
        return _describe_forest(voters, arrays, prefix)
    if isinstance(voters, Rounds):
        trees = _describe_forest(voters.forest, arrays, prefix + "trees.")
        return {"kind": "rounds", "n_outputs": int(voters.n_outputs), "trees": trees}
    if isinstance(voters, ModelForest) and type(voters) in (ModelForest, LinearScores):
        return _describe_model_trees(voters, arrays, prefix)
    if isinstance(voters, BoostedCommittees):
        arrays |= {prefix + "alpha": voters.alpha, prefix + "start": voters.start}
        members = _describe_model_trees(voters.members, arrays, prefix + "members.")
        return {"kind": "committees", "soft": bool(voters.soft), "members": members}
    if isinstance(voters, SignedVoters):
        arrays[prefix + "output"] = voters.output.astype(np.int64)
        members = describe_voters(voters.voters, owner, describe_member, arrays, prefix + "members.")
        return {"kind": "signed", "n_outputs": int(voters.n_outputs), "members": members}
    if isinstance(voters, VoteGraph | PathMajority):
        from committee.files.graph import describe_graph

        return describe_graph(voters, describe_member, arrays, prefix)
    if isinstance(voters, EstimatorVoters) and voters.features is None:
        return {
            "kind": "estimators",
            "soft": bool(voters.soft),
            "as_array": bool(voters.as_array),
            "classes": encode_array(np.asarray(voters.classes), "classes"),
            "members": [
                describe_member(member, arrays, f"{prefix}{number}.") for number, member in enumerate(voters.estimators)
            ],
        }
    raise TypeError(f"The voters of this {type(owner).__name__}: {foreign(voters)}")


def _describe_forest(forest: Forest, arrays: Arrays, prefix: str) -> Document:
    vote = "label" if forest.label is not None else "value"
    arrays |= {prefix + name: getattr(forest, name) for name in (*_FOREST_ARRAYS, vote)}
    return {
        "kind": "forest",
        "n_features": int(forest.n_features),
        "n_classes": int(forest.n_classes),
        "vote": vote,
    }


def _describe_model_trees(voters: "ModelForest", arrays: Arrays, prefix: str) -> Document:
    from committee.voters.linear_scores import LinearScores

    parts = {"": voters, "design.": voters.design, "record.": voters.record}
    for part, names in _MODEL_ARRAYS.items():
        if parts[part] is not None:
            arrays |= {f"{prefix}{part}{name}": getattr(parts[part], name) for name in names}
    scores = {"cap": float(voters.cap)} if isinstance(voters, LinearScores) else {}
    return {
        "kind": "linear_scores" if scores else "model_trees",
        "trees": _describe_forest(voters.forest, arrays, prefix + "trees."),
        "link": voters.link,
        "soft": bool(voters.soft),
        "trees_per_voter": int(voters.trees_per_voter),
        "record": voters.record is not None,
        **scores,
    }


def foreign(estimator: object) -> str:
    """Say why something has no place in a file, and what to do instead."""
    kind = type(estimator)
    return (
        f"{kind.__module__}.{kind.__qualname__} cannot be saved: a model file holds only committee's own "
        f"classes ({', '.join(sorted(committee.LEARNERS))}), so that loading it never runs anyone's code. "
        "Use skops.io.dump or joblib.dump for this model."
    )


# -- reading ------------------------------------------------------------------------------------------------


def rebuild_voters(document: Document, rebuild_member: RebuildMember, arrays: Arrays, prefix: str) -> "StoredVoters":
    """Make voters of what `describe_voters` wrote.

    Parameters
    ----------
    document : dict
        As read from JSON.
    rebuild_member : callable
        What reads a voter that is a learner.
    arrays : dict of str to array
        Those of these voters are taken out.
    prefix : str
        What their names start with.

    Returns
    -------
    Voters
        Every value in them is checked.

    Raises
    ------
    ValueError
        Saying what is wrong with the document or an array.

    Examples
    --------
    See `describe_voters`.
    """
    kind = field(document, "kind", str)
    if kind == "forest":
        return _rebuild_forest(document, arrays, prefix)
    if kind == "rounds":
        return _rebuild_rounds(document, arrays, prefix)
    if kind in ("model_trees", "linear_scores"):
        return _rebuild_model_trees(document, arrays, prefix)
    if kind == "committees":
        return _rebuild_committees(document, arrays, prefix)
    if kind == "estimators":
        return _rebuild_estimators(document, rebuild_member, arrays, prefix)
    if kind == "signed":
        return _rebuild_signed(document, rebuild_member, arrays, prefix)
    if kind == "graph":
        from committee.files.graph import rebuild_graph

        graph: StoredVoters = rebuild_graph(document, rebuild_member, partial(_take_of, arrays), arrays, prefix)
        return graph
    known = "'forest', 'rounds', 'model_trees', 'linear_scores', 'committees', 'estimators', 'signed' and 'graph'"
    raise ValueError(f"voters are of kind {kind!r}; known are {known}")


def _rebuild_estimators(
    document: Document, rebuild_member: RebuildMember, arrays: Arrays, prefix: str
) -> "EstimatorVoters":
    from committee.voters.estimators import EstimatorVoters

    classes = rebuild_classes(field(document, "classes", dict))
    members = []
    for number, member in enumerate(field(document, "members", list)):
        if type(member) is not dict:
            raise ValueError(f"{prefix}{number} is no object")
        members.append(rebuild_member(member, arrays, f"{prefix}{number}."))
        if is_regressor(members[-1]):
            raise ValueError(f"{prefix}{number} is a regressor, which votes for no class")
        if not set(members[-1].classes_.tolist()) <= set(classes.tolist()):
            raise ValueError(f"{prefix}{number} knows classes that the committee does not")
    soft, as_array = field(document, "soft", bool), field(document, "as_array", bool)
    return EstimatorVoters(members, classes, soft=soft, as_array=as_array)


def _rebuild_signed(document: Document, rebuild_member: RebuildMember, arrays: Arrays, prefix: str) -> "SignedVoters":
    from committee.voters.signed import SignedVoters

    members = field(document, "members", dict)
    if field(members, "kind", str) != "estimators":
        raise ValueError("the members of signed voters must be classifiers")
    output = take(arrays, prefix + "output")
    if output.dtype != np.int64 or output.ndim != 1:
        raise ValueError(f"{prefix}output is {output.dtype} of {output.ndim} dimensions; it must be int64 of one")
    voters = _rebuild_estimators(members, rebuild_member, arrays, prefix + "members.")
    return SignedVoters(voters, output, field(document, "n_outputs", int))


def _rebuild_model_trees(document: Document, arrays: Arrays, prefix: str) -> "ModelForest":
    from committee.data.design import Design
    from committee.voters.linear_scores import LinearScores
    from committee.voters.model_forest import ModelForest
    from committee.voters.model_soundness import check_model_forest
    from committee.voters.training_record import TrainingRecord

    trees = field(document, "trees", dict)
    if field(trees, "kind", str) != "forest" or field(trees, "vote", str) != "label":
        raise ValueError("the trees of model trees must be a forest of labels")
    forest = _rebuild_forest(trees, arrays, prefix + "trees.")
    recorded = field(document, "record", bool)
    taken = {
        part: {name: take(arrays, f"{prefix}{part}{name}") for name in names}
        for part, names in _MODEL_ARRAYS.items()
        if part != "record." or recorded
    }
    common: dict[str, Any] = {
        "forest": forest,
        **taken[""],
        "design": Design(**taken["design."]),
        "link": field(document, "link", str),
        "soft": field(document, "soft", bool),
        "trees_per_voter": field(document, "trees_per_voter", int),
        "record": TrainingRecord(**taken["record."]) if recorded else None,
    }
    plain = document["kind"] == "model_trees"
    voters = ModelForest(**common) if plain else LinearScores(**common, cap=field(document, "cap", float))
    check_model_forest(voters)
    return voters


def _rebuild_committees(document: Document, arrays: Arrays, prefix: str) -> "BoostedCommittees":
    from committee.voters.committees import BoostedCommittees
    from committee.voters.model_soundness import check_committees

    described = field(document, "members", dict)
    if field(described, "kind", str) != "model_trees":
        raise ValueError(f"members are of kind {described['kind']!r}; committees have 'model_trees'")
    members = _rebuild_model_trees(described, arrays, prefix + "members.")
    alpha, start = take(arrays, prefix + "alpha"), take(arrays, prefix + "start")
    voters = BoostedCommittees(members, alpha, start, field(document, "soft", bool))
    check_committees(voters)
    return voters


def _rebuild_rounds(document: Document, arrays: Arrays, prefix: str) -> Rounds:
    trees = field(document, "trees", dict)
    if field(trees, "kind", str) != "forest" or field(trees, "vote", str) != "value":
        raise ValueError("the trees of rounds must be a forest of values")
    rounds = Rounds(_rebuild_forest(trees, arrays, prefix + "trees."), field(document, "n_outputs", int))
    rounds.check()
    return rounds


def _rebuild_forest(document: Document, arrays: Arrays, prefix: str) -> Forest:
    vote = field(document, "vote", str)
    if vote not in ("label", "value"):
        raise ValueError(f"vote is {vote!r}; it must be 'label' or 'value'")
    taken: dict[str, Any] = {"label": None, "value": None}
    taken |= {name: take(arrays, prefix + name) for name in (*_FOREST_ARRAYS, vote)}
    forest = Forest(
        n_features=count(document, "n_features"),
        n_classes=count(document, "n_classes"),
        **taken,
    )
    forest.check()
    if not len(forest):
        raise ValueError("there are no voters")
    return forest


# -- checking -----------------------------------------------------------------------------------------------


def check_fit(voters: "StoredVoters", n_features: int, n_classes: int | None, table: "TableSchema | None") -> None:
    """Refuse voters that are not for these columns and classes, or use a column in a way that its type forbids.

    Parameters
    ----------
    voters : Voters
        As `rebuild_voters` makes them.
    n_features : int
        Width of the table.
    n_classes : int or None
        Number of classes; None for the voters of a regressor.
    table : TableSchema or None
        The columns.

    Raises
    ------
    ValueError
        Saying what does not fit.

    Examples
    --------
    ``check_fit(voters, 4, 3, model.table_)`` for a classifier of three classes.
    """
    from committee.voters.estimators import EstimatorVoters
    from committee.voters.path_majority import PathMajority
    from committee.voters.signed import SignedVoters
    from committee.voters.vote_graph import VoteGraph

    if n_classes is not None and voters.n_classes != n_classes:
        raise ValueError(f"the voters are for {voters.n_classes} classes; there are {n_classes}")
    if isinstance(voters, SignedVoters):
        voters = voters.voters
    if isinstance(voters, VoteGraph | PathMajority):
        from committee.files.graph import check_stumps
        from committee.files.graph import widths as graph_widths

        widths = graph_widths(voters)
    elif isinstance(voters, EstimatorVoters):
        widths = [member.n_features_in_ for member in voters.estimators]
    else:
        widths = [voters.n_features]
    if any(width != n_features for width in widths):
        raise ValueError(f"the voters are for {widths[0]} columns; n_features is {n_features}")
    if isinstance(voters, VoteGraph | PathMajority):
        check_stumps(voters, table)
        return
    if isinstance(voters, EstimatorVoters):
        return
    if isinstance(voters, (Forest, Rounds)):
        if table is not None:
            _check_splits(voters.forest if isinstance(voters, Rounds) else voters, table)
        return
    from committee.voters.committees import BoostedCommittees
    from committee.voters.model_soundness import check_design

    if table is None:
        raise ValueError("the table is null, and linear models need to know their columns")
    trees = voters.members if isinstance(voters, BoostedCommittees) else voters
    check_design(trees.design, table)
    _check_splits(trees.forest, table)


def _check_splits(forest: Forest, table: "TableSchema") -> None:
    """Columns of numbers are split at a threshold, columns of categories by bits for no more than there are."""
    split = forest.feature >= 0
    feature, words = forest.feature[split], np.diff(forest.category_offset)[split]
    most = -(-table.n_categories.astype(np.int64) // 32)
    bad = ((words > 0) != table.categorical[feature]) | (words > most[feature])
    if bad.any():
        raise ValueError(f"a split on {table.column(int(feature[np.argmax(bad)]))} does not suit that column's type")


def count(document: Document, name: str) -> int:
    """A number of columns or classes: at least one, and no more than a table can have."""
    number: int = field(document, name, int)
    if not 1 <= number <= MAX_FEATURES:
        raise ValueError(f"{name} is {number}; it must be within 1 and {MAX_FEATURES}")
    return number


def rebuild_classes(document: Document) -> NDArray[Any]:
    """Classes as training makes them: some, of one type, finite, sorted and unique."""
    classes = decode_array(document)
    if not len(classes) or len({type(label) for label in classes.tolist()}) > 1:
        raise ValueError("classes are none, or of several types")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("classes hold a number that is not finite")
    # also what makes them unique
    if not np.all(classes[:-1] < classes[1:]):
        raise ValueError("classes are not sorted and unique")
    return classes


def _take_of(arrays: Arrays, name: str, of: Any, ndim: int) -> NDArray[Any]:
    """An array of that type and as many dimensions."""
    array = take(arrays, name)
    if array.dtype != of or array.ndim != ndim:
        raise ValueError(f"{name} is {array.dtype} of {array.ndim} dimensions; it must be {np.dtype(of)} of {ndim}")
    return array


def take(arrays: Arrays, name: str) -> NDArray[Any]:
    """An array out of the file; what is left in the end belongs to nothing."""
    if name not in arrays:
        raise ValueError(f"the array {name!r} is absent")
    return arrays.pop(name)
