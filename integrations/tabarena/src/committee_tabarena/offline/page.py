"""The table of ranks in Markdown, and what it was measured on."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pandas as pd

NAMES = {
    "Committee": "**committee, nothing tuned**",
    "CommitteeBoosting": "**committee's gradient boosting**",
    "SBPMT": "**SBPMT**",
    "RandomForest": "random forest",
    "ExtraTrees": "extra trees",
}
LIBRARIES = (
    "committee",
    "tabarena",
    "bencheval",
    "autogluon.tabular",
    "catboost",
    "lightgbm",
    "xgboost",
    "xgboost-cpu",
    "interpret-core",
    "scikit-learn",
    "numpy",
    "pandas",
)


def table_of(board: pd.DataFrame, results: pd.DataFrame) -> str:
    """Return the table of the page: a line for each method, best first.

    Parameters
    ----------
    board : DataFrame
        What `leaderboard` has returned.
    results : DataFrame
        The results that it was made of, for the seconds.
    """
    seconds = results.groupby("method")["processor_s"].sum()
    lines = [
        "| method | Elo | 95 % | win-rate | rank | improvability | processor time |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for method, row in board.iterrows():
        key = str(method)
        name = NAMES.get(key, key)
        lines.append(
            f"| {name} | {row['elo']:.0f} | +{row['elo+']:.0f} / -{row['elo-']:.0f} | {row['winrate']:.0%} "
            f"| {row['rank']:.2f} | {row['improvability']:.1%} | {seconds[key]:.0f} s |"
        )
    return "\n".join(lines)


def machine() -> dict[str, object]:
    """Describe the machine: no host name, no path, no user."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()}, {platform.machine()}",
        "python": platform.python_version(),
        "libraries": {name: found for name in LIBRARIES if (found := _version(name))},
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)$", info.read_text("utf-8"), re.MULTILINE) if info.exists() else None
    return found[1] if found else platform.processor() or platform.machine()


def _version(library: str) -> str | None:
    try:
        return version(library)
    except PackageNotFoundError:
        return None
