"""A fitted learner as a JSON document and named arrays, and back again with every value distrusted.

The document is data only: the one name in it that stands for code is the learner's class, which is looked up
in `committee.LEARNERS`. `rebuild` raises `ValueError` for anything that `describe` could not have written.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import committee
from committee.typed_json import NUMERIC, decode, decode_array, encode, encode_array, field
from committee.voters.forest import Forest
from committee.voters.soundness import MAX_FEATURES

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.vote import Committee
    from committee.voters.committees import BoostedCommittees
    from committee.voters.estimators import EstimatorVoters
    from committee.voters.model_forest import ModelForest

    StoredVoters = Forest | EstimatorVoters | ModelForest | BoostedCommittees

Document = dict[str, Any]
Arrays = dict[str, NDArray[Any]]

MAX_DEPTH = 8
"""Committees of committees of ... : deeper nesting is taken for an attack on the stack."""

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


def describe(estimator: BaseEstimator, arrays: Arrays, prefix: str = "") -> Document:
    """Write a fitted learner down.

    Parameters
    ----------
    estimator : estimator of `committee.LEARNERS`
        Fitted. Metadata requests and output settings are not part of the document.
    arrays : dict of str to array
        Receives the arrays, their names starting with `prefix`.
    prefix : str, default=""
        What tells this learner's arrays from those of the committee it is a member of.

    Returns
    -------
    dict
        JSON-able.

    Raises
    ------
    TypeError
        If the class of the learner, of a voter or of a parameter's value has no place in a file.
    sklearn.exceptions.NotFittedError
        If the learner is not fitted.

    Examples
    --------
    ``arrays = {}; document = describe(model, arrays)``, undone by ``rebuild(document, arrays)``.
    """
    document = _describe_unfitted(estimator)
    check_is_fitted(estimator)
    committee_: Committee = estimator.committee_
    names = getattr(estimator, "feature_names_in_", None)
    table: TableSchema | None = getattr(estimator, "table_", None)
    arrays[prefix + "weights"] = np.asarray(committee_.weights, dtype=np.float64)
    document |= {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else encode_array(np.asarray(names), "feature_names_in_"),
        "classes": encode_array(np.asarray(estimator.classes_), "classes_"),
        "table": None if table is None else table.to_json(),
        "link": committee_.link.to_json(),
        "voters": _describe_voters(committee_.voters, estimator, arrays, prefix + "voters."),
        "attributes": _describe_attributes(estimator, arrays, prefix + "attributes."),
    }
    return document


def rebuild(document: Document, arrays: Arrays) -> BaseEstimator:
    """Make a fitted learner of what `describe` wrote.

    Parameters
    ----------
    document : dict
        As read from JSON.
    arrays : dict of str to array
        All of them must be used.

    Returns
    -------
    estimator
        It predicts bit for bit what the described one predicts.

    Raises
    ------
    ValueError
        Saying what is wrong with the document or an array.

    Examples
    --------
    See `describe`.
    """
    unused = dict(arrays)
    estimator = _rebuild_fitted(document, unused, "", 0)
    if unused:
        raise ValueError(f"the array {sorted(unused)[0]!r} belongs to nothing")
    return estimator


# -- parameters ---------------------------------------------------------------------------------------------


def _describe_unfitted(estimator: BaseEstimator) -> Document:
    name = type(estimator).__name__
    if name not in committee.LEARNERS or committee.learner(name) is not type(estimator):
        raise TypeError(_foreign(estimator))
    params = {
        key: {"learner": _describe_unfitted(value)} if isinstance(value, BaseEstimator) else encode(value, key)
        for key, value in estimator.get_params(deep=False).items()
    }
    return {"class": name, "params": params}


def _foreign(estimator: object) -> str:
    kind = type(estimator)
    return (
        f"{kind.__module__}.{kind.__qualname__} cannot be saved: a model file holds only committee's own "
        f"classes ({', '.join(sorted(committee.LEARNERS))}), so that loading it never runs anyone's code. "
        "Use skops.io.dump or joblib.dump for this model."
    )


def _rebuild_unfitted(document: Document, depth: int) -> BaseEstimator:
    if depth > MAX_DEPTH:
        raise ValueError(f"learners are nested more than {MAX_DEPTH} deep")
    name = field(document, "class", str)
    if name not in committee.LEARNERS:
        raise ValueError(f"class is {name!r}; known are {', '.join(sorted(committee.LEARNERS))}")
    learner = committee.learner(name)
    params: dict[str, Any] = {}
    for key, value in field(document, "params", dict).items():
        if key not in learner._get_param_names():
            raise ValueError(f"{name} has no parameter {key!r}")
        is_learner = isinstance(value, dict) and value.keys() == {"learner"}
        params[key] = _rebuild_unfitted(field(value, "learner", dict), depth + 1) if is_learner else decode(value)
    return learner(**params)


# -- the fitted part ----------------------------------------------------------------------------------------


def _rebuild_fitted(document: Document, arrays: Arrays, prefix: str, depth: int) -> BaseEstimator:
    from committee.data.frames import TableSchema
    from committee.links import from_json as link_from_json
    from committee.vote import Committee

    estimator = _rebuild_unfitted(document, depth)
    estimator._validate_params()
    estimator.n_features_in_ = n_features = _count(document, "n_features")
    estimator.classes_ = classes = _rebuild_classes(field(document, "classes", dict))
    if field(document, "feature_names", dict, None) is not None:
        estimator.feature_names_in_ = _rebuild_names(document["feature_names"], n_features)
    table = None
    if field(document, "table", dict, None) is not None:
        table = TableSchema.from_json(document["table"])
        if table.n_features != n_features:
            raise ValueError(f"the table has {table.n_features} columns; n_features is {n_features}")
        given = getattr(estimator, "feature_names_in_", None)
        if table.names != (None if given is None else tuple(given)):
            raise ValueError("feature_names are not the names of the table's columns")
    voters = _rebuild_voters(field(document, "voters", dict), arrays, prefix + "voters.", depth)
    _check_fit(voters, n_features, len(classes), table)
    weights = _take(arrays, prefix + "weights")
    if weights.dtype != np.float64 or weights.shape != (len(voters),) or not np.isfinite(weights).all():
        raise ValueError(f"{prefix}weights are not {len(voters)} finite float64 numbers, one for each voter")
    estimator.table_ = table
    estimator.committee_ = Committee(voters, weights, classes, link_from_json(field(document, "link", dict)), table)
    for name, value in _rebuild_attributes(estimator, document, arrays, prefix + "attributes.").items():
        setattr(estimator, name, value)
    return estimator


def _count(document: Document, name: str) -> int:
    count: int = field(document, name, int)
    if not 1 <= count <= MAX_FEATURES:
        raise ValueError(f"{name} is {count}; it must be within 1 and {MAX_FEATURES}")
    return count


def _rebuild_classes(document: Document) -> NDArray[Any]:
    classes = decode_array(document)
    if not len(classes) or len({type(label) for label in classes.tolist()}) > 1:
        raise ValueError("classes are none, or of several types")
    if classes.dtype.kind == "f" and not np.isfinite(classes).all():
        raise ValueError("classes hold a number that is not finite")
    # also what makes them unique
    if not np.all(classes[:-1] < classes[1:]):
        raise ValueError("classes are not sorted and unique")
    return classes


def _rebuild_names(document: Document, n_features: int) -> NDArray[Any]:
    names = decode_array(document)
    if names.dtype != object or not all(type(name) is str for name in names):
        raise ValueError("feature_names are not text")
    if len(names) != n_features or len(set(names)) != n_features:
        raise ValueError(f"feature_names are not {n_features} different names")
    return names


def _describe_attributes(estimator: BaseEstimator, arrays: Arrays, prefix: str) -> Document:
    attributes: Document = {}
    for name in estimator._stored_attributes:
        if not hasattr(estimator, name):
            continue  # such as an out-of-bag score that was not asked for
        value = getattr(estimator, name)
        if isinstance(value, np.ndarray) and value.dtype.name in NUMERIC:
            arrays[prefix + name] = value
            attributes[name] = {"tensor": True}
        else:
            attributes[name] = encode(value, name)
    return attributes


def _rebuild_attributes(estimator: BaseEstimator, document: Document, arrays: Arrays, prefix: str) -> Document:
    attributes: Document = {}
    for name, value in field(document, "attributes", dict).items():
        if name not in estimator._stored_attributes:
            raise ValueError(f"{type(estimator).__name__} stores no attribute {name!r}")
        attributes[name] = _take(arrays, prefix + name) if value == {"tensor": True} else decode(value)
    return attributes


# -- voters -------------------------------------------------------------------------------------------------


def _describe_voters(voters: object, owner: BaseEstimator, arrays: Arrays, prefix: str) -> Document:
    from committee.voters.committees import BoostedCommittees
    from committee.voters.estimators import EstimatorVoters
    from committee.voters.linear_scores import LinearScores
    from committee.voters.model_forest import ModelForest

    if isinstance(voters, Forest):
        return _describe_forest(voters, arrays, prefix)
    if isinstance(voters, ModelForest) and type(voters) in (ModelForest, LinearScores):
        return _describe_model_trees(voters, arrays, prefix)
    if isinstance(voters, BoostedCommittees):
        arrays |= {prefix + "alpha": voters.alpha, prefix + "start": voters.start}
        members = _describe_voters(voters.members, owner, arrays, prefix + "members.")
        return {"kind": "committees", "soft": bool(voters.soft), "members": members}
    if isinstance(voters, EstimatorVoters) and voters.features is None:
        return {
            "kind": "estimators",
            "soft": bool(voters.soft),
            "as_array": bool(voters.as_array),
            "classes": encode_array(np.asarray(voters.classes), "classes"),
            "members": [
                describe(member, arrays, f"{prefix}{number}.") for number, member in enumerate(voters.estimators)
            ],
        }
    raise TypeError(f"The voters of this {type(owner).__name__}: {_foreign(voters)}")


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


def _rebuild_voters(document: Document, arrays: Arrays, prefix: str, depth: int) -> "StoredVoters":
    kind = field(document, "kind", str)
    if kind == "forest":
        return _rebuild_forest(document, arrays, prefix)
    if kind in ("model_trees", "linear_scores"):
        return _rebuild_model_trees(document, arrays, prefix)
    if kind == "committees":
        return _rebuild_committees(document, arrays, prefix)
    if kind == "estimators":
        return _rebuild_estimators(document, arrays, prefix, depth)
    known = "'forest', 'model_trees', 'linear_scores', 'committees' and 'estimators'"
    raise ValueError(f"voters are of kind {kind!r}; known are {known}")


def _rebuild_estimators(document: Document, arrays: Arrays, prefix: str, depth: int) -> "EstimatorVoters":
    from committee.voters.estimators import EstimatorVoters

    classes = _rebuild_classes(field(document, "classes", dict))
    members = []
    for number, member in enumerate(field(document, "members", list)):
        if type(member) is not dict:
            raise ValueError(f"{prefix}{number} is no object")
        members.append(_rebuild_fitted(member, arrays, f"{prefix}{number}.", depth + 1))
        if not set(members[-1].classes_.tolist()) <= set(classes.tolist()):
            raise ValueError(f"{prefix}{number} knows classes that the committee does not")
    soft, as_array = field(document, "soft", bool), field(document, "as_array", bool)
    return EstimatorVoters(members, classes, soft=soft, as_array=as_array)


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
        part: {name: _take(arrays, f"{prefix}{part}{name}") for name in names}
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
    alpha, start = _take(arrays, prefix + "alpha"), _take(arrays, prefix + "start")
    voters = BoostedCommittees(members, alpha, start, field(document, "soft", bool))
    check_committees(voters)
    return voters


def _rebuild_forest(document: Document, arrays: Arrays, prefix: str) -> Forest:
    vote = field(document, "vote", str)
    if vote not in ("label", "value"):
        raise ValueError(f"vote is {vote!r}; it must be 'label' or 'value'")
    taken: dict[str, Any] = {"label": None, "value": None}
    taken |= {name: _take(arrays, prefix + name) for name in (*_FOREST_ARRAYS, vote)}
    forest = Forest(
        n_features=_count(document, "n_features"),
        n_classes=_count(document, "n_classes"),
        **taken,
    )
    forest.check()
    if not len(forest):
        raise ValueError("there are no voters")
    return forest


def _check_fit(voters: "StoredVoters", n_features: int, n_classes: int, table: "TableSchema | None") -> None:
    """The voters are for these columns and classes, and use each column the way its type allows."""
    from committee.voters.estimators import EstimatorVoters

    if voters.n_classes != n_classes:
        raise ValueError(f"the voters are for {voters.n_classes} classes; there are {n_classes}")
    if isinstance(voters, EstimatorVoters):
        widths = [member.n_features_in_ for member in voters.estimators]
    else:
        widths = [voters.n_features]
    if any(width != n_features for width in widths):
        raise ValueError(f"the voters are for {widths[0]} columns; n_features is {n_features}")
    if isinstance(voters, EstimatorVoters):
        return
    if isinstance(voters, Forest):
        if table is not None:
            _check_splits(voters, table)
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


def _take(arrays: Arrays, name: str) -> NDArray[Any]:
    """An array out of the file; what is left in the end belongs to nothing."""
    if name not in arrays:
        raise ValueError(f"the array {name!r} is absent")
    return arrays.pop(name)
