"""What every learner must be able to do: one function per capability, yielded for every learner alike.

A later learner gets all of them by one line, `*subjects(MyLearner(...))`, in the list of test_capabilities.py.
"""

import copy
import multiprocessing
import pickle
import random
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import TreeVoter
from committee.learners.base.estimator import CommitteeEstimator
from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from tests.limits import PATIENCE, ROWS, threads_of_few_rows
from tests.subjects import (
    Array,
    Subject,
    assert_same_answers,
    assert_same_bits,
    everything,
    noisy_scores,
    numbers,
    weights,
)
from tests.table_checks import (
    check_frames_of_everything,
    check_frames_of_numbers,
    check_inputs_are_not_changed,
    check_memory_layouts,
    check_missing_at_fit,
    check_missing_only_at_predict,
    check_pieces,
    check_sparse_rows,
    check_unseen_category_is_missing,
)

Check = Callable[[Subject], None]


def yield_checks(subject: Subject) -> Iterator[Check]:
    """The capabilities that a learner must have."""
    if subject.predicts_numbers:
        yield from (check_targets_of_every_type, check_predictions_follow_the_votes, check_stages_of_numbers)
    else:
        yield from (check_labels_of_every_type, check_predictions_agree, check_stages_end_in_the_committee)
        yield from (check_margins, check_class_without_weight_disappears, check_calibration, check_one_class)
    yield check_size_and_importances
    yield from (check_repeated_seeds, check_fits_without_a_seed, check_renamed_columns)
    yield check_global_generators_are_left_alone
    yield from (check_unit_weights, check_zero_weights_drop_rows)
    yield from (
        check_threads,
        check_joblib_backends,
        check_floating_point_errors,
        check_forked_child,
        check_copies,
        check_second_fit,
    )
    yield from (check_inputs_are_not_changed, check_memory_layouts, check_frames_of_numbers, check_frames_of_everything)
    yield check_sparse_rows
    if subject.in_pieces:
        yield check_pieces
    yield from (check_search, check_pipeline, check_metadata_routing, check_subclass_with_fewer_parameters)
    yield check_saved_file if subject.storable else check_file_is_refused
    if subject.integer_weights:
        yield check_integer_weights_repeat_rows
        if subject.takes_missing:
            yield check_integer_weights_repeat_rows_unlike_later_ones
    yield check_scaled_weights
    if not subject.draws_columns:
        yield check_shuffled_columns
    if subject.takes_missing:
        yield check_missing_at_fit
        yield check_missing_only_at_predict
        yield check_unseen_category_is_missing


def yield_checks_of_all(subjects: Iterable[Subject]) -> Iterator[tuple[Subject, Check, bool]]:
    """Each subject with its checks, but those of `interface` for the first subject of a learner alone.

    A classifier of the user's among the parameters meets labels and tables itself, so it has them all. The last item
    is whether the check is among those of which ``make test`` runs a third (`is_among_the_first`).
    """
    earlier = Counter[type]()
    for subject in subjects:
        learner = type(subject.model)
        known = learner in earlier and subject.storable
        for place, check in enumerate(yield_checks(subject)):
            if not (known and check in interface()):
                yield subject, check, is_among_the_first(earlier[learner], place)
        earlier[learner] += 1


def is_among_the_first(subject: int, check: int) -> bool:
    """All checks of a learner's first subject, and every tenth of each further one, in turn: ten have all of them."""
    return subject == 0 or (subject + check) % 10 == 0


def interface() -> set[Check]:
    """Checks of what all configurations of a learner share: how tables and labels come in, scikit-learn's ways."""
    return {
        *(check_labels_of_every_type, check_targets_of_every_type, check_renamed_columns, check_memory_layouts),
        *(check_frames_of_numbers, check_frames_of_everything),
        *(check_calibration, check_search, check_pipeline, check_metadata_routing),
        *(check_fits_without_a_seed, check_joblib_backends, check_floating_point_errors),
    }


