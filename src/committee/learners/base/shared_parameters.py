"""Declarations of parameters that learners or their `fit` share; arguments are what differs by learner."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import KW_ONLY
from numbers import Integral, Real
from typing import Any, Literal, TypeVar

from numpy.random import Generator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from committee.data.number_types import F64
from committee.learners.base.parameters import (
    COUNT,
    FRACTION,
    NOT_NEGATIVE,
    SHARE_NOT_COUNT,
    docstring_entry,
    fitted,
    parameter,
    with_parameters,
)
from committee.voters.growing import TargetCriterion

T = TypeVar("T")

BINS = """Most bins of a column. A column of at most as many distinct values is split exactly; more than 255 bins take
        two bytes a cell instead of one."""
MOST_BINS = Interval(Integral, 2, 65_535, closed="both")


def n_estimators(default: int, fewer: str) -> int:
    return parameter(default, f"Most rounds; fewer when {fewer}.", COUNT)


def learning_rate(default: float) -> float:
    text = "Factor of every step, in (0, 10]; smaller steps need more rounds."
    # beyond 10 a step may multiply weights by more than float64 holds
    return parameter(default, text, Interval(Real, 0.0, 10.0, closed="right"))


def voter() -> Any:
    return parameter(
        None,
        """A scikit-learn classifier whose ``fit`` takes ``sample_weight``, in place of the native trees; its votes are
        the classes it predicts.""",
        HasMethods(["fit", "predict"]),
        None,
        type_words="classifier or None",
    )


def program_n_estimators(end: str) -> int:
    return parameter(
        500,
        f"""Most voters that may join a program; {end} of them end without weight. A warning is given when this limit
        ends the run; `duality_gap_` then bounds what voters of the list can still gain.""",
        COUNT,
    )


MOST_ROWS = 2**31 - 1  # row numbers have 32 bits, so that no limit of a tree need be larger
ROWS = Interval(Integral, 1, MOST_ROWS, closed="both")
LEAVES = Interval(Integral, 2, MOST_ROWS, closed="both")


def max_depth(default: int | None = None, more: str = "") -> int | None:
    return parameter(default, f"Most splits between the root of a tree and a leaf. None: no limit. {more}", ROWS)


def max_leaf_nodes(more: str = "") -> int | None:
    text = f"Most leaves of a tree; the split that gains most comes first. None: no limit. {more}"
    return parameter(None, text, LEAVES)


def min_samples_leaf(default: int = 1, more: str = "") -> int:
    return parameter(default, f"Fewest training rows of a leaf; a row counts once, whatever it weighs. {more}", ROWS)


def min_weight_leaf(of: str = "total weight") -> float:
    text = f"Least share of the {of} that a leaf holds, in [0, 0.5]."
    return parameter(0.0, text, Interval(Real, 0.0, 0.5, closed="both"))


def min_impurity_decrease(
    default: float = 0.0, of: str = "mean impurity over all rows", more: str = "", classes: bool = True
) -> float:
    text = f"A split must lower the {of} by more than this."
    if not classes:
        return parameter(default, f"{text} {more}", NOT_NEGATIVE)
    text += " Below 0, such as -inf, allows splits that lower nothing, as a first step towards one that does (XOR)."
    return parameter(default, f"{text} {more}", Interval(Real, None, None, closed="both"))


def target_criterion() -> TargetCriterion:
    return parameter(
        "squared_error",
        """Error that a split lowers, about the best constants of both sides: "squared_error"; "absolute_error" about
        medians, which leaves then hold, for one target and ``max_leaf_nodes=None``; "poisson", half the Poisson
        deviance of counts and amounts y >= 0, sum w y ln(y / mean) - w (y - mean); each side then has a y above 0.""",
    )


def max_features(
    default: int | float | str | None = None, more: str = "", of: str = "node", *, auto: bool = False
) -> int | float | str | None:
    words = {"sqrt", "log2", "auto"} if auto else {"sqrt", "log2"}
    return parameter(
        default,
        f"""Features drawn anew for each {of}: their number (int), a share of them (float), their square root or
        logarithm. None: all. {more}""",
        COUNT,
        SHARE_NOT_COUNT,
        StrOptions(words),
        type_words=f'int, float, "sqrt", "log2"{", " + chr(34) + "auto" + chr(34) if auto else ""} or None',
    )


def feature_weights(of: str = "`max_features` or `max_features_tree` draw", more: str = "") -> Any:
    return parameter(
        None,
        f"""Weights of columns where {of} them: the column that is drawn next has a
        probability proportional to its weight. ``{{column: weight}}`` by name or number, with 1 for the others, or
        one number for each column; a column of weight 0 is never drawn. None: all alike. {more}""",
        "array-like",
        dict,
        None,
        type_words="dict of columns, array-like (p,) or None",
    )


def model_tree_depth(default: int | Literal["auto"]) -> int | Literal["auto"] | None:
    text = """Most splits between the root of a tree and a leaf. "auto": one more than even splits
        need to reach leaves of `min_samples_leaf` rows, but at least 6, the paper's depth. None: no limit."""
    return parameter(default, text, ROWS)


