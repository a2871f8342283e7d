"""The models as AutoGluon trains them: alone, with rows to validate on, in bags, and again on all rows."""

import numpy as np
import pandas as pd
import pytest
from autogluon.tabular import TabularPredictor

from committee_tabarena.models import CommitteeBoostingModel, CommitteeModel, CommitteeOnceModel, SBPMTModel
from committee_tabarena.search_spaces import gen_boosting, gen_committee, gen_committee_once, gen_sbpmt

SMALL = {
    CommitteeModel: {"effort": "fast", "cv": 2},
    CommitteeBoostingModel: {"n_estimators": 40},
    SBPMTModel: {"n_estimators": 21, "n_boosting_rounds": 1},
}
IN_PLACE = {"fold_fitting_strategy": "sequential_local"}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Numbers, counts, categories and yes-or-no, with missing values; three kinds of targets."""
    random = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "number": random.normal(size=n),
            "count": random.integers(0, 5, n),
            "letter": pd.Categorical(random.choice(list("xyz"), n)),
            "yes": random.random(n) > 0.5,
        }
    )
    score = frame["number"] + (frame["letter"] == "x") + 0.3 * random.normal(size=n)
    frame["binary"] = np.where(score > 0.4, "high", "low")
    frame["multiclass"] = np.where(frame["count"] > 3, "many", frame["binary"])
    frame["regression"] = score
    frame.loc[:20, "number"] = np.nan
    frame.loc[10:30, "letter"] = np.nan
    return frame


def fitted(rows: pd.DataFrame, kind: str, tmp_path, models=None, **more) -> TabularPredictor:
    predictor = TabularPredictor(kind, problem_type=kind, path=str(tmp_path / "fits"), verbosity=0)
    train = rows[["number", "count", "letter", "yes", kind]]
    return predictor.fit(
        train,
        hyperparameters=models or SMALL,
        fit_weighted_ensemble=False,
        num_cpus=1,
        num_gpus=0,
        time_limit=120,
        raise_on_model_failure=True,
        **more,
    )


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_every_model_learns_with_rows_held_out(kind, rows, tmp_path):
    predictor = fitted(rows, kind, tmp_path)
    board = predictor.leaderboard().set_index("model")
    assert set(board.index) == {"Committee", "CommitteeBoosting"} | ({"SBPMT"} if kind != "regression" else set())
    chance = {"binary": 0.6, "multiclass": 0.6, "regression": -1.0}[kind]
    assert (board["score_val"] > chance).all()
    boosting = predictor._trainer.load_model("CommitteeBoosting")
    assert boosting.model.early_stopping and boosting.params_trained["n_estimators"] == boosting.model.best_iteration_
    assert boosting.model.table_.categorical.any()


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_every_model_goes_into_a_bag_and_is_trained_again_on_all_rows(kind, rows, tmp_path):
    predictor = fitted(rows, kind, tmp_path, num_bag_folds=2, ag_args_ensemble=IN_PLACE)
    n = 2 if kind == "regression" else 3
    assert predictor.leaderboard()["score_val"].notna().sum() == n
    again = predictor.refit_full()
    assert len(again) == n
    for name in again.values():
        assert len(predictor.predict(rows, model=name)) == len(rows)


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_one_fit_on_all_rows_stands_for_a_bag(kind, rows, tmp_path):
    once = {"ag_args_ensemble": {"use_child_oof": True}}
    models = {CommitteeOnceModel: SMALL[CommitteeModel], SBPMTModel: SMALL[SBPMTModel] | once}
    predictor = fitted(rows, kind, tmp_path, models, num_bag_folds=2, ag_args_ensemble=IN_PLACE)
    for name in predictor.model_names():
        bag = predictor._trainer.load_model(name)
        assert bag.n_children == 1 and np.isfinite(predictor._trainer.get_model_oof(name)).all()


def test_threads_and_time_reach_the_learner(rows, tmp_path):
    predictor = fitted(rows, "binary", tmp_path)
    committee = predictor._trainer.load_model("Committee").model
    assert committee.n_jobs == 1 and 0.0 < committee.time_limit <= 0.9 * 120
    assert committee.random_state == 0


def test_memory_is_estimated_from_the_shape():
    small, large = (pd.DataFrame(np.zeros((n, 10))) for n in (1000, 100_000))
    estimates = [
        CommitteeModel.estimate_memory_usage_static(X=X, problem_type="binary", num_classes=2) for X in (small, large)
    ]
    assert 0 < estimates[0] < estimates[1] < 2**30


@pytest.mark.parametrize("generator", [gen_boosting, gen_sbpmt])
def test_configurations_that_a_search_draws_can_be_trained(generator, rows):
    configurations = generator.generate_all_configs_lst(num_random_configs=6)
    X, y = rows[["number", "count", "letter"]], (rows["binary"] == "high").astype(int)
    for configuration in configurations:
        few = {key: value for key, value in configuration.items() if key != "ag_args"}
        model = generator.model_cls(problem_type="binary", hyperparameters=few)
        model.fit(X=X[:200], y=y[:200], X_val=X[200:], y_val=y[200:], num_cpus=1, num_gpus=0)
        assert ((model.predict_proba(X[200:]) > 0.5) == y[200:]).mean() > 0.6


def test_the_committee_has_nothing_to_tune():
    assert [each["ag_args"]["name_suffix"] for each in gen_committee.generate_all_configs_lst(0)] == ["_c1"]
    assert gen_committee_once.model_cls is CommitteeOnceModel
    with pytest.raises(ValueError, match="nothing to tune"):
        gen_committee.generate_all_configs_lst(num_random_configs=3)