def check_labels_of_every_type(subject: Subject) -> None:
    for n_classes in (2, 3):
        X, y = numbers(n_classes)
        plain = subject.fit(X, y)
        assert plain.score(X, y) > 0.5
        spellings = [np.array(["ant", "bee", "cow"]), np.array(["ant", "bee", "cow"], dtype=object)]
        spellings += [np.array([-7, 0, 300], dtype=np.int16), np.array([1.0, 2.0, 5.0])]
        spellings += [np.array([2**63, 2**63 + 1, 2**64 - 1], dtype=np.uint64)]
        for names in [*spellings, np.array([False, True])] if n_classes == 2 else spellings[:1]:
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


def check_class_without_weight_disappears(subject: Subject) -> None:
    X, y = numbers()
    model = subject.fit(X, y, np.where(y == 1, 0.0, 1.5))
    assert model.classes_.tolist() == [0, 2]
    assert model.predict_proba(X).shape == (len(y), 2)
    assert_same_bits(model, subject.fit(X[y != 1], y[y != 1], np.full((y != 1).sum(), 1.5)), X)


def check_one_class(subject: Subject) -> None:
    """A fold without a rare class: the model is constant, says so, and does what others do."""
    X, _ = subject.numbers()
    y = np.array(["only"] * len(X))
    with pytest.warns(UserWarning, match="y holds one class only, 'only'") as warned:
        model = clone(subject.model).fit(X, y, np.arange(len(y)) % 5 + 1.0)
    assert [each.filename for each in warned] == [__file__]
    assert model.classes_.tolist() == ["only"]
    assert_array_equal(model.predict(X), y)
    assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))
    assert_array_equal(model.predict_log_proba(X), np.zeros((len(X), 1)))
    assert model.n_classes_ == 1
    if hasattr(model, "contributions"):
        assert_array_equal(model.contributions(X).reshape(len(X), -1), np.eye(X.shape[1] + 1)[[-1] * len(X)])
    assert model.decision_function(X).shape == (len(X), 1)
    assert model.score(X, y) == 1.0
    assert_same_bits(pickle.loads(pickle.dumps(model)), model, X)
    if subject.storable:
        with TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            assert_same_bits(committee.load(Path(folder) / "model"), model, X)
    rare = np.where(np.arange(len(X)) < 6, "rare", "only")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the constant fold, and of what so few rows bring about
        scores = cross_val_score(subject.model, X, rare, cv=KFold(2))
    assert not np.isnan(scores).any()


def check_calibration(subject: Subject) -> None:
    X, y = numbers(2)
    calibrated = CalibratedClassifierCV(clone(subject.model), cv=2).fit(X, y)
    assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)


def check_targets_of_every_type(subject: Subject) -> None:
    X, y = noisy_scores()
    y = np.rint(8 * y)
    plain = subject.fit(X, y)
    for same in (y.astype(np.int64), y.astype(np.float32), y.astype(object), y.tolist(), pl.Series(y), pd.Series(y)):
        assert_same_bits(subject.fit(X, same), plain, X)
    assert_same_bits(subject.fit(X, pa.chunked_array([y[:50], y[50:]])), plain, X)
    assert plain.predict(X).dtype == np.float64
    assert plain.score(X, y) > 0.0


def check_predictions_follow_the_votes(subject: Subject) -> None:
    X, y = noisy_scores()
    model = subject.fit(X, y)
    committee = model.committee_
    for rows in (X, noisy_scores(seed=9)[0], X[:1]):
        H, F = committee.votes(rows), committee.decision_function(rows)
        start = 0.0 if committee.intercept is None else committee.intercept
        assert_allclose(np.tensordot(H, committee.weights, (1, 0)) + start, F, rtol=1e-9, atol=1e-9)
        total = committee.weights.sum() + (committee.intercept is not None)
        assert_array_equal(model.predict(rows), committee.link.mean(F, total))
        assert model.predict(rows).shape == F.shape
        assert len(F) == len(rows) and np.isfinite(F).all()


