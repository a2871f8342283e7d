"""Fits that were interrupted go on from their checkpoints, and end with the bits of one that never was."""

import os
import signal
import tracemalloc
import warnings
from inspect import signature
from itertools import count

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.callback import ProgressBar
from sklearn.linear_model import LogisticRegression

import committee as c
from committee.learners.base import fit_tasks
from committee.learners.base.fit_record import FitRecord
from tests.checkpoint_cases import CASES, bits, tables, unfitted
from tests.model_files import craft

pytestmark = pytest.mark.filterwarnings("ignore")


class Killed(BaseException):
    """The end of an attempt."""


def each_addition(monkeypatch, then):
    """Call `then` after each new result of the fits to come."""
    add = FitRecord._add

    def adding(self, *args):
        add(self, *args)
        then()

    monkeypatch.setattr(FitRecord, "_add", adding)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


def attempt(name, path, monkeypatch, n=float("inf"), **params):
    """A fit that ends after n new results, and how many there were."""
    model, X, y = unfitted(name)
    new: list[None] = []

    def count_down():
        new.append(None)
        if len(new) == n:
            raise Killed

    with monkeypatch.context() as patched:
        each_addition(patched, count_down)
        try:
            model.set_params(**params).fit(X, y, checkpoint=c.Checkpoint(path, interval=0.0))
        except Killed:
            return None, len(new)
    return model, len(new)


def test_every_learner_has_a_case_or_is_trained_in_one_step():
    tried = {type(make()).__name__ for _, make in CASES.values()}
    one_step = {"AbstainingStump", "ProbitModelTreeClassifier", "TreeRegressor", "TreeVoter"}
    of_trained = {"LeafReweighter", "LeafReweighterRegressor", "MarginReweighter"}
    without = {"ConformalClassifier", "ConformalRegressor", *of_trained}
    of_any_base = {"FunctionalGradientBoostingClassifier", "FunctionalGradientBoostingRegressor"}  # which refuse
    assert tried | one_step | without | of_any_base == set(c.LEARNERS) and not tried & one_step
    assert not any("checkpoint" in signature(c.learner(name).fit).parameters for name in without)
    X, y = tables()["two"]
    for name in one_step:
        with pytest.raises(ValueError, match=rf"is of no use: {name} is trained as a whole.*Leave checkpoint out"):
            c.learner(name)().fit(X, y, checkpoint="never written")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_a_fit_goes_on_and_ends_with_the_same_bits(name, tmp_path, monkeypatch, path):
    np.random.seed(7)  # noqa: NPY002
    model, X, y = unfitted(name)
    expected = bits(model.fit(X, y))
    found = []
    for n in (1, 4, 6, float("inf")):
        model, new = attempt(name, path, monkeypatch, n)
        found.append(new)
        np.random.random(3)  # noqa: NPY002 - an attempt of another process would draw anew
        if model is not None:
            break
    assert model is not None and bits(model) == expected
    again, new = attempt(name, path, monkeypatch)
    assert new == 0 < sum(found) and bits(again) == expected
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_fit_without_an_end_is_written_at_intervals_and_when_it_fails(path, monkeypatch):
    sizes, clock = [], count(0.0, 4.0)  # seconds from one look at the clock to the next
    monkeypatch.setattr(fit_tasks.time, "perf_counter", lambda: next(clock))
    each_addition(monkeypatch, lambda: sizes.append(path.stat().st_size))
    model, X, y = unfitted("adaboost")
    model.set_params(calibrate=None).fit(X, y, checkpoint=path)
    changes = np.flatnonzero(np.diff(sizes)) + 1
    assert 2 <= len(changes) < len(sizes) / 2, "not after every round"
    assert path.stat().st_size > sizes[-1], "and at the end"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"params": {"max_depth": 2}}, "by a fit with other parameters: max_depth"),
        ({"params": {"random_state": 1, "max_bins": 17}}, "by a fit with other parameters: max_bins, random_state"),
        ({"rows": slice(1, None)}, "by a fit on other rows"),
        ({"weights": True}, "by a fit on other rows"),
        (
            {"learner": "arc-gv, trees"},
            r"by a committee\.\S*\.AdaBoostClassifier, and this is a committee\.\S*\.ArcGVClassifier",
        ),
    ],
)
def test_another_fit_does_not_go_on(path, monkeypatch, change, message):
    attempt("adaboost", path, monkeypatch, 5)
    before = path.read_bytes()
    model, X, y = unfitted(change.get("learner", "adaboost"))
    model.set_params(**change.get("params", {}))
    rows = change.get("rows", slice(None))
    weights = np.linspace(1.0, 2.0, len(y)) if "weights" in change else None
    with pytest.raises(c.CheckpointError, match=rf"fit\.checkpoint' cannot be resumed: .*{message}.*Remove the f"):
        model.fit(X[rows], y[rows], weights, checkpoint=path)
    assert path.read_bytes() == before and not hasattr(model, "committee_")