def model_tree_decrease(default: float | Literal["auto"]) -> float | Literal["auto"]:
    text = """A split must lower the mean impurity over all rows by more than this; 0 is the paper's. Below 0, such as
        -inf, allows splits that lower nothing, as a first step towards one that does (XOR). "auto": a tree is grown as
        far as its other limits allow, and keeps the splits whose leaves err no more than one score of the whole node.
        The errors are those of a third of the rows, drawn by `random_state`, on which these scores are not fitted. Then
        all rows are boosted in the remaining leaves."""
    return parameter(default, text, Interval(Real, None, None, closed="both"))


def selection(more: str = "") -> Literal["error", "likelihood"]:
    return parameter(
        "error",
        f"""Column of a step: "error", that of the least weighted squared error, or "likelihood", that of the least risk
        after the step (Schmid et al. 2013), which takes a pass over the rows for each column. {more}""",
    )


def newton_tol(run: str) -> float:
    text = f"{run} ends when a step lowers the mean risk by less than this; 0: when the risk decreases no more."
    return parameter(0.0, text, NOT_NEGATIVE)


def n_leaf_steps() -> int | Literal["cv"]:
    text = """Boosting steps B in each leaf; 100 is the paper's. "cv": for each score of each leaf, that one of 1, 2, 5,
    10, 20, 50 and 100 with the least error in five-fold cross-validation within the leaf."""
    return parameter(100, text, COUNT)


def leaf_steps() -> Literal["newton", "gradient"]:
    return parameter(
        "newton",
        """Boosting in a leaf: "newton", the paper's, a score for each class separately, or "gradient", the scores of
        all classes together by steps along the gradient of their joint likelihood; see `ProbitBoostClassifier`.
        "gradient" needs ``tree="shared"`` and ``selection="error"``.""",
    )


def leaf_link() -> Literal["probit", "logit"]:
    text = """Loss and link of the leaves: "probit" is the paper's, "logit" LogitBoost by the same steps."""
    return parameter("probit", text)


def trees_of_classes() -> Literal["shared", "per_class"]:
    return parameter(
        "shared",
        """With more than two classes: "shared", one tree whose leaves have a score for each class, or "per_class", a
        tree for each of them, as in the authors' program.""",
    )


def max_samples(default: T, more: str = "") -> T:
    return parameter(
        default, f"Rows of a draw: a share of all (float) or their number (int). {more}", COUNT, SHARE_NOT_COUNT
    )


def n_subsamples(more: str = "") -> int | Literal["all"]:
    text = f"""Number M of subsamples, each with a voter. {more} "all": complete subagging, every subsample
    of `max_samples` rows that has each class, or ``ValueError`` if they are more than 10,000 or 10^7 / n."""
    return parameter(21, text, COUNT)


def bootstrap(default: bool, more: str = "") -> bool:
    return parameter(default, f"Draw rows with replacement instead of without. {more}")


def oob_score(more: str = "") -> bool:
    text = "Score each row by the voters whose draw left it out: `oob_score_` and the attributes that go with it."
    return parameter(False, f"{text} {more}")


def n_thresholds(more: str = "") -> int:
    text = f"Most thresholds of a column, and most of its categories that have a stump. {more}"
    return parameter(10, text, Interval(Integral, 1, 65_534, closed="both"))