def check_stages_of_numbers(subject: Subject) -> None:
    X, y = noisy_scores()
    model = subject.fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == model.committee_.n_voters
    assert_allclose(stages[-1], model.predict(X), rtol=1e-9, atol=1e-12)
    half = len(stages) // 2
    assert_allclose(stages[half], model.committee_.select(slice(half + 1)).predict(X), rtol=1e-9, atol=1e-12)


def check_size_and_importances(subject: Subject) -> None:
    model = subject.fit(*subject.numbers())
    assert model.committee_.nbytes > 0
    if isinstance(model.committee_.voters, (Forest, Rounds)):
        assert_allclose(model.feature_importances_.sum(), 1.0)


def check_fits_without_a_seed(subject: Subject) -> None:
    """One table gives one model, in any order of the rows' classes; a generator gives another at each fit."""
    declared = subject.model.declared_parameters.get("random_state")
    if declared is None or declared.default is not None:
        return
    X, y = subject.numbers()
    model = subject.fit(X, y, random_state=None)
    np.random.seed(3)  # noqa: NPY002  # the generator that other libraries draw from
    assert_same_bits(subject.fit(X, y, random_state=None), model, X)
    drawn = subject.fit(X, y, random_state=np.random.default_rng(0))
    assert_same_bits(subject.fit(X, y, random_state=np.random.default_rng(0)), drawn, X)


def check_repeated_seeds(subject: Subject) -> None:
    X, y = subject.numbers()
    model = subject.fit(X, y)
    assert_same_bits(model, subject.fit(X, y), X)
    assert_same_bits(subject.fit(X[::-1], y[::-1]).fit(X, subject.target(y)), model, X)


def check_global_generators_are_left_alone(subject: Subject) -> None:
    X, y = subject.numbers()
    legacy, standard = np.random.get_state(), random.getstate()  # noqa: NPY002  # what others may rely on
    subject.answers(subject.fit(X, y), X)
    assert random.getstate() == standard
    for before, after in zip(legacy, np.random.get_state(), strict=True):  # noqa: NPY002
        assert_array_equal(before, after)


def check_renamed_columns(subject: Subject) -> None:
    X, y = subject.numbers()
    for names in (list("abcde"), list("zyxwv"), ["a", "Ä ö", "b c", "", "a.b"]):
        frame = pd.DataFrame(X, columns=names)
        model = subject.fit(frame, y)
        assert model.feature_names_in_.tolist() == names
        assert_array_equal(subject.answers(model, frame), subject.answers(subject.fit(X, y), X))


def check_shuffled_columns(subject: Subject) -> None:
    """With random weights and leaves that stay impure no two splits are equally good."""
    X, y = subject.numbers(n=300)
    w, order = weights(300), [3, 0, 4, 2, 1]
    model = clone(subject.model)
    if model.get_params().get("estimator", model) is None:
        model.set_params(estimator=TreeVoter())
    model.set_params(**{name: 12 for name in model.get_params() if name.endswith("min_samples_leaf")})
    limited = replace(subject, model=model)
    assert_same_answers(limited, limited.fit(X, y, w), limited.fit(X[:, order], y, w), X, X[:, order])


def check_unit_weights(subject: Subject) -> None:
    X, y = subject.numbers()
    assert_same_answers(subject, subject.fit(X, y), subject.fit(X, y, np.ones(len(y))), X)


def check_zero_weights_drop_rows(subject: Subject) -> None:
    X, y = subject.numbers()
    w = weights() * (np.random.default_rng(3).random(len(y)) < 0.6)
    assert_same_bits(subject.fit(X, y, w), subject.fit(X[w > 0], y[w > 0], w[w > 0]), X)


