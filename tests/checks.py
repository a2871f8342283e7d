"""What every learner must be able to do: one function per capability, yielded for every learner alike.

A later learner gets all of them by one line, `Subject(MyLearner(...))`, in the list of test_capabilities.py.
"""

import copy
import multiprocessing
import pickle
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

import committee
from committee import TreeVoter
from committee.data.frames import TableSchema
from committee.estimator import CommitteeClassifier
from committee.voters.forest import Forest

Array = NDArray[Any]


@dataclass(frozen=True)
class Subject:
    """A learner to check, and what it does not promise."""

    model: CommitteeClassifier
    """Its ``random_state`` is a number, if it has one."""
    integer_weights: bool = True
    """A row of weight k gives the same committee as k rows."""
    scale_free: bool = False
    """Multiplying all weights by a number changes nothing."""
    draws_columns: bool = False
    """The columns' order matters, as each node draws some of them."""
    storable: bool = True
    """All voters are the library's own."""
    tolerance: float = 1e-9
    """By how much probabilities may differ where sums are formed in another order."""

    @property
    def takes_missing(self) -> bool:
        return bool(get_tags(self.model).input_tags.allow_nan)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> CommitteeClassifier:
        return clone(self.model).set_params(**params).fit(X, y, sample_weight)


Check = Callable[[Subject], None]


def yield_checks(subject: Subject) -> Iterator[Check]:
    """The capabilities that a learner must have."""
    yield from (check_labels_of_every_type, check_predictions_agree, check_stages_end_in_the_committee, check_margins)
    yield from (check_repeated_seeds, check_global_generators_are_left_alone, check_renamed_columns)
    yield from (check_unit_weights, check_zero_weights_drop_rows, check_class_without_weight_disappears)
    yield from (check_threads, check_forked_child, check_copies, check_second_fit)
    yield from (check_inputs_are_not_changed, check_memory_layouts, check_frames_of_numbers, check_frames_of_everything)
    yield from (check_search_and_calibration, check_pipeline, check_metadata_routing)
    yield check_saved_file if subject.storable else check_file_is_refused
    if subject.integer_weights:
        yield check_integer_weights_repeat_rows
    if subject.scale_free:
        yield check_scaled_weights
    if not subject.draws_columns:
        yield check_shuffled_columns
    if subject.takes_missing:
        yield check_missing_at_fit
        yield check_missing_only_at_predict
        yield check_unseen_category_is_missing


# --- tables -------------------------------------------------------------------------------------------------


