"""Ranks of methods by bencheval, TabArena's own judge."""

from __future__ import annotations

import pandas as pd
from bencheval.evaluator import BenchmarkEvaluator

from committee_tabarena.offline.methods import REFERENCE

BOOTSTRAP = 200
"""Draws of tables behind the interval of an Elo, as in TabArena."""

DIGITS = 9
"""Of errors, as they are compared: sums in another order make 0 of one method 1.1e-16 of another."""


def complete(results: pd.DataFrame) -> pd.DataFrame:
    """Return the results of those tables and folds that every method has.

    Examples
    --------
    >>> results = pd.DataFrame({"method": ["a", "b", "a"], "table": ["x", "x", "y"], "fold": [0, 0, 0]})
    >>> complete(results)["table"].tolist()
    ['x', 'x']
    """
    count = results.groupby(["table", "fold"])["method"].transform("nunique")
    return results[count == results["method"].nunique()]


def rounded(results: pd.DataFrame) -> pd.DataFrame:
    """Return the results with errors of nine digits, so that a perfect vote ties with a perfect vote.

    Examples
    --------
    >>> rounded(pd.DataFrame({"metric_error": [0.0, 1.1e-16, 0.25]}))["metric_error"].tolist()
    [0.0, 0.0, 0.25]
    """
    return results.assign(metric_error=results["metric_error"].round(DIGITS))


def leaderboard(results: pd.DataFrame) -> pd.DataFrame:
    """Rank the methods: Elo with the share of draws of tables that is 95 %, win-rate, rank, improvability.

    Errors are `rounded` before they are compared.

    Parameters
    ----------
    results : DataFrame
        Columns method, table, fold, metric_error, time_train_s and time_infer_s; every method on the same tables and
        folds.
    """
    judge = BenchmarkEvaluator(task_col="table", seed_column="fold")
    needed = rounded(results)[["method", "table", "fold", "metric_error", "time_train_s", "time_infer_s"]]
    calibrated = {"calibration_framework": REFERENCE, "calibration_elo": 1000, "BOOTSTRAP_ROUNDS": BOOTSTRAP}
    board: pd.DataFrame = judge.leaderboard(needed, baseline_method=REFERENCE, elo_kwargs=calibrated)
    return board