def check_integer_weights_repeat_rows(subject: Subject) -> None:
    for n_classes in (2, 3):
        X, y = subject.numbers(n_classes)
        times = np.random.default_rng(4).integers(0, 4, len(y))
        repeated = subject.fit(np.repeat(X, times, axis=0), np.repeat(y, times))
        assert_same_answers(subject, subject.fit(X, y, times), repeated, X)
    assert_same_answers(subject, subject.fit(X, y, times), subject.fit(X, y, times.astype(float).tolist()), X)


def check_integer_weights_repeat_rows_unlike_later_ones(subject: Subject) -> None:
    """Where a missing value or a category goes that no row of training has shown is a matter of weights, too."""
    for n_classes in (2, 3):
        X, y = subject.numbers(n_classes, 80)
        rng = np.random.default_rng(5)
        times = rng.integers(0, 6, len(y))
        frame = pl.DataFrame(
            {
                "size": X[:, 0],
                "age": X[:, 1],
                "colour": np.array(["red", "green", "blue"])[np.digitize(X[:, 2], [-0.4, 0.5])],
                "old": X[:, 3] > 0,
            }
        )
        gaps, unlike = rng.random((len(y), 4)) < 0.4, rng.random(len(y)) < 0.3
        later = frame.with_columns(colour=np.where(unlike, "violet", frame["colour"].to_numpy()))
        later = later.with_columns(
            pl.when(pl.Series(gap)).then(None).otherwise(pl.col(name)).alias(name)
            for name, gap in zip(frame.columns, gaps.T, strict=True)
        )
        rows = np.repeat(np.arange(len(y)), times)
        weighted, repeated = subject.fit(frame, y, times), subject.fit(frame[rows], y[rows])
        assert_same_answers(subject, weighted, repeated, later)


def check_scaled_weights(subject: Subject) -> None:
    """Only the ratios of weights matter, unless these count rows."""
    X, y = subject.numbers()
    given = subject.fit(X, y, weights())
    assert_same_bits(subject.fit(X, y, 2.0**-40 * weights()), given, X)
    for factor in (1.0 / len(y), 1e12):
        assert_same_answers(subject, subject.fit(X, y, factor * weights()), given, X)
    assert_same_bits(subject.fit(X, y, np.full(len(y), 1.0 / len(y))), subject.fit(X, y, np.ones(len(y))), X)


def check_threads(subject: Subject) -> None:
    X, y = subject.numbers(n=ROWS)
    one = subject.fit(X, y, n_jobs=1)
    with threads_of_few_rows():
        n_jobs = 5  # of which two are there on the smallest machine; parts come in any order
        assert_same_bits(subject.fit(X, y, n_jobs=n_jobs), one, X)
        assert_array_equal(copy.copy(one).set_params(n_jobs=n_jobs).predict(X), one.predict(X))


def check_floating_point_errors(subject: Subject) -> None:
    X, y = subject.numbers()
    with np.errstate(all="raise"):
        model = subject.fit(X, y)
        subject.answers(model, X)
    assert_same_bits(model, subject.fit(X, y), X)


def check_joblib_backends(subject: Subject) -> None:
    X, y = subject.numbers()
    model = subject.fit(X, y, n_jobs=1)
    for backend in ("sequential", "threading", "loky", "multiprocessing"):
        with parallel_config(backend, n_jobs=2):
            fitted = subject.fit(X, y)
            assert_array_equal(fitted.predict(X), model.predict(X))
        assert_same_bits(fitted, model, X)


def answer(subject: Subject, model: CommitteeEstimator, X: Array, y: Array) -> tuple[Array, Array]:
    """What a fitted model says, and what a new one learns."""
    return subject.answers(model, X), subject.answers(subject.fit(X, y, n_jobs=2), X)


def _in_child(pipe: Any, jobs: list[tuple[Subject, CommitteeEstimator, Array, Array]]) -> None:
    pipe.send([answer(*job) for job in jobs])