def numbers(n_classes: int = 3, n: int = 120, seed: int = 0) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """A matrix of continuous columns, and labels that lean on three of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    score = X[:, 0] + 0.7 * X[:, 1] * (X[:, 2] > 0) + 0.4 * rng.normal(size=n)
    edges = np.quantile(score, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, score)


def weights(n: int = 120, seed: int = 1) -> NDArray[np.float64]:
    return np.random.default_rng(seed).exponential(size=n)


def everything(missing: bool, n: int = 120) -> tuple[dict[str, list[Any]], NDArray[np.int64]]:
    """Columns of numbers, text and booleans, with gaps or without."""
    rng = np.random.default_rng(2)
    size, colour, old = rng.normal(size=n), rng.choice(["red", "green", "blue"], n), rng.random(n) < 0.4
    y = ((size > 0.2) | (colour == "red") ^ (old & (size < -1))).astype(np.int64)
    columns: dict[str, list[Any]] = {"size": size.tolist(), "colour": colour.tolist(), "old": old.tolist()}
    columns["count"] = rng.integers(0, 9, n).tolist()
    if missing:
        for j, name in enumerate(("size", "colour", "old")):
            columns[name] = [None if i % 7 == j else value for i, value in enumerate(columns[name])]
    return columns, y


# --- comparing ----------------------------------------------------------------------------------------------


def assert_same_parts(ours: Any, theirs: Any, name: str = "committee_") -> None:
    """Every array of two committees, and of the learners among their voters, has the same bits."""
    assert type(ours) is type(theirs), name
    if isinstance(ours, CommitteeClassifier):
        assert_same_parts(ours.committee_, theirs.committee_, name)
    elif isinstance(ours, np.ndarray):
        assert ours.dtype == theirs.dtype, name
        assert_array_equal(ours, theirs, name)
    elif isinstance(ours, TableSchema):
        assert ours.categories == theirs.categories, name  # the names may be others
    elif is_dataclass(ours):
        for field in fields(ours):
            if field.init:
                assert_same_parts(getattr(ours, field.name), getattr(theirs, field.name), f"{name}.{field.name}")
    elif isinstance(ours, list | tuple):
        assert len(ours) == len(theirs), name
        for place, pair in enumerate(zip(ours, theirs, strict=True)):
            assert_same_parts(*pair, f"{name}[{place}]")


def assert_same_bits(model: CommitteeClassifier, other: CommitteeClassifier, X: Any) -> None:
    assert_same_parts(model, other)
    assert_array_equal(model.classes_, other.classes_)
    assert_array_equal(model.decision_function(X), other.decision_function(X))
    assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def assert_same_answers(subject: Subject, model: Any, other: Any, X: Any, other_X: Any = None) -> None:
    """The same probabilities but for rounding, and the same classes wherever these are not near a tie."""
    p, q = model.predict_proba(X), other.predict_proba(X if other_X is None else other_X)
    assert_allclose(p, q, rtol=0, atol=subject.tolerance)
    runner_up, best = np.sort(p, axis=1)[:, -2:].T
    clear = best - runner_up > 2 * subject.tolerance
    assert clear.any()
    ours, theirs = model.predict(X), other.predict(X if other_X is None else other_X)
    assert_array_equal(ours[clear], theirs[clear])


# --- the vote -----------------------------------------------------------------------------------------------


def check_labels_of_every_type(subject: Subject) -> None:
    for n_classes in (2, 3):
        X, y = numbers(n_classes)
        plain = subject.fit(X, y)
        assert plain.score(X, y) > 0.5
        spellings = [np.array(["ant", "bee", "cow"]), np.array(["ant", "bee", "cow"], dtype=object)]
        spellings += [np.array([-7, 0, 300], dtype=np.int16), np.array([1.0, 2.0, 5.0])]
        spellings += [np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64)]
        for names in [*spellings, np.array([False, True])][: 6 if n_classes == 2 else 5]:
            model = subject.fit(X, names[y])
            assert_array_equal(model.classes_, names[:n_classes])
            assert model.predict(X).dtype == names.dtype
            assert_array_equal(model.predict(X), names[plain.predict(X)])
            assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
        for frame in (pl.Series(y), pd.Series(y), pa.chunked_array([y[:50], y[50:]]), y.tolist()):
            assert_array_equal(subject.fit(X, frame).predict(X), plain.predict(X))


def check_predictions_agree(subject: Subject) -> None:
    for n_classes in (2, 3):
        X, y = numbers(n_classes)
        model = subject.fit(X, y)
        for rows in (X, numbers(n_classes, seed=9)[0], X[:1]):
            p, F = model.predict_proba(rows), model.decision_function(rows)
            assert p.shape == (len(rows), n_classes)
            assert F.shape == ((len(rows),) if n_classes == 2 else p.shape)
            assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
            assert p.min() >= 0.0
            assert_array_equal(model.predict(rows), model.classes_[p.argmax(axis=1)])
            elected = (F > 0).astype(int) if n_classes == 2 else F.argmax(axis=1)
            assert_array_equal(model.predict(rows), model.classes_[elected])


def check_stages_end_in_the_committee(subject: Subject) -> None:
    X, y = numbers()
    model = subject.fit(X, y)
    scores, labels, p = (
        list(stages(X)) for stages in (model.staged_decision_function, model.staged_predict, model.staged_predict_proba)
    )
    assert len(scores) == len(labels) == len(p) == model.committee_.n_voters
    assert_allclose(scores[-1], model.decision_function(X), rtol=1e-12, atol=1e-12)
    assert_allclose(p[-1], model.predict_proba(X), rtol=1e-9, atol=1e-12)
    assert_array_equal(labels[-1], model.predict(X))
    for stage, probability in zip(labels, p, strict=True):
        assert_array_equal(stage, model.classes_[probability.argmax(axis=1)])


def check_margins(subject: Subject) -> None:
    for n_classes in (2, 3):
        X, y = numbers(n_classes)
        model = subject.fit(X, y)
        margin = model.committee_.margins(X, y)
        assert np.abs(margin).max() <= 1.0
        right = model.predict(X) == y
        assert right[margin > 0].all() and not right[margin < 0].any()
        assert model.committee_.nbytes > 0
        if isinstance(model.committee_.voters, Forest):
            assert_allclose(model.feature_importances_.sum(), 1.0)


# --- seeds, columns and weights -----------------------------------------------------------------------------


def check_repeated_seeds(subject: Subject) -> None:
    X, y = numbers()
    model = subject.fit(X, y)
    assert_same_bits(model, subject.fit(X, y), X)
    assert_same_bits(subject.fit(X[::-1], y[::-1]).fit(X, y), model, X)


def check_global_generators_are_left_alone(subject: Subject) -> None:
    X, y = numbers()
    legacy, standard = np.random.get_state(), random.getstate()  # noqa: NPY002  # what others may rely on
    subject.fit(X, y).predict_proba(X)
    assert random.getstate() == standard
    for before, after in zip(legacy, np.random.get_state(), strict=True):  # noqa: NPY002
        assert_array_equal(before, after)


def check_renamed_columns(subject: Subject) -> None:
    X, y = numbers()
    for names in (list("abcde"), list("zyxwv"), ["a", "Ä ö", "b c", "", "a.b"]):
        frame = pd.DataFrame(X, columns=names)
        model = subject.fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        assert_array_equal(model.predict_proba(frame), subject.fit(X, y).predict_proba(X))


def check_shuffled_columns(subject: Subject) -> None:
    """With random weights and leaves that stay impure no two splits are equally good."""
    X, y = numbers(n=300)
    w, order = weights(300), [3, 0, 4, 2, 1]
    model = clone(subject.model)
    if model.get_params().get("estimator", model) is None:
        model.set_params(estimator=TreeVoter())
    model.set_params(**{name: 12 for name in model.get_params() if name.endswith("min_samples_leaf")})
    assert_same_answers(subject, clone(model).fit(X, y, w), clone(model).fit(X[:, order], y, w), X, X[:, order])


def check_unit_weights(subject: Subject) -> None:
    X, y = numbers()
    assert_same_answers(subject, subject.fit(X, y), subject.fit(X, y, np.ones(len(y))), X)


def check_zero_weights_drop_rows(subject: Subject) -> None:
    X, y = numbers()
    w = weights() * (np.random.default_rng(3).random(len(y)) < 0.6)
    assert_same_bits(subject.fit(X, y, w), subject.fit(X[w > 0], y[w > 0], w[w > 0]), X)


def check_class_without_weight_disappears(subject: Subject) -> None:
    X, y = numbers()
    model = subject.fit(X, y, np.where(y == 1, 0.0, 1.5))
    assert model.classes_.tolist() == [0, 2]
    assert model.predict_proba(X).shape == (len(y), 2)
    assert_same_bits(model, subject.fit(X[y != 1], y[y != 1], np.full((y != 1).sum(), 1.5)), X)


def check_integer_weights_repeat_rows(subject: Subject) -> None:
    for n_classes in (2, 3):
        X, y = numbers(n_classes)
        times = np.random.default_rng(4).integers(0, 4, len(y))
        repeated = subject.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_same_answers(subject, subject.fit(X, y, times), repeated, X)
    assert_same_answers(subject, subject.fit(X, y, times), subject.fit(X, y, times.astype(float).tolist()), X)


def check_scaled_weights(subject: Subject) -> None:
    X, y = numbers()
    for factor in (1e-12, 0.37, 1e12):
        assert_same_answers(subject, subject.fit(X, y, weights()), subject.fit(X, y, factor * weights()), X)


# --- threads and processes ----------------------------------------------------------------------------------


def check_threads(subject: Subject) -> None:
    """The table is large enough for the kernels to start threads."""
    X, y = numbers(n=60_000)
    one = subject.fit(X, y, n_jobs=1)
    for n_jobs in (2, 5):
        assert_same_bits(subject.fit(X, y, n_jobs=n_jobs), one, X)
        assert_array_equal(copy.copy(one).set_params(n_jobs=n_jobs).predict_proba(X), one.predict_proba(X))


def answer(subject: Subject, model: CommitteeClassifier, X: Array, y: Array) -> tuple[Array, Array]:
    """What a fitted model says, and what a new one learns."""
    return model.predict_proba(X), subject.fit(X, y, n_jobs=2).predict_proba(X)


def _in_child(pipe: Any, jobs: list[tuple[Subject, CommitteeClassifier, Array, Array]]) -> None:
    pipe.send([answer(*job) for job in jobs])


def answers_of_child(method: str, jobs: list[tuple[Subject, CommitteeClassifier, Array, Array]]) -> Any:
    """`answer` in a new process; a child that hangs is ended and fails the test."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(theirs, jobs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 on: that we fork beside threads is the point
        child.start()
    theirs.close()
    try:
        assert ours.poll(120), f"the {method}ed child gives no answer"
        return ours.recv()
    finally:
        child.join(10)
        if child.is_alive():
            child.kill()


