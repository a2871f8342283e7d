"""Document of a fitted learner in a model file: parameters, columns, classes, committee and stored attributes."""

from __future__ import annotations

from inspect import signature
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags

from committee.data.table_schema import TableSchema
from committee.data.typed_json import NUMERIC, decode, encode, field
from committee.files.documents import Document, Header, Tensors, read_sorted_classes
from committee.files.kinds import COMMITTEES, check_learner, learner_class
from committee.files.store import Storable
from committee.learners.base.parameters import fitted, hint, with_parameters

if TYPE_CHECKING:
    from committee.vote.committee import Committee, RegressionCommittee

    # scikit-learn's bases have no types, and below a base of type Any mypy accepts any argument
    class BaseEstimator:
        """The typed members of `sklearn.base.BaseEstimator`; all others are Any."""

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def __sklearn_tags__(self) -> Tags: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __getattr__(self, name: str) -> Any: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class RegressorMixin:
        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float: ...

    class CallbackSupportMixin: ...

    class MetaEstimatorMixin: ...

else:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.base import ClassifierMixin as ClassifierMixin
    from sklearn.base import MetaEstimatorMixin as MetaEstimatorMixin
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin


@with_parameters
class StoredLearner(Storable, BaseEstimator):
    first_parameters: ClassVar[tuple[str, ...]] = ()
    """Keyword parameters that come before other keywords in the signature."""
    stored_attributes: ClassVar[tuple[str, ...]] = ()
    voter_kinds: ClassVar[tuple[str, ...] | None] = ("forest",)
    """Kinds of voters (`committee.files.kinds.VOTERS`) that a file of the learner may have; None: any."""
    trained_parameters: ClassVar[tuple[str, ...]] = ()
    """Parameters that are trained models, which the file of a fitted learner does not have."""

    n_features_in_: int = fitted()
    classes_: NDArray[Any] = fitted()
    table_: TableSchema = fitted("Columns of the training table: names, kinds and categories.", "TableSchema")
    named_columns_: dict[str, str] = fitted(
        """Names of the columns of `X` that ``fit`` took, by its arguments. Predictions ignore these columns, and
        ``score`` of a data frame takes `y` from its column if none is given. Absent if ``fit`` took none.""",
        "dict of str",
    )
    committee_: Committee | RegressionCommittee = fitted()

    @classmethod
    def _keyword_hint(cls, method: str, keyword: str) -> str:
        if method not in ("__init__", "fit"):
            return ""
        made: Any = cls
        own, fit = (list(signature(each).parameters) for each in (made, made.fit))
        return hint(cls.__name__, method, keyword, own, fit[1:])

    def set_params(self, **params: Any) -> Self:
        """Set parameters as scikit-learn does; the error for an unknown one has a hint."""
        try:
            return super().set_params(**params)
        except ValueError as error:
            known = self.get_params()
            unknown = next((name for name in params if name.partition("__")[0] not in known), None)
            if unknown is None:
                raise
            raise ValueError(f"{error} {unknown!r}: {self._keyword_hint('__init__', unknown)}") from None

    def to_document(self, tensors: Tensors) -> Document:
        """Return the document of the fitted learner, without metadata requests and output settings.

        Raises
        ------
        TypeError
            If a voter or the value of a parameter is of a class that has no place in a file.
        sklearn.exceptions.NotFittedError
            If the learner is not fitted.
        """
        if not hasattr(self, "committee_"):
            raise NotFittedError(f"This {type(self).__name__} is not fitted yet; call fit before it is saved.")
        model = self._for_file()
        classes = None if isinstance(model, RegressorMixin) else model.classes_
        names = getattr(model, "feature_names_in_", None)
        header = Header(model.n_features_in_, names, classes, getattr(model, "table_", None))
        votes = model.committee_.votes_to_document(tensors)
        return {
            **describe_unfitted(model, left_out=model.trained_parameters),
            **header.to_document(),
            **model._named_columns(),
            "link": votes["link"],
            "voters": votes["voters"],
            "attributes": describe_attributes(model.stored_values(), tensors.part("attributes")),
            **votes,
        }

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Read a document of `to_document`, checking every value.

        Raises
        ------
        ValueError
            If the document or an array is invalid.
        """
        model: Any = rebuild_unfitted(document, tensors.depth)
        model._validate_params()
        regresses = isinstance(model, RegressorMixin)
        header = Header.from_document(document, None if regresses else read_sorted_classes)
        model.n_features_in_, model.table_ = header.n_features, header.table
        if header.classes is not None:
            model.classes_ = header.classes
        if header.names is not None:
            model.feature_names_in_ = header.names
        model._read_named_columns(document)
        committee = resolve_name(COMMITTEES["RegressionCommittee" if regresses else "Committee"])
        model.committee_ = committee.votes_from_document(document, tensors, header)
        model._check_voters(document["voters"]["kind"])
        model._read_attributes(document, tensors)
        model._from_file()
        rebuilt: Self = model
        return rebuilt

    def _named_columns(self) -> Document:
        return {"named_columns": self.named_columns_} if hasattr(self, "named_columns_") else {}

    def _read_named_columns(self, document: Document) -> None:
        if "named_columns" not in document:
            return
        named = field(document, "named_columns", dict)
        if not all(isinstance(each, str) for each in (*named, *named.values())):
            raise ValueError("named_columns must hold texts alone")
        self.named_columns_ = named

    def _read_attributes(self, document: Document, tensors: Tensors) -> None:
        own = tensors.part("attributes")
        for name, value in field(document, "attributes", dict).items():
            if name not in self.stored_attributes:
                raise ValueError(f"{type(self).__name__} stores no attribute {name!r}")
            setattr(self, name, own.take(name) if value == {"tensor": True} else decode(value))

    def _check_voters(self, kind: str) -> None:
        constant = kind == "forest" and not isinstance(self, RegressorMixin) and len(self.classes_) == 1
        if self.voter_kinds is not None and kind not in self.voter_kinds and not constant:
            raise ValueError(
                f"voters are of kind {kind!r}; a {type(self).__name__} has {' or '.join(map(repr, self.voter_kinds))}"
            )
        if self.table_ is None:
            raise ValueError("the table is null, and the learner reads rows by it")

    def stored_values(self) -> dict[str, Any]:
        """Fitted attributes beyond the committee that a file has, by name, as far as there are any."""
        return {name: getattr(self, name) for name in self.stored_attributes if hasattr(self, name)}

    def _for_file(self) -> Self:
        """Learner whose attributes and parameters are written."""
        return self

    def _from_file(self) -> None:
        """Check a learner that was read, and undo `_for_file`."""


def describe_attributes(values: dict[str, Any], tensors: Tensors) -> Document:
    attributes: Document = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and value.dtype.name in NUMERIC:
            tensors.put(**{name: value})
            attributes[name] = {"tensor": True}
        else:
            attributes[name] = encode(value, name)
    return attributes


# -- parameters -----------------------------------------------------------------------------------------------


def describe_unfitted(learner: Any, left_out: tuple[str, ...] = ()) -> Document:
    check_learner(learner)
    if trained := set(learner.trained_parameters).difference(left_out):
        raise TypeError(
            f"a parameter is a {type(learner).__name__} whose {min(trained)} is a trained model, which a model file "
            "does not hold. Use skops.io.dump or joblib.dump for this model."
        )
    params = learner.get_params(deep=False)
    described = {key: _describe_parameter(key, value) for key, value in params.items() if key not in left_out}
    return {"class": type(learner).__name__, "params": described}


def _describe_parameter(name: str, value: Any) -> Any:
    if isinstance(value, BaseEstimator):
        return {"learner": describe_unfitted(value)}
    if not hasattr(value, "gradient_hessian"):
        return encode(value, name)
    from committee.objectives.losses import LOSSES

    if type(value) not in LOSSES.values():
        raise TypeError(
            f"{name} is a {type(value).__module__}.{type(value).__qualname__}, and a model file holds only committee's "
            f"own losses ({', '.join(LOSSES)}). Use skops.io.dump or joblib.dump for this model."
        )
    return {"loss": value.to_json()}


def rebuild_unfitted(document: Document, depth: int) -> Any:
    name = field(document, "class", str)
    kind = learner_class(name, depth)
    known = set(kind._get_param_names()).difference(kind.trained_parameters)  # read off a signature, which is slow
    params: dict[str, Any] = {}
    for key, value in field(document, "params", dict).items():
        if key not in known:
            raise ValueError(f"{name} has no parameter {key!r}")
        params[key] = _rebuild_parameter(value, depth)
    return kind(**dict.fromkeys(kind.trained_parameters), **params)


def _rebuild_parameter(value: Any, depth: int) -> Any:
    if isinstance(value, dict) and value.keys() == {"learner"}:
        return rebuild_unfitted(field(value, "learner", dict), depth + 1)
    if isinstance(value, dict) and value.keys() == {"loss"}:
        from committee.objectives.losses import from_json

        return from_json(field(value, "loss", dict))
    return decode(value)