def thresholds(more: str = "") -> Literal["quantile", "even"]:
    text = f"""Thresholds: "quantile", with equal weight between them, or "even", at equal distances. {more}"""
    return parameter("quantile", text)


def fit_intercept() -> bool:
    text = "The score starts at an intercept, which is not penalised. False is the paper's form."
    return parameter(True, text)


def max_bins(more: str = "") -> int:
    return parameter(255, f"{BINS} {more}", MOST_BINS)


def max_bins_by_rows() -> int | Literal["auto"]:
    text = """"auto": 255; a third of the rows, but at least 40, of tables with at least as many columns as rows, where
        more bins take twice the time and gain nothing. A row of weight k counts as k."""
    return parameter("auto", f"{BINS} {text}", MOST_BINS, StrOptions({"auto"}))


def categorical_features(more: str = "") -> Any:
    return parameter(
        "from_dtype",
        f"""Categorical columns, by name, number or mask; "from_dtype": text, categorical and boolean columns
        of a data frame. None: none. In a column of more than 16 categories, or than a `max_bins` below 16, each becomes
        a number: the mean target of its rows, cross-fitted and shrunk. {more}""",
        "no_validation",
        type_words='"from_dtype", None, list or mask',
    )


def random_state(drawn: str) -> Any:
    text = f"""Seed of {drawn}. None: a seed computed from the number of rows of each class, or of all rows for numbers,
        so that fitting the same table again gives the same model; another int gives another draw. A RandomState or
        Generator is drawn from, so that each fit differs."""
    return parameter(None, text, "random_state", Generator, type_words="int, RandomState, Generator or None")


def n_jobs(at_once: str = "Threads") -> int | None:
    return parameter(
        None,
        f"""{at_once}; -1: as many as there are processors, None: one, unless the joblib backend in force sets a number.
        The result does not depend on it, bit for bit.""",
        COUNT,
        Interval(Integral, None, -1, closed="right"),
    )


def class_weight(*, of_draws: bool = False) -> Any:
    options, more = ["balanced"], ""
    if of_draws:
        options.append("balanced_subsample")
        more = '"balanced_subsample": as "balanced", and the classes have equal weight within each draw of rows too.'
    return parameter(
        None,
        f"""Factor of the weight of each row by its class: a dict of labels and numbers above 0 (1 for a class that it
        does not name), or "balanced", by which all classes have equal weight. Only the ratios of
        the factors matter. Probabilities, out-of-bag figures and held-out losses are of weighted rows.
        {more}""",
        dict,
        StrOptions(set(options)),
        None,
        type_words=", ".join(["dict", *(f'"{option}"' for option in options)]) + " or None",
    )


def early_stopping(measure: str, rounds: str) -> bool:
    return parameter(
        False,
        f"""Stop when the {measure} on held-out rows has not improved for `n_iter_no_change` rounds, and keep the
        {rounds}. Held out are `X_val`, `y_val` of `fit`, or a `validation_fraction`.""",
    )


def validation_fraction(default: float) -> float:
    return parameter(
        default,
        """Share of the rows held out when early stopping is on and no validation set is given; without `groups`
        classes keep their shares.""",
        FRACTION,
    )


def n_iter_no_change(default: int) -> int:
    return parameter(default, "Rounds without improvement that end the run.", COUNT)


HELD_OUT = "It needs held-out rows (`early_stopping`, or `X_val` and `y_val`) or `return_train_score`."


def scoring(of: str = "early stopping follows", more: str = HELD_OUT) -> Any:
    return parameter(
        None,
        f"""Score that {of} in place of the loss: a scorer's name, as in ``sklearn.metrics.get_scorer_names()``, or a
        callable ``(model, X, y, sample_weight=None)`` whose result is better the larger it is. Of several in a list the
        first is followed, and all are in `evals_result_`. {more} `X` are the scored rows, encoded; `model` predicts no
        others. Row weights include those of classes. `validation_scores_` has the scores of early stopping.""",
        str,
        callable,
        list,
        tuple,
        None,
        type_words="str, callable, list of them or None",
    )


