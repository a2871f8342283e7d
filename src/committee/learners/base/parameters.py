"""Parameters of a learner, each declared by one line of its class body, and hints for unknown ones.

    @with_parameters
    class Shrunk(BaseClassifier):
        \"""Summary.\"""

        n_estimators: int = shared.n_estimators(100)
        _: KW_ONLY
        shrinkage: float = parameter(0.1, "Factor of every step.", POSITIVE)

The decorator derives from these lines and those of the bases what scikit-learn requires of an estimator: an
``__init__`` that only assigns, ``_parameter_constraints``, and the docstring's section "Parameters".
"""

from __future__ import annotations

import inspect
import re
import sys
import textwrap
from collections.abc import Collection
from dataclasses import KW_ONLY, MISSING, dataclass, field, make_dataclass, replace
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, dataclass_transform, get_args, get_origin

from sklearn.utils._param_validation import Interval, RealNotInt, StrOptions

from committee.data.text import named_call, suggest_names

Learner = TypeVar("Learner", bound=type)
T = TypeVar("T")

COUNT = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0.0, None, closed="left")
POSITIVE = Interval(Real, 0.0, None, closed="neither")
FRACTION = Interval(Real, 0.0, 1.0, closed="neither")
SHARE = Interval(Real, 0.0, 1.0, closed="right")
SHARE_NOT_COUNT = Interval(RealNotInt, 0.0, 1.0, closed="right")

_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
_RAISES = """sklearn.utils._param_validation.InvalidParameterError
    At `fit`, naming the parameter, its value and its range."""


class NumberInterval(Interval):  # type: ignore[misc]  # scikit-learn has no types
    def is_satisfied_by(self, val: Any) -> bool:
        return not isinstance(val, bool) and bool(super().is_satisfied_by(val))


def _without_booleans(constraint: Any) -> Any:
    if constraint is Real:
        return NumberInterval(Real, None, None, closed="both")
    if type(constraint) is not Interval:
        return constraint
    return NumberInterval(constraint.type, constraint.left, constraint.right, closed=constraint.closed)


@dataclass(frozen=True)
class Parameter:
    default: Any
    text: str
    constraints: tuple[Any, ...]
    type_words: str | None
    after: str | None
    annotation: Any = None
    keyword_only: bool = False

    @property
    def scikit_constraint(self) -> list[Any] | str:
        if self.constraints == ("no_validation",):
            return "no_validation"
        options, others = _members(self.annotation)
        named = any(isinstance(each, StrOptions) for each in self.constraints)
        known: list[Any] = [StrOptions(set(options))] if options and not named else []
        known += ["boolean"] if bool in others else []
        known += [None] if NoneType in others and None not in self.constraints else []
        return [*map(_without_booleans, self.constraints), *known]

    def entry(self, name: str) -> str:
        head = f"{name} : {self.type_words or _type_words(self.annotation)}"
        if self.default is not MISSING:
            head += f", default={_literal(self.default)}"
        return docstring_entry(head, self.text)


@dataclass(frozen=True)
class Attribute:
    text: str
    type_words: str

    def entry(self, name: str) -> str:
        return docstring_entry(f"{name} : {self.type_words}", self.text)


def parameter(default: T, text: str, *constraints: Any, type_words: str | None = None, after: str | None = None) -> T:
    """Declare a parameter with constraints of scikit-learn, or ``"no_validation"``, after the keyword `after`."""
    # for type checkers the line's right side is a value of the parameter; `with_parameters` takes it away
    return cast(T, Parameter(default, " ".join(text.split()), constraints, type_words, after))


def required(text: str, *constraints: Any, type_words: str | None = None) -> Any:
    return parameter(MISSING, text, *constraints, type_words=type_words)


def fitted(text: str = "", type_words: str = "", *, init: Literal[False] = False) -> Any:
    """Declare an attribute that `fit` sets; `init` marks it for type checkers as no parameter."""
    return Attribute(" ".join(text.split()), type_words)


@dataclass_transform(eq_default=False, field_specifiers=(required, fitted))
def with_parameters(learner: Learner) -> Learner:
    """Derive ``__init__``, constraints and docstring of a class from its declarations and the inherited ones."""
    made: Any = learner
    own, made.declared_attributes = _declared(learner)
    parameters = _in_order(learner, own)
    made.declared_parameters = parameters
    made._parameter_constraints = {name: each.scikit_constraint for name, each in parameters.items()}
    for name, constraint in made._parameter_constraints.items():
        if not constraint:
            raise TypeError(f"{learner.__name__}.{name} has no constraint; give one, or 'no_validation'.")
    # of a dataclass; learners are none, as libraries such as Dask read a dataclass by its fields alone
    fields = [
        (name, each.annotation, field(default=each.default, kw_only=each.keyword_only))
        for name, each in parameters.items()
    ]
    init: Any = vars(make_dataclass(learner.__name__, fields, eq=False, repr=False, match_args=False))["__init__"]
    init.__module__, init.__qualname__ = learner.__module__, f"{learner.__qualname__}.__init__"
    made.__init__ = named_call(init)
    if made.__doc__ is not None:
        made.__doc__ = _documented(made.__doc__, parameters, _inherited(learner, "declared_attributes"))
    return learner