def test_any_number_of_threads_goes_on(path, monkeypatch):
    attempt("forest, enough trees", path, monkeypatch, 20)
    model, _ = attempt("forest, enough trees", path, monkeypatch, n_jobs=2)
    whole, X, y = unfitted("forest, enough trees")
    assert bits(model.set_params(n_jobs=None)) == bits(whole.fit(X, y))


def test_a_generator_goes_on_where_the_first_attempt_began(path, monkeypatch):
    attempt("forest", path, monkeypatch, 4, random_state=np.random.RandomState(3))
    model, _ = attempt("forest", path, monkeypatch, random_state=np.random.RandomState(99))
    whole, X, y = unfitted("forest")
    whole.set_params(random_state=np.random.RandomState(3)).fit(X, y)
    assert bits(model)[1] == bits(whole)[1]
    assert model.random_state.random() == whole.random_state.random(), "whatever draws from it next"
    other = np.random.RandomState(np.random.PCG64(3))
    with pytest.raises(ValueError, match="random_state draws by PCG64; a checkpoint holds MT19937 alone"):
        whole.set_params(random_state=other).fit(X, y, checkpoint=path.with_name("other"))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (c.ProbitBoostClassifier(), "ProbitBoostClassifier is trained as a whole"),
        (c.AdaBoostClassifier(voter=LogisticRegression()), r"voter=LogisticRegression\(\) is trained by a fit"),
        (c.SubaggingClassifier(c.AdaBoostClassifier(3)), "estimator=AdaBoost.* is trained by a fit"),
        (c.ProbabilisticAdaBoostClassifier(time_budget=1.0), "time_budget=1.0 makes the fit depend on the time"),
        (c.ProbabilisticAdaBoostClassifier(n_draws="stopwatch"), "n_draws='stopwatch' makes the fit depend"),
        (c.MatryoshkaClassifier("greedy", rate="seconds"), "rate='seconds' makes the fit depend"),
    ],
)
def test_what_could_not_go_on_is_refused_at_the_start(tmp_path, model, message):
    X, y = tables()["two"]
    with pytest.raises(ValueError, match=rf"checkpoint='.*' is of no use: {message}.*Leave checkpoint out"):
        model.fit(X, y, checkpoint=str(tmp_path / "fit.checkpoint"))
    assert not list(tmp_path.iterdir())


def test_paths_and_intervals_are_checked(tmp_path, path):
    X, y = tables()["two"]
    for bad in (5, b"fit"):
        with pytest.raises(TypeError, match="is not a path; give the name of a file, or a Checkpoint"):
            c.AdaBoostClassifier(2).fit(X, y, checkpoint=bad)
    for bad in (-1.0, float("nan"), float("inf"), True, None, "30"):
        with pytest.raises(ValueError, match="must be a finite number of seconds, 0 or more"):
            c.Checkpoint(tmp_path / "fit", interval=bad)
    with pytest.raises(FileNotFoundError):
        c.AdaBoostClassifier(2).fit(X, y, checkpoint=tmp_path / "no folder" / "fit")
    with pytest.raises(ValueError, match="is not a regular file"):
        c.AdaBoostClassifier(2).fit(X, y, checkpoint=tmp_path)


