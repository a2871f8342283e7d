"""Raw scores of the same boosted trees, by treelite, onnxruntime and LightGBM, too: batches and sizes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import onnxruntime
import treelite

from benchmarks.figures import Figure, Findings, command
from benchmarks.pairing import Work, interleave
from benchmarks.tables import collisions
from committee import Committee, to_onnx, to_treelite

MODELS = ((10, 31), (100, 31), (500, 31), (2_000, 31), (100, 255), (20, 5_000))
BATCHES = (1, 100, 10_000, 1_000_000)
MOST_STEPS = 100_000_000
"""Rows times trees of one call at most; longer ones are left out."""
MOST_COMPILED = 4_000
"""Leaves of all trees that are turned into C: a compiler takes minutes for more."""


@dataclass(frozen=True)
class Sides:
    """One model as everybody reads it."""

    committee: Committee
    booster: Any
    read: Any
    compiled: Any
    session: Any

    @classmethod
    def of(cls, booster: Any, leaves: int, folder: Path) -> Sides:
        """Read, export and, if it is small, compile LightGBM's trees."""
        committee = Committee.from_estimator(booster)
        read = to_treelite(committee)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(to_onnx(committee).SerializeToString(), options)
        return cls(committee, booster, read, _compiled(read, folder) if leaves <= MOST_COMPILED else None, session)

    def works(self, rows: Any) -> Iterator[tuple[str, Work]]:
        """What each is asked for."""
        yield "committee", partial(self.committee.decision_function, rows)
        yield "LightGBM", partial(self.booster.predict, rows, raw_score=True, num_threads=1)
        yield "treelite", partial(treelite.gtil.predict, self.read, rows, nthread=1, pred_margin=True)
        yield "onnxruntime", partial(self.session.run, None, {"X": rows})
        if self.compiled is not None:
            tl2cgen, predictor = self.compiled
            yield (
                "treelite, compiled",
                lambda: predictor.predict(tl2cgen.DMatrix(rows), pred_margin=True),
            )


def _compiled(model: Any, folder: Path) -> Any:
    try:
        import tl2cgen
    except ModuleNotFoundError:
        return None
    library = folder / "trees.so"
    tl2cgen.export_lib(model, toolchain="gcc", libpath=str(library), params={"parallel_comp": 8})
    return tl2cgen, tl2cgen.Predictor(str(library), nthread=1)


def measure(findings: Findings, quick: bool) -> None:
    """One row to a million of 28 columns; the fastest of the others is the one to beat."""
    models, batches = (MODELS[:1], BATCHES[:2]) if quick else (MODELS, BATCHES)
    findings.settings = {"threads": 1, "onnxruntime": onnxruntime.__version__, "treelite": treelite.__version__}
    X, y = collisions(20_000, seed=0)
    many, _ = collisions(max(batches), seed=1)
    for trees, leaves in models:
        settings = {
            "objective": "binary",
            "num_leaves": leaves,
            "min_data_in_leaf": 2,
            "min_sum_hessian_in_leaf": 0.0,
            "num_threads": 1,
            "verbose": -1,
        }
        booster = lightgbm.train(settings, lightgbm.Dataset(X, y), trees)
        with tempfile.TemporaryDirectory() as folder:
            sides = Sides.of(booster, trees * leaves, Path(folder))
            for n in batches:
                if n * trees <= MOST_STEPS:
                    _race(
                        findings,
                        f"{trees:,} trees of {leaves:,} leaves, {n:,} {'row' if n == 1 else 'rows'}",
                        sides,
                        many[:n].copy(),
                    )


def _race(findings: Findings, work: str, sides: Sides, rows: Any) -> None:
    works = dict(sides.works(rows))
    mine, theirs = works["committee"](), works["LightGBM"]()
    if not np.allclose(mine, theirs, atol=1e-9):
        raise RuntimeError(f"{work}: other scores, by {np.abs(mine - theirs).max()}")
    trial = interleave(works, 5 if len(rows) > 10_000 else 11)
    findings.record(work, trial)
    others = [name for name in works if name != "committee"]
    fastest = min(others, key=lambda name: float(np.median(trial.cpu[name])))
    for name in others:
        findings.add(
            Figure(
                work,
                name,
                "x",
                trial.ratio(name, "committee"),
                1.0 if name == fastest else None,
                clock="cpu",
                wall=trial.ratio(name, "committee", "wall"),
                remark="the fastest of the others" if name == fastest else "",
            )
        )


if __name__ == "__main__":
    command("predict_grid", measure)