def _in_order(learner: type, own: dict[str, Parameter]) -> dict[str, Parameter]:
    # positional parameters in the order of type checkers: those of the bases, then its own. Of keyword-only ones its
    # own come first, as they are the most specific. A parameter declared again stays in its place.
    inherited: dict[str, Parameter] = _inherited(learner, "declared_parameters")
    parameters = inherited | own
    positional = [name for name, each in parameters.items() if not each.keyword_only]
    new = [name for name, each in own.items() if each.keyword_only and name not in inherited]
    names = [name for name in new if own[name].after is None]
    names += [name for name in inherited if parameters[name].keyword_only and name not in names]
    for name in new:
        after = own[name].after
        if after in names:
            names.insert(names.index(after) + 1, name)
        elif after is not None:
            raise TypeError(f"{learner.__name__}.{name} cannot follow {after!r}: there is no such parameter.")
    first: tuple[str, ...] = getattr(learner, "first_parameters", ())
    names.sort(key=lambda name: first.index(name) if name in first else len(first))
    return {name: parameters[name] for name in positional + names}


def _inherited(learner: type, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in learner.__mro__:
        found |= {name: each for name, each in vars(base).get(kind, {}).items() if name not in found}
    return found


def _declared(learner: type) -> tuple[dict[str, Parameter], dict[str, Attribute]]:
    # declarations are removed from the class, so that it has no attribute that only models have
    parameters: dict[str, Parameter] = {}
    attributes: dict[str, Attribute] = {}
    keyword_only = False
    module = sys.modules.get(learner.__module__)  # code that is run from a string has none
    names = {} if module is None else vars(module)
    for name, annotation in inspect.get_annotations(learner).items():
        value = vars(learner).get(name)
        keyword_only |= annotation in (KW_ONLY, "KW_ONLY")
        if isinstance(value, Parameter):
            known = eval(annotation, names) if isinstance(annotation, str) else annotation
            parameters[name] = replace(value, annotation=known, keyword_only=keyword_only)
            delattr(learner, name)
        elif isinstance(value, Attribute):
            attributes |= {name: value} if value.text else {}
            delattr(learner, name)
    return parameters, attributes


# --- the docstring ----------------------------------------------------------------------------------------------------


def _documented(doc: str, parameters: dict[str, Parameter], attributes: dict[str, Attribute]) -> str:
    summary, *parts = _SECTION.split(inspect.cleandoc(doc))
    written = dict(zip(parts[::2], parts[1::2], strict=True))
    described = written.pop("Attributes", "")
    missing = [
        each.entry(name)
        for name, each in attributes.items()
        if not re.search(rf"^(\w+, )*{name}\b", described, re.MULTILINE)
    ]
    sections = {
        "Parameters": "\n".join(each.entry(name) for name, each in parameters.items()),
        "Attributes": "\n".join([described.strip(), *missing]),
        "Raises": _RAISES if parameters else "",
        **written,
    }
    return "\n\n".join(
        [summary.strip(), *(f"{title}\n{'-' * len(title)}\n{text.strip()}" for title, text in sections.items() if text)]
    )


def docstring_entry(head: str, text: str) -> str:
    return "\n    ".join([head, *textwrap.wrap(text, 112, break_on_hyphens=False, break_long_words=False)])


def _members(annotation: Any) -> tuple[list[str], list[Any]]:
    options: list[str] = []
    others: list[Any] = []
    for member in get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,):
        if get_origin(member) is Literal:
            options += get_args(member)
        else:
            others.append(member)
    return options, others


def _type_words(annotation: Any) -> str:
    # as numpydoc has it: ``int or None``, ``{"a", "b"}``
    options, others = _members(annotation)
    words = [inspect.formatannotation(other) for other in others if other is not NoneType]
    quoted = [_literal(option) for option in options]
    words += quoted if words or not quoted else ["{" + ", ".join(quoted) + "}"]
    words += ["None"] if NoneType in others else []
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return repr(value).replace("e-0", "e-")  # 1e-6, as one would type it


# --- unknown parameters -----------------------------------------------------------------------------------------------


PEERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("n_iter", "max_iter", "iterations", "num_iterations"), ("n_estimators",)),
    **dict.fromkeys(("num_boost_round", "num_round", "nrounds", "num_trees", "n_trees"), ("n_estimators",)),
    **dict.fromkeys(("eta", "shrinkage_rate"), ("learning_rate",)),
    **dict.fromkeys(("num_leaves", "max_leaves", "num_leaf"), ("max_leaf_nodes",)),
    "depth": ("max_depth",),
    "grow_policy": ("growth",),
    **dict.fromkeys(("min_child_samples", "min_data_in_leaf"), ("min_samples_leaf",)),
    "min_samples_split": ("min_samples_leaf",),
    "min_weight_fraction_leaf": ("min_weight_leaf",),
    **dict.fromkeys(("min_child_weight", "min_sum_hessian_in_leaf"), ("min_hessian_leaf", "min_weight_leaf")),
    **dict.fromkeys(("reg_lambda", "lambda_l2", "l2_leaf_reg", "l2_regularization", "linear_lambda"), ("leaf_l2",)),
    **dict.fromkeys(("reg_alpha", "lambda_l1"), ("leaf_l1",)),
    **dict.fromkeys(("gamma", "min_split_loss", "min_split_gain", "min_gain_to_split"), ("leaf_l0",)),
    "ccp_alpha": ("min_impurity_decrease",),
    **dict.fromkeys(("bagging_fraction", "subsample", "sample_fraction"), ("subsample", "max_samples")),
    **dict.fromkeys(("colsample_bytree", "feature_fraction", "rsm"), ("max_features_tree", "max_features")),
    **dict.fromkeys(("colsample_bynode", "feature_fraction_bynode", "colsample_bylevel", "mtry"), ("max_features",)),
    **dict.fromkeys(("max_bin", "border_count", "n_bins"), ("max_bins",)),
    **dict.fromkeys(("objective", "loss_function"), ("loss",)),
    **dict.fromkeys(("alpha", "quantile_alpha"), ("quantile",)),
    **dict.fromkeys(("monotone_constraints", "monotonic_cst"), ("monotonic_constraints",)),
    "interaction_cst": ("interaction_constraints",),
    **dict.fromkeys(("cat_features", "categorical_feature"), ("categorical_features",)),
    **dict.fromkeys(("enable_categorical", "feature_types"), ("categorical_features",)),
    **dict.fromkeys(("scale_pos_weight", "is_unbalance", "auto_class_weights", "class_weights"), ("class_weight",)),
    **dict.fromkeys(("early_stopping_rounds", "early_stopping_round", "od_wait"), ("n_iter_no_change",)),
    "min_delta": ("tol",),
    "use_best_model": ("early_stopping",),
    "validation_split": ("validation_fraction",),
    **dict.fromkeys(("eval_metric", "metric", "custom_metric"), ("scoring",)),
    **dict.fromkeys(("seed", "random_seed"), ("random_state",)),
    **dict.fromkeys(("nthread", "num_threads", "thread_count"), ("n_jobs",)),
    **dict.fromkeys(("base_estimator", "estimator"), ("voter", "estimator")),
    "linear_tree": ("leaf",),
    "multi_strategy": ("tree",),
    **dict.fromkeys(("init_model", "xgb_model"), ("warm_start",)),
    **dict.fromkeys(("eval_set", "X_valid"), ("X_val",)),
    "y_valid": ("y_val",),
    **dict.fromkeys(("eval_sample_weight", "sample_weight_eval_set"), ("sample_weight_val",)),
    **dict.fromkeys(("weight", "weights"), ("sample_weight",)),
    **dict.fromkeys(("init_score", "base_margin", "baseline", "exposure"), ("offset",)),
    **dict.fromkeys(("time_budget", "max_runtime_secs", "time_left_for_this_task"), ("time_limit",)),
    **dict.fromkeys(("presets", "preset"), ("effort",)),
}
"""Names here of a parameter of another library."""

NOTES = {
    "eval_set": "with its targets as y_val",
    "gamma": "half of XGBoost's gamma, with l0_counts='leaves'",
    "min_split_loss": "half of XGBoost's, with l0_counts='leaves'",
    **dict.fromkeys(("min_split_gain", "min_gain_to_split"), "half of LightGBM's, with l0_counts='leaves'"),
    "min_samples_split": "which limits leaves",
    "ccp_alpha": "or committee.prune after the fit",
    "scale_pos_weight": "such as {0: 1, 1: s}",
    **dict.fromkeys(("early_stopping_rounds", "early_stopping_round", "od_wait"), "with early_stopping=True"),
    "exposure": "the logarithm of the exposure",
    "linear_tree": "as leaf='linear'",
    **dict.fromkeys(("init_model", "xgb_model"), "which continues the model's own committee"),
}

OFFSETS = {"offset", "offset_val", *(name for name, ours in PEERS.items() if ours == ("offset",))}

PRINTING = {"verbose", "verbosity", "silent", "verbose_eval", "log_level"}


def hint(learner: str, method: str, keyword: str, own: Collection[str], fit: Collection[str]) -> str:
    here, there = (fit, own) if method == "fit" else (own, fit)
    other = f"{learner}()" if method == "fit" else "fit()"
    if keyword in there:
        return f"it is a parameter of {other}"
    if keyword in PRINTING:
        return "a fit prints nothing; set_callbacks(sklearn.callback.ProgressBar()) shows the progress of most"
    if method == "fit" and keyword in OFFSETS and "offset" not in fit:
        if learner.endswith("Regressor"):
            rates = "for counts over exposures fit y / exposure with sample_weight=exposure"
            return f"{rates}, or use GradientBoostingRegressor, which takes offsets"
        return "use GradientBoostingClassifier, which takes offsets"
    for name in PEERS.get(keyword, ()):
        if name in here or name in there:
            note = f" ({NOTES[keyword]})" if keyword in NOTES else ""
            return f"here it is {name}{note}" + (f", a parameter of {other}" if name not in here else "")
    return suggest_names(keyword, sorted(here))
