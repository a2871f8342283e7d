"""Input that is refused: errors with column, value and remedy."""

import re
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils._param_validation import InvalidParameterError

from committee import (
    AbstainingStump,
    AdaBoostClassifier,
    ConformalClassifier,
    GradientBoostingClassifier,
    LeafReweighter,
    MarginReweighter,
    ProbitModelTreeClassifier,
    SBPMTClassifier,
    SubaggingClassifier,
    TableReader,
    TreeRegressor,
    TreeVoter,
    quadboost_path,
    scan,
)
from committee.learners.base.predictors import BaseClassifier
from tests import subjects
from tests.learners.base.test_capabilities import SUBJECTS, words

LEARNERS = [
    AdaBoostClassifier(3),
    AdaBoostClassifier(3, vote="confidence"),
    AdaBoostClassifier(3, voter=TreeVoter(max_depth=1)),
    SubaggingClassifier(n_estimators=3, random_state=0),
    SubaggingClassifier(AdaBoostClassifier(2), 3, random_state=0),
    TreeVoter(),
    AbstainingStump(),
    ProbitModelTreeClassifier(5, min_samples_leaf=5),
    SBPMTClassifier(3, 2, 5, min_samples_leaf=5, random_state=0),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=words)

N = 40
RNG = np.random.default_rng(0)
X: NDArray[np.float64] = RNG.normal(size=(N, 3))
Y = (X[:, 0] > 0).astype(int)
FRAME = pd.DataFrame(X, columns=["age", "income", "height"])


def with_cell(value: float, row: int = 7, column: int = 1) -> NDArray[np.float64]:
    changed = X.copy()
    changed[row, column] = value
    return changed


def named(array: Any) -> pd.DataFrame:
    return pd.DataFrame(array, columns=FRAME.columns)


def refuses(call: Callable[[], Any], message: str, kind: type[Exception] = ValueError) -> None:
    with pytest.raises(kind, match=message):
        call()


# --- tables -------------------------------------------------------------------------------------------------