def check_forked_child(subject: Subject) -> None:
    """Threads ran in the parent, and run again in the child."""
    X, y = numbers(2, n=60_000)
    model = subject.fit(X, y, n_jobs=2)
    [(said, learned)] = answers_of_child("fork", [(subject, model, X, y)])
    assert_array_equal(said, model.predict_proba(X))
    assert_array_equal(learned, model.predict_proba(X))


def check_copies(subject: Subject) -> None:
    X, y = numbers()
    model = subject.fit(X, y)
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_same_bits(twin, model, X)
        assert repr(twin) == repr(model)
    assert not hasattr(clone(model), "committee_")


def check_saved_file(subject: Subject) -> None:
    columns, y = everything(missing=subject.takes_missing)
    X = pl.DataFrame(columns)
    model = subject.fit(X, y)
    with TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        twin = committee.load(Path(folder) / "model")
    assert_same_bits(twin, model, X)
    assert twin.table_ == model.table_
    for name in model._stored_attributes:
        assert_array_equal(getattr(twin, name, None), getattr(model, name, None), name)


def check_file_is_refused(subject: Subject) -> None:
    model = subject.fit(*numbers())
    with TemporaryDirectory() as folder:
        with pytest.raises(TypeError, match="cannot be saved"):
            model.save(Path(folder) / "model")
        assert not list(Path(folder).iterdir())