@with_parameters
class EarlyStoppingParameters:
    _: KW_ONLY
    early_stopping: bool = early_stopping("error", "voters up to the best one")
    validation_fraction: float = validation_fraction(0.1)
    n_iter_no_change: int = n_iter_no_change(10)
    tol: float = parameter(
        0.0,
        """Least improvement of the held-out loss or score: rounds that improve it by no more than this, since the
        last one that counted, are rounds without improvement.""",
        NOT_NEGATIVE,
    )
    scoring: Any = scoring()
    return_train_score: bool = parameter(
        False, "Record the loss, or the scores, of the training rows after each round too, in `evals_result_`."
    )
    random_state: Any = random_state("the held-out rows")
    n_jobs: int | None = n_jobs()

    validation_scores_: F64 | None = fitted(
        "First score of the held-out rows after each kept round; None without `scoring` or held-out rows.",
        "float64 array or None",
    )
    evals_result_: dict[str, dict[str, list[float]]] | None = fitted(
        """Curves over all rounds, also those after the best one: for "validation", and "training" with
        `return_train_score`, the "loss" after each round, or the scores by their names. `evals_frame` has them as a
        table. None with neither held-out rows nor `return_train_score`.""",
        "dict or None",
    )
    best_iteration_: int | None = fitted(
        "Number of rounds that early stopping has kept, the last of which is the best; None if it was off.",
        "int or None",
    )


# --- fit -------------------------------------------------------------------------------------------------------------

Fit = TypeVar("Fit", bound=Callable[..., Any])

_BY_ROW = "array-like (n,) or str, default=None"

FIT_PARAMETERS = {
    "X": ("table or array-like (n, p)", "Training rows; NaN is a value of its own."),
    "y": (
        "array-like (n,) or str",
        """Class labels, or numbers to predict; ``(n, q)`` if the learner takes several targets. A text names the column
        of `X` that holds them.""",
    ),
    "sample_weight": (
        _BY_ROW,
        """Row weights, or the name of their column; 0, or less than 1e-150 of their sum, means absent. Whole numbers
        with a mean of at most 10, zeros aside, count repeated rows; of others only the ratios matter.""",
    ),
    "X_val, y_val": (
        "table and labels or numbers, default=None",
        "Held-out rows for early stopping and calibration. Without early stopping, their loss ends no fit.",
    ),
    "sample_weight_val": (
        "array-like or str, default=None",
        "Weights of the rows of `X_val`, or the name of their column there. None: 1 each. Class weights multiply them.",
    ),
    "groups": (
        _BY_ROW,
        """Groups of the training rows, such as patients, or the name of their column. Rows of a group are held out
        together: by early stopping, for calibration, and in trials of the learning rate.""",
    ),
    "offset": (
        "array-like (n,) or (n, D) or str, default=None",
        """Known part of each row's score, which the rounds add to: the logarithm of an exposure, for losses with a log
        link, or the score of another model. ``(n, D)`` if rows have D > 1 scores, as with more than two classes; a text
        names their column. The model does not keep it: give it to `predict` too, which else adds nothing.""",
    ),
    "offset_val": (
        "array-like or str, default=None",
        "Offsets of the rows of `X_val`, or the name of their column there.",
    ),
    "checkpoint": (
        "path or Checkpoint, default=None",
        "File from which the same fit resumes if it is killed; see `committee.Checkpoint`.",
    ),
}

_OUTCOME = """

Returns
-------
self

Raises
------
ValueError
    If rows or targets are invalid, parameters contradict each other or the rows, or the checkpoint is damaged or of
    another fit.

Warns
-----
UserWarning
    For example, if the `y` of a classifier holds one class only, which is then predicted everywhere{warns}."""


def with_fit_parameters(*names: str, warns: str = "", **texts: str) -> Callable[[Fit], Fit]:
    """Decorate `fit`: add these parameters to its docstring, and what it returns, raises and warns of."""

    def documented(fit: Fit) -> Fit:
        entries = (
            docstring_entry(f"{name} : {kind}", " ".join(texts.get(name, text).split()))
            for name, (kind, text) in ((name, FIT_PARAMETERS[name]) for name in names)
        )
        summary = inspect.cleandoc(fit.__doc__ or "")
        fit.__doc__ = "\n".join([f"{summary}\n\nParameters\n----------", *entries]) + _OUTCOME.format(warns=warns)
        return fit

    return documented
