"""Files of committees of ensembles: round trips, and crafted files that are refused."""

import copy
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import committee
from committee.files.store import read_contents
from committee.vote.committee import RegressionCommittee
from committee.vote.links.mean import Identity
from committee.vote.members import MemberCommittees
from tests.crafted_files import craft, forget, lose, put, refused, swap, tell
from tests.small_portfolio import use_small_members
from tests.subjects import assert_same_bits, noisy_scores, numbers

GOLDEN = Path(__file__).parents[2] / "golden"


def golden(name="committee"):
    return (GOLDEN / f"{name}.safetensors").read_bytes()


@pytest.mark.parametrize("kind", [committee.CommitteeClassifier, committee.CommitteeRegressor])
def test_all_figures_come_back(kind, tmp_path, monkeypatch):
    use_small_members(monkeypatch)
    X, y = numbers(2) if kind is committee.CommitteeClassifier else noisy_scores()
    model = kind("best", cv=2, random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    twin = committee.load(tmp_path / "model")
    assert_same_bits(twin, model, X)
    assert twin.members_.equals(model.members_)
    assert twin.left_out_ == model.left_out_ and twin.n_folds_ == 2
    assert (twin.oof_loss_, twin.oof_score_) == (model.oof_loss_, model.oof_score_)


@pytest.mark.filterwarnings("ignore:n_samples = 2")
def test_a_model_with_nothing_to_judge_by_is_stored(tmp_path):
    X, y = np.array([[0.0], [1.0]]), np.array([0, 1])
    model = committee.CommitteeClassifier(random_state=0).fit(X, y)
    model.save(tmp_path / "model")
    twin = committee.load(tmp_path / "model")
    assert_same_bits(twin, model, X)
    assert np.isnan(twin.oof_loss_) and np.isnan(twin.member_losses_).all()
    assert twin.members_["loss"].to_list() == [None]


def test_files_without_figures_of_those_left_out_are_read():
    model = committee.load(GOLDEN / "committee.safetensors")
    assert not hasattr(model, "left_out_losses_") and model.left_out_
    others = model.members_.filter(weight=0.0)
    assert others["member"].to_list() == list(model.left_out_)
    assert others["loss"].null_count() == others["seconds"].null_count() == len(others)


@pytest.mark.parametrize("name", ["left_out_losses_", "left_out_seconds_"])
@pytest.mark.parametrize("figures", [np.zeros(1), np.zeros(3, dtype=np.float32), np.zeros((3, 1))])
def test_crafted_figures_of_those_left_out_are_refused(name, figures, tmp_path, monkeypatch):
    use_small_members(monkeypatch)
    model = committee.CommitteeClassifier("fast", cv=2, min_gain=1e9, random_state=0).fit(*numbers(2))
    model.save(tmp_path / "model")
    assert len(committee.load(tmp_path / "model").left_out_) == 3
    change = swap(f"attributes.{name}", lambda _: figures)
    refused(tmp_path / "model", craft((tmp_path / "model").read_bytes(), change), name)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put("attributes.member_sizes_", 0, 2), "member_sizes_ do not count 4 voters"),
        (
            put("attributes.member_sizes_", 0, -(2**62)),
            "member_sizes_ holds -4611686018427387904, which is not between",
        ),
        (swap("attributes.member_sizes_", lambda a: a.astype(np.int32)), "member_sizes_ is int32"),
        (swap("attributes.member_weights_", lambda a: a[:1]), r"member_weights_ is float64 of shape \(1,\)"),
        (swap("attributes.member_losses_", lambda a: a[:, None]), r"member_losses_ is float64 of shape \(3, 1\)"),
        (swap("attributes.member_seconds_", lambda a: a.astype(np.float32)), "member_seconds_ is float32"),
        (lose("attributes.member_gains_"), "array 'attributes.member_gains_' is absent"),
        (forget("attributes", "member_names_"), "'member_names_' is absent"),
        (forget("attributes", "oof_loss_"), "'oof_loss_' is absent"),
        (tell("attributes", "member_names_", value=7), "'member_names_' is a int"),
        (tell("attributes", "member_names_", value={"list": [1, "a", "b"]}), "hold values that are not text"),
        (tell("attributes", "left_out_", value={"dict": [["lines", 3]]}), "hold values that are not text"),
        (tell("attributes", "left_out_", value={"dict": [["lines", "\ud800"]]}), "hold values that are not text"),
        (tell("attributes", "oof_score_", value="high"), "'oof_score_' is a str"),
        (tell("attributes", "n_folds_", value=True), "'n_folds_' is a bool"),
        (tell("voters", "members", value=[]), "members is empty"),
        (tell("voters", "members", 0, value=None), "member 0 is not a committee"),
        (tell("voters", "members", 1, "class", value=["Committee"]), "'class' is a list"),
        (tell("voters", "members", 1, "class", value="RandomForestClassifier"), "member 1 is not a committee"),
        (tell("voters", "members", 1, "class", value="RegressionCommittee"), "member|classes|link"),
        (forget("voters", "members", 2), "weights are not 3 finite"),
        (tell("voters", "members", 2, "classes", "values", value=[0, 1, 7]), "members have different classes"),
        (tell("voters", "members", 1, "table", value=1), "member 1 names the table of member 1, no earlier member"),
        (tell("voters", "members", 1, "table", value=-1), "member 1 names the table of member -1"),
        (tell("voters", "members", 1, "table", value=True), "'table' is a bool"),
    ],
)
def test_crafted_files_are_refused(change, message, tmp_path):
    refused(tmp_path / "model", craft(golden(), change), message)