def check_second_fit(subject: Subject) -> None:
    """Nothing of the first table is left."""
    columns, labels = everything(missing=False)
    X, y = numbers()
    assert_same_bits(subject.fit(pd.DataFrame(columns), labels).fit(X, y), subject.fit(X, y), X)


# --- tables in ----------------------------------------------------------------------------------------------


def check_inputs_are_not_changed(subject: Subject) -> None:
    X, y = numbers()
    w = weights() * (y != 1)
    given = (X, y, w)
    before = copy.deepcopy(given)
    for array in given:
        array.flags.writeable = False
    subject.fit(X, y, w).predict_proba(X)
    frame = pd.DataFrame(X)
    subject.fit(frame, pd.Series(y), pd.Series(w)).predict_proba(frame)
    for array, copied in zip(given, before, strict=True):
        assert_array_equal(array, copied)


def check_memory_layouts(subject: Subject) -> None:
    X, y = numbers()
    X = X.astype(np.float32).astype(np.float64)
    model = subject.fit(X, y)
    wide = np.zeros((240, 10))
    wide[::2, ::2] = X
    for same in (X.astype(np.float32), np.asfortranarray(X), wide[::2, ::2], X.tolist(), X.astype(object)):
        assert_same_bits(subject.fit(same, y), model, X)
        assert_array_equal(model.predict_proba(same), model.predict_proba(X))
    whole = np.rint(4 * X)
    for dtype in (np.int8, np.int64, np.float32):
        assert_same_bits(subject.fit(whole.astype(dtype), y.astype(dtype)), subject.fit(whole, y.astype(dtype)), whole)