def test_parameters_that_cannot_be_compared_are_refused(tmp_path):
    X, y = tables()["numbers"]
    model = c.GradientBoostingRegressor(loss=lambda y, F: (F - y, np.ones_like(F)))
    with pytest.raises(ValueError, match=r"loss=<function.*cannot be compared with that of an earlier attempt"):
        model.fit(X, y, checkpoint=tmp_path / "fit")


@pytest.mark.parametrize(
    ("error", "reason"),
    [(OSError(28, "No space left on device"), ".*No space left on device"), (MemoryError(), "MemoryError")],
)
@pytest.mark.parametrize("begun", [True, False])
def test_a_file_that_cannot_be_written_does_not_end_the_fit(path, monkeypatch, error, reason, begun):
    if begun:
        attempt("adaboost", path, monkeypatch, 3)
    before = path.read_bytes() if begun else None

    def full(*_):
        raise error

    monkeypatch.setattr(fit_tasks, "write_contents", full)
    model, X, y = unfitted("adaboost")
    with pytest.warns(UserWarning, match=rf"cannot be written \({reason}\); the fit works without it"):
        model.fit(X, y, checkpoint=path)
    assert model.committee_.n_voters == 30 and (path.read_bytes() if path.exists() else None) == before


def test_a_folder_that_takes_the_place_of_the_file_does_not_end_the_fit(path, monkeypatch):
    def folder():
        if path.is_file():
            path.unlink()
            path.mkdir()

    each_addition(monkeypatch, folder)
    model, X, y = unfitted("adaboost")
    with pytest.warns(UserWarning, match=r"cannot be written \(.*not a regular file.*the fit works without it"):
        model.fit(X, y, checkpoint=path)
    assert model.committee_.n_voters == 30


def test_what_is_known_of_one_kind_stays_when_another_kind_gets_more(path, monkeypatch):
    """All searches are known, and the fits of folds come after them."""
    for n in (6, float("inf")):
        attempt("lpboost", path, monkeypatch, n)
    assert attempt("lpboost", path, monkeypatch)[1] == 0


def test_what_a_full_disk_did_not_take_is_written_at_the_end(path, monkeypatch):
    write, sizes = fit_tasks.write_contents, []

    def full_at_last(*args):
        sizes.append(len(args[2]))
        if len(sizes) == 2:
            raise OSError(28, "No space left on device")
        write(*args)

    monkeypatch.setattr(fit_tasks, "write_contents", full_at_last)
    model, X, y = unfitted("adaboost")
    model.set_params(n_estimators=1, calibrate=None).fit(X, y, checkpoint=c.Checkpoint(path, interval=0.0))
    assert sizes[0] == 0 and sizes[1] == sizes[2] > 0 and len(sizes) == 3


@pytest.mark.parametrize("seed", [None, 0])
def test_what_a_committee_draws_twice_is_drawn_as_without_a_checkpoint(path, seed):
    _, X, y = unfitted("adaboost")
    model = c.CommitteeClassifier("fast", candidates=["lines", "forest"], cv=2, reserve=0.2, random_state=seed)
    with_checkpoint, without = clone(model).fit(X, y, checkpoint=path), model.fit(X, y)
    assert_array_equal(with_checkpoint.reserved_rows_, without.reserved_rows_)
    assert_array_equal(with_checkpoint.predict_proba(X), without.predict_proba(X))


def test_callbacks_see_rounds_that_are_known_too(path, monkeypatch):
    attempt("adaboost", path, monkeypatch, 10)
    model, X, y = unfitted("adaboost")
    assert model.set_callbacks(ProgressBar()).fit(X, y, checkpoint=path).committee_.n_voters == 30


# --- damage ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def some_checkpoint(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "fit.checkpoint"
    with pytest.MonkeyPatch.context() as patched:
        attempt("gradient, categories", path, patched, 6)
    return path.read_bytes()