BAD_TABLES: dict[str, tuple[Any, type[Exception], str]] = {
    "infinity": (with_cell(np.inf), ValueError, "column 'x1' holds infinity at row 7; replace it or mark it missing"),
    "minus infinity": (named(with_cell(-np.inf)), ValueError, "column 'income' holds infinity at row 7; replace it"),
    "float32 that overflows": (with_cell(np.inf).astype(np.float32), ValueError, "column 'x1' holds infinity"),
    "text": (np.array([["1.5", "a"]] * N), ValueError, "column 'x0' holds '1.5' at row 0, and X is an array; make it"),
    "array of dates": (np.zeros((N, 2), "M8[D]"), ValueError, r"X is an array of datetime64\[D\]; make numbers of"),
    "complex": (X.astype(complex), ValueError, "Complex data not supported: X is an array of complex128"),
    "lists": (pl.DataFrame({"a": [[1.0, 2.0]] * N}), ValueError, "column 'a' holds List.*spread it over columns"),
    "masked": (np.ma.masked_greater(X, 1), TypeError, r"X is a masked array.*; pass X\.astype\(float\)\.filled"),
    "one dimension": (X[:, 0], ValueError, r"Expected 2D array, got 1D array instead; Reshape your data: X.reshape"),
    "three dimensions": (X[:, :, None], ValueError, "Expected 2D array, got 3D array"),
    "no rows": (X[:0], ValueError, r"0 sample\(s\).*minimum of 1 is required"),
    "no rows, frame": (FRAME[:0], ValueError, "X has 0 rows; at least one is needed"),
    "no columns": (X[:, :0], ValueError, r"0 feature\(s\)"),
    "no columns, frame": (FRAME[[]], ValueError, r"at least one column, got 0 feature\(s\)"),
    "names partly text": (pd.DataFrame(X, columns=["a", 1, 2]), TypeError, "all input features have string names"),
    "none": (None, TypeError, "X is None; give a table or array of rows"),
    "ragged": ([[1.0, 2.0], [3.0]] * (N // 2), ValueError, "inhomogeneous"),
}


@each_learner
@pytest.mark.parametrize("case", BAD_TABLES)
def test_bad_tables_at_fit(learner, case):
    table, kind, message = BAD_TABLES[case]
    y = Y[: len(table)] if case.startswith("no rows") else Y
    refuses(lambda: clone(learner).fit(table, y), message, kind)


@pytest.fixture(scope="module")
def fitted() -> list[tuple[BaseClassifier, BaseClassifier]]:
    """Each learner after training on the array, and on the frame."""
    return [(clone(learner).fit(X, Y), clone(learner).fit(FRAME, Y)) for learner in LEARNERS]


BAD_ROWS: dict[str, tuple[Any, type[Exception], str]] = {
    "infinity": (with_cell(np.inf), ValueError, "column 'x1' holds infinity at row 7; replace it or mark it missing"),
    "text": (np.array([["a", "b", "c"]]), ValueError, "column 'x0' holds 'a' at row 0, and X is an array; make it"),
    "masked": (np.ma.masked_greater(X, 1), TypeError, "X is a masked array, whose mask would be lost"),
    "none": (None, TypeError, "X is None; give a table"),
    "one row": (X[0], ValueError, r"Expected 2D array, got 1D array instead; Reshape.*X.reshape\(1, -1\) for one row"),
    "no rows": (X[:0], ValueError, r"0 sample\(s\)"),
    "too few columns": (X[:, :2].copy(), ValueError, r"X has 2 features, but \w+ is expecting 3 features"),
    "too many columns": (np.hstack([X, X]), ValueError, r"X has 6 features, but \w+ is expecting 3 features"),
}
BAD_FRAMES: dict[str, tuple[Any, type[Exception], str]] = {
    "infinity": (named(with_cell(np.inf)), ValueError, "column 'income' holds infinity at row 7"),
    "text": (named(X).assign(age="old"), ValueError, r"column 'age' must hold numbers but holds text \('old'\)"),
    "a column is missing": (FRAME[["age", "height"]], ValueError, "yet now missing:\n- income"),
    "a column too many": (FRAME.assign(more=1.0), ValueError, "unseen at fit time:\n- more"),
    "other names": (
        FRAME.rename(columns={"age": "Age"}),
        ValueError,
        "unseen at fit time:\n- Age.*now missing:\n- age",
    ),
    "another order": (FRAME[["height", "age", "income"]], ValueError, "must be in the same order as they were in fit"),
    "no rows": (FRAME[:0], ValueError, "X has 0 rows; at least one is needed"),
    "no names": (X, UserWarning, "X does not have valid feature names, but .* was fitted with feature names"),
}


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "staged_predict"])
@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_at_predict(fitted, method, case):
    table, kind, message = BAD_ROWS[case]
    for model, _ in fitted:
        refuses(lambda model=model: getattr(model, method)(table), message, kind)


@pytest.mark.parametrize("case", BAD_FRAMES)
def test_bad_frames_at_predict(fitted, case):
    table, kind, message = BAD_FRAMES[case]
    for _, model in fitted:
        refuses(lambda model=model: model.predict_proba(table), f"(?s){message}", kind)


def test_names_that_training_did_not_have_are_pointed_out(fitted):
    message = "X has feature names, but .* without feature names"
    for model, _ in fitted:
        refuses(lambda model=model: model.predict(FRAME), message, UserWarning)


def test_categories_at_predict():
    frame = pl.DataFrame({"town": ["Oslo", "Bern"] * 20, "size": X[:, 0]})
    y = [0, 1] * 20
    for learner in LEARNERS:
        model = clone(learner).fit(frame, y)
        numbers = frame.with_columns(town=pl.lit(3.5))
        refuses(lambda model=model, table=numbers: model.predict(table), "column 'town' must hold text categories")
        assert_array_equal(
            model.predict_proba(frame.with_columns(town=pl.lit("Rome"))),
            model.predict_proba(frame.with_columns(town=pl.lit(None, dtype=pl.String))),
        )


@each_learner
def test_not_fitted(learner):
    for method in ("predict", "predict_proba", "decision_function", "staged_predict_proba"):
        with pytest.raises(NotFittedError, match=r"is not fitted yet\. Call 'fit'"):
            getattr(clone(learner), method)(X)
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        clone(learner).save("nowhere")