def check_frames_of_numbers(subject: Subject) -> None:
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    plain = subject.fit(X, y)
    for table in (frame, pl.DataFrame(X, schema=list("abcde")), pa.Table.from_pandas(frame), frame.astype("Float64")):
        model = subject.fit(table, y)
        assert_same_bits_of_tables(model, plain, table, X)
        assert model.feature_names_in_.tolist() == list("abcde")
        assert_array_equal(model.predict_proba(frame), plain.predict_proba(X))


def assert_same_bits_of_tables(model: Any, other: Any, table: Any, other_table: Any) -> None:
    assert_same_parts(model, other)
    assert_array_equal(model.predict_proba(table), other.predict_proba(other_table))


def check_frames_of_everything(subject: Subject) -> None:
    columns, y = everything(missing=subject.takes_missing)
    first = subject.fit(pl.DataFrame(columns), y)
    categorical = pd.DataFrame(columns).astype({"colour": "category"})
    tables = [pd.DataFrame(columns), pa.table(columns), categorical]
    tables.append(pl.DataFrame(columns).with_columns(pl.col("colour").cast(pl.Categorical)))
    for table in tables:
        assert_same_bits_of_tables(subject.fit(table, y), first, table, pl.DataFrame(columns))
    assert first.score(tables[0], y) > 0.6


def check_missing_at_fit(subject: Subject) -> None:
    X, y = numbers()
    X[np.random.default_rng(5).random(X.shape) < 0.2] = np.nan
    X[:, 4] = np.nan
    model = subject.fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    frame = pl.DataFrame(X, schema=list("abcde"))
    for table in (frame, frame.fill_nan(None), frame.fill_nan(None).to_pandas(), frame.fill_nan(None).to_arrow()):
        assert_same_bits_of_tables(subject.fit(table, y), model, table, X)


def check_missing_only_at_predict(subject: Subject) -> None:
    X, y = numbers()
    model = subject.fit(X, y)
    assert_allclose(model.predict_proba(np.full((2, 5), np.nan)).sum(axis=1), 1.0)
    p, whole = model.predict_proba(np.where(X > 1, np.nan, X)), (X <= 1).all(axis=1)
    assert_allclose(p.sum(axis=1), 1.0)
    assert_array_equal(p[whole], model.predict_proba(X)[whole])


def check_unseen_category_is_missing(subject: Subject) -> None:
    columns, y = everything(missing=True)
    model = subject.fit(pl.DataFrame(columns), y)
    unseen = pl.DataFrame(columns | {"colour": ["mauve"] * len(y)})
    absent = pl.DataFrame(columns | {"colour": pl.Series([None] * len(y), dtype=pl.String)})
    assert_array_equal(model.predict_proba(unseen), model.predict_proba(absent))
    assert_array_equal(model.predict_proba(unseen.to_pandas()), model.predict_proba(absent))


# --- company ------------------------------------------------------------------------------------------------


def check_search_and_calibration(subject: Subject) -> None:
    X, y = numbers(2)
    search = GridSearchCV(clone(subject.model), {"n_jobs": [None, 1]}, cv=2).fit(X, y)
    assert_same_bits(search.best_estimator_, subject.fit(X, y), X)
    assert len(cross_val_score(clone(subject.model), pd.DataFrame(X, columns=list("abcde")), y, cv=2)) == 2
    calibrated = CalibratedClassifierCV(clone(subject.model), cv=2).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def check_pipeline(subject: Subject) -> None:
    X, y = numbers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    scaled = StandardScaler().fit_transform(X)
    for kind in ("default", "pandas", "polars"):
        pipeline = make_pipeline(StandardScaler(), clone(subject.model)).set_output(transform=kind).fit(frame, y)
        direct = subject.fit(scaled, y).predict_proba(scaled)
        assert_allclose(pipeline.predict_proba(frame), direct, rtol=0, atol=subject.tolerance)
        assert hasattr(pipeline[-1], "feature_names_in_") == (kind != "default")


def check_metadata_routing(subject: Subject) -> None:
    X, y = numbers()
    direct = subject.fit(StandardScaler().fit_transform(X), y, weights())
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clone(subject.model).set_fit_request(sample_weight=True))
        routed = pipeline.fit(X, y, sample_weight=weights())[-1]
    assert_same_bits(routed, direct, scaler.fit_transform(X))