def go_on(path, content):
    path.write_bytes(content)
    model, X, y = unfitted("gradient, categories")
    return model.fit(X, y, checkpoint=path)


def test_any_damage_is_noticed(some_checkpoint, tmp_path):
    random = np.random.default_rng(0)
    for at in random.integers(0, len(some_checkpoint), 40).tolist():
        content = bytearray(some_checkpoint)
        content[at] ^= 1 << int(random.integers(8))
        with pytest.raises(c.CheckpointError, match="cannot be resumed"):
            go_on(tmp_path / "fit", bytes(content))
    for end in (0, 7, 100, len(some_checkpoint) - 1):
        with pytest.raises(c.CheckpointError, match="cannot be resumed"):
            go_on(tmp_path / "fit", some_checkpoint[:end])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d, a: d.update(format="other"), "it is not a checkpoint"),
        (lambda d, a: d.update(package_version="0.0.1"), "it was written by committee 0.0.1"),
        (lambda d, a: d.pop("results"), "'results' is absent"),
        (lambda d, a: d["results"]["tree"].update(n_parts=2), "belongs to nothing"),
        (lambda d, a: d["results"]["tree"].update(n_parts=99), "is absent"),
        (lambda d, a: d["results"].update(other={"part": "9", "n_parts": 1}), "is absent"),
        (lambda d, a: a.update({"0.check": a["0.check"][:-1]}), "are not the shapes of"),
        (lambda d, a: a.update({"0.shape0": -a["0.shape0"]}), "are not the shapes of"),
        (lambda d, a: a.update({"0.shape0": a["0.shape0"] + 1}), "its shapes need"),
        (lambda d, a: a.update({"0.check": a["0.check"] + np.uint64(1)}), "its results are not those of this fit"),
        (lambda d, a: a.update({"0.value2": np.zeros_like(a["0.value2"])}), "a child of the tree does not follow"),
        (
            lambda d, a: a.update({"0.value0": np.where(a["0.value0"] < 0, -1, 99).astype(np.int32)}),
            "the tree was grown on more columns",
        ),
        (lambda d, a: a.update({"0.value0": a["0.value0"].astype(np.int64)}), "another type or shape"),
        (lambda d, a: a.update({"0.value4": a["0.value4"] * 0}), "words of categories are not those of its nodes"),
        (lambda d, a: a.update({"0.shape4": a["0.shape4"][:, :0]}), "its shapes need"),
        (lambda d, a: d["results"]["tree"].update(n_parts=0), "has no results"),
    ],
)
def test_what_no_fit_has_written_is_refused(some_checkpoint, tmp_path, change, message):
    with pytest.raises(c.CheckpointError, match=message):
        go_on(tmp_path / "fit", craft(some_checkpoint, change))


@pytest.mark.parametrize(
    "state",
    [None, {}, {"keys": [1] * 624, "position": 10**6, "has_gauss": 0, "gauss": 0.0}, {"keys": [1], "position": 0}],
)
def test_a_state_of_draws_that_is_none_is_refused(path, monkeypatch, state):
    attempt("adaboost", path, monkeypatch, 4, random_state=np.random.RandomState(7))
    path.write_bytes(craft(path.read_bytes(), lambda document, _: document.update(random=state)))
    with pytest.raises(c.CheckpointError, match="cannot be resumed"):
        attempt("adaboost", path, monkeypatch, random_state=np.random.RandomState(7))


class AdaBoostClassifier(c.AdaBoostClassifier):
    """A user's own, of the same name."""


def test_a_subclass_of_the_same_name_does_not_go_on(tmp_path, monkeypatch):
    attempt("adaboost", tmp_path / "fit", monkeypatch, 3)
    X, y = tables()["two"]
    with pytest.raises(c.CheckpointError, match=r"and this is a .*test_checkpoints\.AdaBoostClassifier"):
        AdaBoostClassifier(30).fit(X, y, checkpoint=tmp_path / "fit")