def answers_of_child(method: str, jobs: list[tuple[Subject, CommitteeEstimator, Array, Array]]) -> Any:
    """`answer` in a new process; a child that hangs is ended and fails the test."""
    context: Any = multiprocessing.get_context(method)
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_in_child, args=(theirs, jobs))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12 on: that we fork beside threads is the point
        child.start()
    theirs.close()
    try:
        assert ours.poll(PATIENCE), f"the {method}ed child gives no answer"
        return ours.recv()
    finally:
        child.join(10)
        if child.is_alive():
            child.kill()


def check_forked_child(subject: Subject) -> None:
    """Threads ran in the parent, and run again in the child."""
    X, y = subject.numbers(2, n=600)
    with threads_of_few_rows():
        model = subject.fit(X, y, n_jobs=2)
        [(said, learned)] = answers_of_child("fork", [(subject, model, X, y)])
    assert_array_equal(said, subject.answers(model, X))
    assert_array_equal(learned, subject.answers(model, X))


def check_copies(subject: Subject) -> None:
    X, y = subject.numbers()
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
    for name in model.stored_attributes:
        read, written = getattr(twin, name, None), getattr(model, name, None)
        if isinstance(written, list):  # of lists that need not be of one length
            assert read == written, name
        else:
            assert_array_equal(read, written, name)


def check_file_is_refused(subject: Subject) -> None:
    model = subject.fit(*subject.numbers())
    with TemporaryDirectory() as folder:
        with pytest.raises(TypeError, match="cannot be saved"):
            model.save(Path(folder) / "model")
        assert not list(Path(folder).iterdir())


def check_subclass_with_fewer_parameters(subject: Subject) -> None:
    """A subclass may take parameters of its own alone; those of its base keep what it gives them."""
    given = subject.model.get_params(deep=False)

    class Short(type(subject.model)):  # type: ignore[misc]
        def __init__(self, remark: str = "") -> None:
            super().__init__(**given)
            self.remark = remark

    X, y = subject.numbers()
    assert Short("short").get_params() == {"remark": "short"}
    assert_same_answers(subject, clone(Short()).fit(X, subject.target(y)), subject.fit(X, y), X)


def check_second_fit(subject: Subject) -> None:
    """Nothing of the first table is left."""
    columns, labels = everything(missing=False)
    X, y = subject.numbers()
    assert_same_bits(subject.fit(pd.DataFrame(columns), labels).fit(X, subject.target(y)), subject.fit(X, y), X)


def check_search(subject: Subject) -> None:
    X, y = subject.numbers(2)
    search = GridSearchCV(clone(subject.model), {"n_jobs": [None, 1]}, cv=2).fit(X, y)
    assert_same_bits(search.best_estimator_, subject.fit(X, y), X)
    assert len(cross_val_score(clone(subject.model), pd.DataFrame(X, columns=list("abcde")), y, cv=2)) == 2


def check_pipeline(subject: Subject) -> None:
    X, y = subject.numbers()
    frame = pd.DataFrame(X, columns=list("abcde"))
    scaled = StandardScaler().fit_transform(frame)  # of the frame too: its sums run in another order
    for kind in ("default", "pandas", "polars"):
        pipeline = make_pipeline(StandardScaler(), clone(subject.model)).set_output(transform=kind).fit(frame, y)
        direct = subject.answers(subject.fit(scaled, y), scaled)
        assert_allclose(subject.answers(pipeline, frame), direct, rtol=0, atol=subject.tolerance)
        assert hasattr(pipeline[-1], "feature_names_in_") == (kind != "default")


def check_metadata_routing(subject: Subject) -> None:
    X, y = subject.numbers()
    direct = subject.fit(StandardScaler().fit_transform(X), y, weights())
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, clone(subject.model).set_fit_request(sample_weight=True))
        routed = pipeline.fit(X, y, sample_weight=weights())[-1]
    assert_same_bits(routed, direct, scaler.fit_transform(X))
