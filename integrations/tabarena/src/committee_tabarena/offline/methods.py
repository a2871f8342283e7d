"""The methods that are compared, each with its default configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from tabarena.benchmark.experiment import TabArenaV0pt1ExperimentBundle

from committee_tabarena.search_spaces import gen_boosting, gen_committee, gen_sbpmt

Protocol = Literal["holdout", "bag"]
OURS: dict[str, Any] = {"Committee": gen_committee, "CommitteeBoosting": gen_boosting, "SBPMT": gen_sbpmt}
THEIRS = ("CatBoost", "LightGBM", "XGBoost", "RandomForest", "ExtraTrees", "EBM")
"""Names in TabArena's register."""
REFERENCE = "RandomForest"
"""Its Elo is 1000, as in TabArena."""


def experiments(protocol: Protocol, n_cpus: int, seconds: float, artifacts: Path) -> list[Any]:
    """Return TabArena v0.1's experiment of each method: the same splits, preprocessing, time and threads for all.

    Parameters
    ----------
    protocol : {"holdout", "bag"}
        A single fit, with rows held out to validate on; or TabArena's own, a bag of eight folds.
    n_cpus : int
        Threads of a fit.
    seconds : float
        Time of a fit.
    artifacts : Path
        Folder for fitted models, which are removed once they have answered.
    """
    bundle = TabArenaV0pt1ExperimentBundle(
        models=[(method, 0) for method in (*OURS.values(), *THEIRS)],
        holdout_experiments=protocol == "holdout",
        sequential_local_fold_fitting=True,
        model_artifacts_base_path=str(artifacts),
        verbosity=0,
        model_verbosity=0,
    )
    return list(bundle.build_experiments(num_cpus=n_cpus, num_gpus=0, memory_limit=None, time_limit=int(seconds)))