def test_a_file_is_of_one_fit_at_a_time(path, monkeypatch):
    X, y = tables()["two"]
    for written in (True, False):  # by an earlier attempt, or by the fit under way
        if written:
            attempt("adaboost", path, monkeypatch, 3)

        def second_fit():
            with pytest.raises(c.CheckpointError, match="is that of another fit under way; wait until it ends, or nam"):
                c.AdaBoostClassifier(30).fit(X, y, checkpoint=path)

        model = unfitted("adaboost")[0]
        with monkeypatch.context() as patched:
            each_addition(patched, second_fit)
            model.fit(X, y, checkpoint=c.Checkpoint(path, interval=0.0))
        assert c.AdaBoostClassifier(30).fit(X, y, checkpoint=path).committee_.n_voters == 30, "it is free again"
        path.unlink()


@pytest.mark.parametrize(("seconds", "written"), [(0.0, True), (1.0, False)])
def test_an_interrupt_waits_for_what_is_written_in_a_moment(path, monkeypatch, seconds, written):
    write = fit_tasks.write_contents

    def slow(*args):
        fit_tasks.time.sleep(seconds)
        write(*args)

    def interrupt():
        raise KeyboardInterrupt

    model, X, y = unfitted("adaboost")
    with monkeypatch.context() as patched:
        patched.setattr(fit_tasks, "write_contents", slow)
        each_addition(patched, interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.set_params(calibrate=None).fit(X, y, checkpoint=path)
    _, new = attempt("adaboost", path, monkeypatch, calibrate=None)
    assert new == 30 - written


def test_a_fit_that_fails_says_where_it_went_on_from(path, monkeypatch):
    attempt("forest", path, monkeypatch, 4)

    def change(_, arrays):
        for name in arrays:
            if arrays[name].dtype == np.float64:
                arrays[name] = np.full_like(arrays[name], 0.25)

    path.write_bytes(craft(path.read_bytes(), change))
    model, X, y = unfitted("forest")
    with pytest.raises(ValueError, match="needs class shares") as caught:
        model.fit(X, y, checkpoint=path)
    assert caught.value.__notes__ == [
        f"Resumed from checkpoint {str(path)!r}; if only resumed fits fail, remove the file."
    ]


def test_many_results_in_a_short_file_take_little_memory(some_checkpoint, tmp_path):
    n = 300_000

    def change(document, arrays):
        arrays.clear()
        arrays |= {"0.check": np.zeros(n, np.uint64), "0.shape0": np.zeros((n, 0), np.int64)}
        arrays["0.value0"] = np.zeros(n, np.uint8)
        document["results"] = {"tree": {"part": "0", "n_parts": 1}}

    content = craft(some_checkpoint, change)
    tracemalloc.start()
    try:
        with pytest.raises(c.CheckpointError, match="its results are not those of this fit"):
            go_on(tmp_path / "fit", content)
        assert tracemalloc.get_traced_memory()[1] < 4 * len(content) + 10**7
    finally:
        tracemalloc.stop()


def test_a_checkpoint_is_no_model_and_a_model_is_no_checkpoint(some_checkpoint, path):
    path.write_bytes(some_checkpoint)
    with pytest.raises(c.ModelFileError, match=r"it is the checkpoint of a fit; give it to fit\(\.\.\., checkpoint="):
        c.load(path)
    X, y = tables()["two"]
    model = c.AdaBoostClassifier(3).fit(X, y)
    model.save(path)
    with pytest.raises(c.CheckpointError, match="it is not a checkpoint"):
        model.fit(X, y, checkpoint=path)


# --- a process that is killed ----------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked, which Windows cannot (2026-11-22)")
def test_a_killed_process_leaves_a_whole_checkpoint(tmp_path, path):
    model, X, y = unfitted("gradient, drawn rows")
    model.set_params(n_estimators=300, random_state=0)
    expected = bits(model.fit(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of forks in a process with threads
        child = os.fork()
    if not child:
        model.fit(X, y, checkpoint=c.Checkpoint(path, interval=0.0))
        os._exit(0)
    while not path.exists():
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert bits(model.fit(X, y, checkpoint=path)) == expected
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "unfinished files are removed"
