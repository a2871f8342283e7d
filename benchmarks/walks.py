"""Files and functions of the package that one call enters: ``python -m benchmarks.walks [name]`` lists them for a name.

A reader who follows a call has these to open. Comprehensions count as functions; what ran before, such as imports,
does not.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import committee

HOME = Path(committee.__file__).parent


def entered(call: Callable[[], object]) -> set[tuple[str, str]]:
    """File and function of every frame of the package that `call` opens."""
    seen: set[tuple[str, str]] = set()

    def look(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(f"{HOME}/"):
            seen.add((code.co_filename.removeprefix(f"{HOME}/"), code.co_qualname))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """The calls that are walked, on one small table."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = committee.AdaBoostClassifier(10).fit(X, y)
    return {
        "AdaBoost": lambda: committee.AdaBoostClassifier(10).fit(X, y),
        "gradient boosting": lambda: committee.GradientBoostingClassifier(n_estimators=5).fit(X, y),
        "SBPMT": lambda: committee.SBPMTClassifier(n_estimators=3).fit(X, y),
        "QuadBoost": lambda: committee.QuadBoostClassifier(n_estimators=20).fit(X, y),
        "ArcGV": lambda: committee.ArcGVClassifier(10).fit(X, y),
        "prune": lambda: committee.prune(forest, X, y, max_nodes=0.1),
        "save": lambda: small.save(folder / "model.safetensors"),
    }


def main() -> None:
    """Print the walks as a table, or every function of one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.walks", description=__doc__)
    parser.add_argument("name", nargs="?", help="a walk to list whole")
    name = parser.parse_args().name
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for walk, call in calls(Path(folder)).items():
            if name in (None, walk):
                call()  # what is imported late is imported now
                seen = entered(call)
                print(f"{walk}: {len({file for file, _ in seen})} files, {len(seen)} functions")
                if name:
                    print("\n".join(f"  {file}: {function}" for file, function in sorted(seen)))


if __name__ == "__main__":
    main()
