"""A fitted learner as a JSON document and named arrays, and back again with every value distrusted.

The document is data only: the one name in it that stands for code is the learner's class, which is looked up
in `committee.LEARNERS`. `rebuild` raises `ValueError` for anything that `describe` could not have written.
"""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_regressor
from sklearn.utils.validation import check_is_fitted

import committee
from committee.data.typed_json import NUMERIC, decode, decode_array, encode, encode_array, field
from committee.files.voters import (
    Arrays,
    Document,
    check_fit,
    count,
    describe_voters,
    foreign,
    rebuild_classes,
    rebuild_voters,
    take,
)

if TYPE_CHECKING:
    from committee.data.frames import TableSchema
    from committee.vote.committee import Committee
    from committee.vote.regression import RegressionCommittee

MAX_DEPTH = 8
"""Committees of committees of ... : deeper nesting is taken for an attack on the stack."""


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
    _check_kind(estimator)
    check_is_fitted(estimator)
    estimator = estimator._for_file()
    document = _describe_unfitted(estimator, left_out=estimator._trained_parameters)
    committee_: Committee | RegressionCommittee = estimator.committee_
    names = getattr(estimator, "feature_names_in_", None)
    table: TableSchema | None = getattr(estimator, "table_", None)
    arrays[prefix + "weights"] = np.asarray(committee_.weights, dtype=np.float64)
    classes = {} if is_regressor(estimator) else {"classes": encode_array(np.asarray(estimator.classes_), "classes_")}
    document |= {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else encode_array(np.asarray(names), "feature_names_in_"),
        **classes,
        "table": None if table is None else table.to_json(),
        "link": committee_.link.to_json(),
        "voters": describe_voters(committee_.voters, estimator, describe, arrays, prefix + "voters."),
        "attributes": _describe_attributes(estimator, arrays, prefix + "attributes."),
    }
    if committee_.intercept is not None:
        document["intercept"] = True
        arrays[prefix + "intercept"] = committee_.intercept
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


def _check_kind(estimator: BaseEstimator) -> None:
    name = type(estimator).__name__
    if name not in committee.LEARNERS or committee.learner(name) is not type(estimator):
        raise TypeError(foreign(estimator))


def _describe_unfitted(estimator: BaseEstimator, left_out: tuple[str, ...] = ()) -> Document:
    _check_kind(estimator)
    params = estimator.get_params(deep=False)
    if trained := [name for name in estimator._trained_parameters if name not in left_out]:
        raise TypeError(
            f"a parameter is a {type(estimator).__name__} whose {trained[0]} is a trained model, which a model file "
            "does not hold. Use skops.io.dump or joblib.dump for this model."
        )
    described = {key: _describe_parameter(key, value) for key, value in params.items() if key not in left_out}
    return {"class": type(estimator).__name__, "params": described}