@pytest.mark.parametrize(
    ("value", "message"), [("quantiles", "is of several numbers"), ("log_loss", "it must be one of"), (3, "'loss'")]
)
def test_losses_that_no_fit_takes_are_refused(value, message, tmp_path):
    model = committee.CommitteeRegressor("fast", cv=2, loss="huber", random_state=0)
    model.fit(*noisy_scores()).save(tmp_path / "model")
    assert committee.load(tmp_path / "model").number_loss.name == "huber"
    change = tell("params", "loss", value=value)
    refused(tmp_path / "model", craft((tmp_path / "model").read_bytes(), change), message)


def test_equal_tables_of_members_are_stored_once(tmp_path):
    X, y = noisy_scores()
    X = X.copy()
    X[:, 0] = np.arange(len(X)) % 23  # target statistics, which differ between folds
    fits = [
        committee.TreeRegressor(max_depth=k, categorical_features=[0]).fit(X[k % 2 :], y[k % 2 :]) for k in range(1, 5)
    ]
    voters = MemberCommittees([one.committee_ for one in fits])
    model = RegressionCommittee(voters, np.full(4, 0.25), Identity())
    model.save(tmp_path / "model")
    stored = read_contents(tmp_path / "model")[0]["model"]["voters"]["members"]
    assert [one["table"] for one in stored[2:]] == [0, 1] and stored[0]["table"] != stored[1]["table"]
    twin = committee.load(tmp_path / "model")
    assert [one.table for one in twin.voters.members] == [one.table for one in voters.members]
    assert_array_equal(twin.predict(X), model.predict(X))
    assert model.column_bytes + sum(voters.file_bytes) == pytest.approx(model.file_bytes, rel=0.1)


def test_members_of_other_columns_are_refused(tmp_path):
    def change(document, _):
        table = document["model"]["voters"]["members"][0]["table"]
        table["categories"].append(None)
        document["model"]["voters"]["members"][0]["n_features"] += 1

    refused(tmp_path / "model", craft(golden(), change), "columns|features")


def test_deep_nesting_is_refused(tmp_path):
    def deeper(document, _):
        for _level in range(20):
            document["model"]["voters"]["members"] = [
                {**document["model"]["voters"]["members"][0], "voters": copy.deepcopy(document["model"]["voters"])}
            ]

    refused(tmp_path / "model", craft(golden(), deeper), "nested more than|absent")


def test_figures_of_members_that_are_not_there_are_refused(tmp_path):
    X = np.zeros((4, 1))
    with pytest.warns(UserWarning, match="one class only"):
        model = committee.CommitteeClassifier().fit(X, np.zeros(4, dtype=int))
    model.save(tmp_path / "model")
    content = (tmp_path / "model").read_bytes()
    assert_array_equal(committee.load(tmp_path / "model").predict(X), np.zeros(4))
    change = tell("attributes", "member_names_", value={"list": ["forest"]})
    refused(tmp_path / "model", craft(content, change), "member_names_ is stored, but a model of one class")