# --- labels -------------------------------------------------------------------------------------------------

BAD_LABELS: dict[str, tuple[Any, str]] = {
    "none": (None, "requires y to be passed, but the target y is None; give each row's class"),
    "too few": (Y[:5], r"inconsistent numbers of samples: \[40, 5\]"),
    "two columns": (
        np.column_stack([Y, Y]),
        "y has 2 columns, but classes are one label a row; .*MultiOutputClassifier",
    ),
    "NaN": (np.r_[Y[1:], np.nan], "Input y contains NaN: row 39 has no label; leave such rows out"),
    "None": (["a", None] * (N // 2), r"Input y contains NaN: row 1 has no label \(None\); leave such rows out"),
    "pandas' NA": (pd.array(["a", "b", *["a"] * 37, pd.NA], dtype="string"), "row 39 has no label .*leave such rows"),
    "polars' null": (pl.Series([None, "a"] * (N // 2)), r"row 0 has no label \(None\)"),
    "null whole number": (pl.Series([None, 1, 2, 1] * (N // 4)), "row 0 has no label"),
    "infinity": (np.r_[Y[1:], np.inf], "Input y contains infinity"),
    "mixed": (
        np.array(["a", 1] * (N // 2), dtype=object),
        r"y holds text mixed with int; make all labels text, y.astype",
    ),
    "objects": (np.array(Y, dtype=object), r"y holds int as Python objects; make all labels text, y.astype\(str\), or"),
    "numbers to predict": (X[:, 0], "Unknown label type: continuous"),
}


@each_learner
@pytest.mark.parametrize("case", BAD_LABELS)
@pytest.mark.parametrize("table", [X, FRAME], ids=["array", "frame"])
def test_bad_labels(learner, case, table):
    labels, message = BAD_LABELS[case]
    refuses(lambda: clone(learner).fit(table, labels), message)


def test_too_many_classes_are_taken_for_numbers():
    message = "y holds 40000 classes; at most 32767 are possible. If y is numeric, use a regressor."
    refuses(lambda: TreeVoter().fit(np.zeros((40_000, 1)), np.arange(40_000)), re.escape(message))


# --- weights ------------------------------------------------------------------------------------------------

ONES = np.ones(N)
BAD_WEIGHTS: dict[str, tuple[Any, str]] = {
    "all zero": (0 * ONES, "sample_weight is zero for every row; at least one row must count"),
    "negative": (
        np.r_[ONES[2:], -0.5, 1],
        r"sample_weight\[38\] is -0.5; weights must not be negative \(0 leaves a row",
    ),
    "NaN": (np.r_[ONES[1:], np.nan], "sample_weight contains NaN"),
    "infinite": (np.r_[ONES[1:], np.inf], "sample_weight contains infinity"),
    "too few": (ONES[1:], r"sample_weight has shape \(39,\); 40 rows need one weight each"),
    "two columns": (np.ones((N, 2)), r"sample_weight has shape \(40, 2\); 40 rows need one weight each"),
    "complex": ([1j] * N, "sample_weight holds complex numbers; give real ones"),
    "text": (["a"] * N, "sample_weight .*holds 'a' in row 0; give a number for each row"),
    "None": ([1.0, None] * (N // 2), "sample_weight .*None in row 1; give a number for each row"),
    "of 400 digits": ([10**400] * N, "sample_weight holds a number of more than 300 digits; scale the weights"),
}


@each_learner
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(learner, case):
    weights, message = BAD_WEIGHTS[case]
    refuses(lambda: clone(learner).fit(X, Y, weights), message)
    if case not in ("two columns", "None"):  # pandas makes NaN of None
        refuses(lambda: clone(learner).fit(FRAME, Y, pd.Series(list(weights))), message)


@each_learner
def test_odd_but_good_weights(learner):
    model = clone(learner).fit(X, Y)
    for weights in (2, 2.0, ONES.astype(int), ONES.tolist(), ONES > 0, ONES.astype(np.float32), pl.Series(ONES)):
        assert (clone(learner).fit(X, Y, weights).predict(X) == model.predict(X)).mean() > 0.9
    for weight in (1e-320, 1e307):
        assert_array_equal(clone(learner).fit(X, Y, np.full(N, weight)).predict_proba(X), model.predict_proba(X))


def test_another_order_than_that_of_the_frame_is_warned_of_at_the_users_line():
    order = FRAME.index[::-1]
    y, weights = (pd.Series(values, index=order) for values in (Y, ONES))
    ada, boosted = AdaBoostClassifier(3).fit(FRAME, Y), GradientBoostingClassifier(n_estimators=2)
    model, regressor = SubaggingClassifier(n_estimators=3).fit(FRAME, Y), TreeRegressor().fit(FRAME, Y)
    by_position = clone(ada)
    calls: list[tuple[str, Callable[[], Any]]] = [
        (r"y has the index of X in another order.*pass y.loc\[X.index\]; else pass", lambda: by_position.fit(FRAME, y)),
        ("sample_weight has the index of X", lambda: clone(ada).fit(FRAME, Y, weights)),
        ("y_val has the index of X_val", lambda: boosted.fit(FRAME, Y, X_val=FRAME, y_val=y)),
        ("y has the index of X", lambda: model.score(FRAME, y)),
        ("sample_weight has the index of X", lambda: regressor.score(FRAME, Y, weights)),
        ("y has the index of X", lambda: quadboost_path(FRAME, y)),
        ("y has the index of X", lambda: ConformalClassifier(model, cv=2).fit(FRAME, y)),
        ("y has the index of X", lambda: MarginReweighter(model, on="train").fit(FRAME, y)),
        ("y has the index of X", lambda: LeafReweighter(boosted, on="train", max_nodes=3).fit(FRAME, y)),
    ]
    for message, call in calls:
        with pytest.warns(UserWarning, match=message) as warned:
            call()
        assert [each.filename for each in warned if "in another order" in str(each.message)] == [__file__]
    assert_array_equal(by_position.decision_function(FRAME), ada.decision_function(FRAME))
    for index in (FRAME.index, FRAME.index + 100):  # another index says nothing of an order
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clone(ada).fit(FRAME, pd.Series(Y, index=index))


@pytest.mark.one_in(3)
@each_learner
@pytest.mark.parametrize(
    "to_frame", [lambda frame: frame, pl.from_pandas, pa.Table.from_pandas], ids=["pd", "pl", "pa"]
)
def test_labels_and_weights_may_be_columns_of_the_frame(learner, to_frame):
    w = np.arange(N) % 3.0
    frame = to_frame(FRAME.assign(w=w, label=Y)[["w", "age", "label", "income", "height"]])
    features = to_frame(FRAME)
    plain = clone(learner).fit(features, Y, w)
    model = clone(learner).fit(frame, "label", sample_weight="w")
    assert_array_equal(model.feature_names_in_, FRAME.columns)
    assert_array_equal(model.predict_proba(features), plain.predict_proba(features))
    assert model.score(frame, "label", sample_weight="w") == plain.score(features, Y, w)
    by_name = clone(learner).fit(to_frame(FRAME.assign(w=w)), Y, sample_weight="w")
    assert_array_equal(by_name.predict_proba(features), plain.predict_proba(features))


@each_learner
def test_a_column_that_is_not_there_cannot_hold_weights(learner):
    refuses(lambda: learner.fit(FRAME, Y, "wieght"), "sample_weight names 'wieght', which is not there; did you mean")
    refuses(lambda: learner.fit(FRAME, "label"), "y names 'label', which is not there; there are 'age', 'income'")
    refuses(lambda: learner.fit(pd.DataFrame(X), "y"), "y names 'y', which is not there; there are 0, 1, 2")
    refuses(lambda: learner.fit(X, Y, "w"), "sample_weight='w' names a column, but X is a ndarray, whose columns have")
    refuses(lambda: learner.fit(X, "y"), "y='y' names a column, but X is a ndarray")


@pytest.mark.one_in(6)
@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: words(subject.model))
def test_large_whole_weights_are_warned_of_once_at_the_users_line(subject):
    X, y = subject.numbers(2, 60)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        subject.fit(X, y, np.full(60, 1000))
    assert [each.filename for each in warned if "Only their ratios" in str(each.message)] == [subjects.__file__]


def test_large_whole_weights_of_validation_fits_are_warned_of_once():
    model = GradientBoostingClassifier(n_estimators=2, class_weight="balanced")
    with pytest.warns(UserWarning, match="whole numbers with a mean of 1000. Only their ratios are used") as warned:
        model.fit(X, Y, 1000 * ONES, X_val=X, y_val=Y)
    assert [each.filename for each in warned if "Only their ratios" in str(each.message)] == [__file__]


NUMBERS_OR_DATES_AS_TEXT = [
    ([f"{value:.3f}" for value in X[:, 0]], r"40 different values are numbers \('-0\.\d+', .* and 38 more\)"),
    ([str(value) for value in range(N)], "40 different values are numbers"),
    ([*(f"{value}.5" for value in range(9)), *[None] * (N - 9)], "9 different values are numbers"),
    ([*(f"{value}.5" for value in range(N - 1)), "NULL"], "40 different values are numbers"),
    ([f"{value},5" for value in range(N)], "40 different values are numbers"),
    ([f"${value}" for value in range(N)], "40 different values are numbers"),
    ([f"2024-01-{1 + value % 28:02}" for value in range(N)], "28 different values are dates or times"),
    ([f"{1 + value % 28}.01.2024" for value in range(N)], "28 different values are dates or times"),
]


@pytest.mark.parametrize(("cells", "message"), NUMBERS_OR_DATES_AS_TEXT)
@pytest.mark.parametrize("to_frame", [pd.DataFrame, pl.from_pandas], ids=["pd", "pl"])
def test_text_of_numbers_or_dates_is_refused_with_remedies(cells, message, to_frame):
    frame = FRAME.assign(size=pd.Series(cells, dtype=object))
    parts, message = [(frame[:15], Y[:15]), (frame[15:], Y[15:])], rf"column 'size' holds text whose {message}"
    refuses(lambda: TreeVoter().fit(to_frame(frame), Y), message)
    refuses(lambda: TreeVoter().fit(scan(parts)), message + r".* as by pl\.col\('size'\)\.")
    read = TableReader(keep="all").fit_transform(to_frame(frame))
    assert read["size"].dtype in (pl.Float64, pl.Int64, pl.Datetime("us"))
    for quiet in (read, to_frame(frame.assign(size=frame["size"].astype("category")))):
        TreeVoter().fit(quiet, Y)
    for rows in ((to_frame(frame), Y), (scan(parts),)):
        TreeVoter(categorical_features=["size"]).fit(*rows)


def test_text_of_numbers_but_for_a_few_values_is_refused():
    frame = FRAME.assign(size=pd.Series([*(f"{value:.3f}" for value in X[1:, 0]), "much"], dtype=object))
    with pytest.raises(ValueError, match=r"40 different values are numbers .* except 'much', .*missing=\['much'\]"):
        TreeVoter().fit(frame, Y)
    TreeVoter().fit(TableReader().fit_transform(frame), Y)
    TreeVoter().fit(TableReader(missing=["much"]).fit_transform(frame), Y)


@pytest.mark.parametrize(
    "codes", [["1", "2", "3", "4"], ["0123", "0456"], [f"{k:05}" for k in range(40)], ["a", "1.5"]]
)
def test_codes_are_categories(codes):
    TreeVoter().fit(FRAME.assign(code=pd.Series([codes[i % len(codes)] for i in range(N)], dtype=object)), Y)


def test_a_weight_that_rounds_to_nothing_is_none():
    weights = np.r_[np.ones(N - 5), np.full(5, 1e-200)]
    model = AdaBoostClassifier(3).fit(X, Y, weights)
    assert_array_equal(model.decision_function(X), AdaBoostClassifier(3).fit(X, Y, weights > 0.5).decision_function(X))


# --- parameters ---------------------------------------------------------------------------------------------

# beyond what scikit-learn's check_param_validation tries
BAD_PARAMETERS = [
    (AdaBoostClassifier(learning_rate=1e9), r"'learning_rate' parameter.*\(0.0, 10.0\].*Got 1000000000.0 instead"),
    (AdaBoostClassifier(learning_rate=np.nan), "'learning_rate' parameter.*Got nan instead"),
    (AdaBoostClassifier(max_features=4), "max_features=4 exceeds the 3 columns; use None for all of them"),
    (
        AdaBoostClassifier(vote="abstaining", max_depth=2),
        "vote='abstaining' boosts stumps; max_depth is 2.*Set max_depth=1",
    ),
    (AdaBoostClassifier(vote="abstaining", max_leaf_nodes=9), "max_leaf_nodes is 9. Set max_depth=1"),
    (
        AdaBoostClassifier(voter=LogisticRegression(), vote="confidence"),
        "vote='confidence' needs the native trees; set voter=None, or vote='discrete'",
    ),
    (
        AdaBoostClassifier(voter=KNeighborsClassifier()),
        r"voter=KNeighborsClassifier\(\) cannot be boosted: its fit takes no sample_weight. Choose another",
    ),
    (AdaBoostClassifier(voter=LinearRegression()), r"voter=LinearRegression\(\) is not a classifier"),
    (SubaggingClassifier(LinearRegression()), r"estimator=LinearRegression\(\) is not a classifier"),
]


@pytest.mark.parametrize(("learner", "message"), BAD_PARAMETERS, ids=[message for _, message in BAD_PARAMETERS])
def test_bad_parameters(learner, message):
    refuses(lambda: clone(learner).fit(X, Y), message)
    assert not hasattr(learner, "committee_")


def test_more_categories_than_bins_of_a_voter():
    frame = pd.DataFrame({"size": X[:, 0], "id": [f"i{i % 10}" for i in range(N)]})
    few = TreeVoter(max_bins=8)
    message = "column 'id' has 10 categories, more than max_bins=8; raise max_bins, join rare categories, or drop"
    for learner in (SubaggingClassifier(few), SubaggingClassifier(AdaBoostClassifier(max_bins=8))):
        refuses(lambda learner=learner: clone(learner).fit(frame, Y), message)
    assert few.fit(frame, Y).score(frame, Y) > 0.9  # the tree itself has a number for each of them


@pytest.mark.parametrize(
    ("categorical", "message"),
    [
        (["town"], "categorical_features names 'town', which is not there; there are 'age', 'income', 'height'"),
        ([7], "categorical_features gives column 7, but X has columns 0 to 2"),
        ([True], "categorical_features is a mask of 1, but X has 3 columns"),
        ("age", "categorical_features must be 'from_dtype', None or a list, got 'age'"),
        ([0, "age"], "must be all names, all indices or a mask, got 'age' among them"),
    ],
)
def test_categorical_features(categorical, message):
    for learner in LEARNERS:
        model = clone(learner).set_params(categorical_features=categorical)
        refuses(lambda model=model: model.fit(FRAME, Y), message)
    refuses(lambda: TreeVoter(categorical_features=["age"]).fit(X, Y), "the columns of X have none; give indices")
    text = FRAME.assign(town="Oslo")
    refuses(lambda: TreeVoter(categorical_features=None).fit(text, Y), "column 'town' holds text but is not among")


# --- early stopping -----------------------------------------------------------------------------------------

stopping = AdaBoostClassifier(5, early_stopping=True)
THREE = np.arange(N) % 3


@pytest.mark.parametrize(
    ("y", "held_out", "message"),
    [
        (Y, {"X_val": X}, "X_val and y_val go together; [Xy]_val is missing"),
        (Y, {"y_val": Y}, "X_val and y_val go together; [Xy]_val is missing"),
        (Y, {"X_val": X, "y_val": Y + 5}, r"y_val holds [56], which is not a class of y; its classes are \[0, 1\]"),
        (Y, {"X_val": X, "y_val": np.full(N, np.nan)}, "y_val holds nan, which is not a class of y"),
        (Y, {"X_val": X, "y_val": Y[:5]}, "inconsistent numbers of samples"),
        (
            Y,
            {"X_val": X, "y_val": Y, "sample_weight_val": ONES[1:]},
            r"sample_weight_val has shape \(39,\); 40 rows need one weight each",
        ),
        (Y, {"X_val": X[:, :2], "y_val": Y}, "X has 2 features, but AdaBoostClassifier is expecting 3"),
        (np.r_[7, Y[1:]], {}, "early_stopping needs two rows of each class.* class 7 has 1. Give X_val and y_val"),
    ],
)
def test_rows_to_hold_out(y, held_out, message):
    refuses(lambda: clone(stopping).fit(X, y, **held_out), message)


@pytest.mark.parametrize(
    ("rows", "fraction", "message"),
    [
        (12, 0.1, "validation_fraction=0.1 holds out 2 of 12 rows; .* each of the 3 classes. Change it, or give X_v"),
        (12, 0.95, "validation_fraction=0.95 holds out 12 of 12 rows"),
        (40, 0.9, "validation_fraction=0.9 leaves no row of class 9 to train on; lower it, or give X_val and y_val"),
    ],
)
def test_shares_to_hold_out(rows, fraction, message):
    y = THREE[:rows].copy()
    if rows == N:
        y[:2] = 9  # a class of two rows
    learner = AdaBoostClassifier(early_stopping=True, validation_fraction=fraction, random_state=0)
    refuses(lambda: learner.fit(X[:rows], y), message)


def test_what_is_no_error():
    """Columns that say nothing, and limits that no split can keep: a voter of one leaf."""
    y = np.arange(N) % 3 > 0
    for rows in (np.ones((N, 2)), np.full((N, 2), np.nan), pl.DataFrame({"a": ["x"] * N, "b": [None] * N})):
        for learner in LEARNERS:
            model = clone(learner).fit(rows, y)
            assert model.predict(rows).all() or isinstance(learner, AbstainingStump)
    assert TreeVoter(min_samples_leaf=30).fit(X, Y).committee_.n_nodes == 1
    far = np.full((N, 1), 1.7e308) * np.sign(X[:, :1])
    assert TreeVoter().fit(far, Y).score(far, Y) == 1.0


def test_a_plain_matrix_is_taken_as_it_is(fitted):
    """Scikit-learn's checks would take longer than the vote on one row; whatever they could refuse, they still see."""
    for model, _ in fitted:
        assert model.validate_rows(X) is X


@pytest.mark.parametrize("number", [10**400, -(10**400), Fraction(10) ** 400])
def test_numbers_that_no_float_holds_are_refused_by_column_and_row(number):
    cells = [[0.0, 1.0], [0.0, number]] * 20
    message = "column '{}' holds a number of more than 300 digits at row 1; scale it"
    refuses(lambda: TreeVoter().fit(cells, Y), message.format("x1"))
    refuses(lambda: TreeVoter().fit(np.array(cells, dtype=object), Y), message.format("x1"))
    refuses(lambda: TreeVoter().fit(X, Y).predict([[*X[0, :-1], number]]), message[:20].format(f"x{X.shape[1] - 1}"))
    if isinstance(number, int):
        refuses(lambda: TreeVoter().fit(pd.DataFrame(cells, columns=["a", "b"]), Y), message.format("b"))


@pytest.mark.parametrize("name", ["max_depth", "max_leaf_nodes", "min_samples_leaf"])
def test_limits_beyond_any_table_are_refused_by_name(name: str) -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) // 10
    with pytest.raises(InvalidParameterError, match=rf"'{name}' parameter .* 2147483647\].*Got {2**63} instead"):
        GradientBoostingClassifier(n_estimators=2, **{name: 2**63}).fit(X, y)


@each_learner
def test_dates_are_seconds(learner):
    days = FRAME.assign(age=pd.Timestamp("1970-01-01") + pd.to_timedelta(np.arange(N)[::-1], unit="D"))
    seconds = days.assign(age=86_400.0 * np.arange(N)[::-1])
    model = clone(learner).fit(days, Y)
    assert_array_equal(model.predict_proba(days), clone(learner).fit(seconds, Y).predict_proba(seconds))
    refuses(
        lambda: model.predict(seconds), "column 'age' must hold dates, as in training, but holds numbers .3369600.0."
    )