def _describe_parameter(name: str, value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return {"learner": _describe_unfitted(value)}
    if not hasattr(value, "gradient_hessian"):
        return encode(value, name)
    from committee.objectives.losses import LOSSES

    if type(value) not in LOSSES.values():
        raise TypeError(
            f"{name} is a {type(value).__module__}.{type(value).__qualname__}, and a model file holds only committee's "
            f"own losses ({', '.join(LOSSES)}). Use skops.io.dump or joblib.dump for this model."
        )
    return {"loss": value.to_json()}


def _rebuild_unfitted(document: Document, depth: int) -> BaseEstimator:
    if depth > MAX_DEPTH:
        raise ValueError(f"learners are nested more than {MAX_DEPTH} deep")
    name = field(document, "class", str)
    if name not in committee.LEARNERS:
        raise ValueError(f"class is {name!r}; known are {', '.join(sorted(committee.LEARNERS))}")
    learner = committee.learner(name)
    params: dict[str, Any] = {}
    for key, value in field(document, "params", dict).items():
        if key not in learner._get_param_names() or key in learner._trained_parameters:
            raise ValueError(f"{name} has no parameter {key!r}")
        params[key] = _rebuild_parameter(value, depth)
    return learner(**dict.fromkeys(learner._trained_parameters), **params)


def _rebuild_parameter(value: Any, depth: int) -> Any:
    if isinstance(value, dict) and value.keys() == {"learner"}:
        return _rebuild_unfitted(field(value, "learner", dict), depth + 1)
    if isinstance(value, dict) and value.keys() == {"loss"}:
        from committee.objectives.losses import from_json

        return from_json(field(value, "loss", dict))
    return decode(value)


# -- the fitted part ----------------------------------------------------------------------------------------


def _rebuild_fitted(document: Document, arrays: Arrays, prefix: str, depth: int) -> BaseEstimator:
    estimator = _rebuild_unfitted(document, depth)
    estimator._validate_params()
    estimator.n_features_in_ = count(document, "n_features")
    if not is_regressor(estimator):
        estimator.classes_ = rebuild_classes(field(document, "classes", dict))
    if field(document, "feature_names", dict, None) is not None:
        estimator.feature_names_in_ = _rebuild_names(document["feature_names"], estimator.n_features_in_)
    estimator.table_ = _rebuild_table(document, estimator)
    estimator.committee_ = _rebuild_committee(document, estimator, arrays, prefix, depth)
    for name, value in _rebuild_attributes(estimator, document, arrays, prefix + "attributes.").items():
        setattr(estimator, name, value)
    estimator._from_file()
    return estimator


def _rebuild_table(document: Document, estimator: BaseEstimator) -> "TableSchema | None":
    """The columns, which must be as many and of the names that the estimator has."""
    from committee.data.frames import TableSchema

    if field(document, "table", dict, None) is None:
        return None
    table = TableSchema.from_json(document["table"])
    if table.n_features != estimator.n_features_in_:
        raise ValueError(f"the table has {table.n_features} columns; n_features is {estimator.n_features_in_}")
    given = getattr(estimator, "feature_names_in_", None)
    if table.names != (None if given is None else tuple(given)):
        raise ValueError("feature_names are not the names of the table's columns")
    return table


def _rebuild_committee(
    document: Document, estimator: BaseEstimator, arrays: Arrays, prefix: str, depth: int
) -> "Committee | RegressionCommittee":
    from committee.vote.committee import Committee
    from committee.vote.links.mean import from_json as mean_link_from_json
    from committee.vote.links.probability import from_json as link_from_json
    from committee.vote.regression import RegressionCommittee

    member = partial(_rebuild_fitted, depth=depth + 1)
    voters = rebuild_voters(field(document, "voters", dict), member, arrays, prefix + "voters.")
    classes = getattr(estimator, "classes_", None)
    check_fit(voters, estimator.n_features_in_, None if classes is None else len(classes), estimator.table_)
    weights = _numbers(arrays, prefix + "weights", len(voters), "one for each voter")
    link, table, intercept = field(document, "link", dict), estimator.table_, None
    if "intercept" in document:
        if field(document, "intercept", bool) is not True:
            raise ValueError("'intercept' is false; it must be true or absent")
        intercept = _numbers(arrays, prefix + "intercept", voters.n_outputs, "one for each score")
    if classes is None:
        return RegressionCommittee(voters, weights, mean_link_from_json(link), table, intercept)
    return Committee(voters, weights, classes, link_from_json(link), table, intercept)


def _numbers(arrays: Arrays, name: str, n: int, what: str) -> NDArray[np.float64]:
    numbers = take(arrays, name)
    if numbers.dtype != np.float64 or numbers.shape != (n,) or not np.isfinite(numbers).all():
        raise ValueError(f"{name} are not {n} finite float64 numbers, {what}")
    return numbers


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
        attributes[name] = take(arrays, prefix + name) if value == {"tensor": True} else decode(value)
    return attributes
