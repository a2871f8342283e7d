"""Checkpoints that no fit has written: arrays and documents changed, digests made to match.

A fit that is given one must refuse it by name, end with whatever model, or fail and say where it went on from.
"""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import committee as c
from committee import Checkpoint, CheckpointError
from tests.checkpoint_cases import CASES, bits, unfitted
from tests.fuzz.model_files import change_array, damage, fits_json, some_value
from tests.model_files import at, craft, places


class CheckpointFiles:
    """The checkpoint of a whole fit, changed in one to four places; a case begins with the name of the fit."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "fit.checkpoint"

    def case(self, random: Random) -> bytes:
        name = random.choice(sorted(CASES))
        content = whole(name)
        if random.random() < 0.1:
            return name.encode() + b"\n" + damage(random, content)

        def change(document: dict[str, Any], arrays: dict[str, Any]) -> None:
            for _ in range(random.choice((1, 1, 2, 4))):
                if random.random() < 0.8:
                    change_array(random, document, arrays)
                    continue
                path = random.choice(places(document))
                value = some_value(random)
                at(document, path[:-1])[path[-1]] = value if fits_json(value, 10_000) else None

        return name.encode() + b"\n" + craft(content, change)

    def run(self, case: bytes) -> str:
        name, _, content = case.partition(b"\n")
        self.path.write_bytes(content)
        model, X, y = unfitted(name.decode())
        try:
            model.fit(X, y, checkpoint=Checkpoint(self.path, interval=1e6))
        except CheckpointError as error:
            assert str(self.path) in str(error)
            assert not hasattr(model, "committee_")
            return "refused"
        except Exception as error:
            assert str(self.path) in error.__notes__[0]
            assert not hasattr(model, "committee_")
            return "failed"
        return "gone on from"


@cache
def whole(name: str) -> bytes:
    """The checkpoint of a fit that has ended."""
    model, X, y = unfitted(name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fit.checkpoint"
        model.fit(X, y, checkpoint=path)
        return path.read_bytes()


MOST_KILLS = 4
"""Attempts that are killed before one is left alone."""
OUTLASTS = 1.3
"""An attempt is killed before this many times as long as a whole fit takes, so that some end before."""
LARGER: dict[str, dict[str, Any]] = {
    "n_estimators": {"n_estimators": 150},
    "max_voters": {"max_voters": 60},
    "levels": {"levels": 6},
}
"""Parameters that make a fit long enough to be killed in its middle."""


class Kills:
    """A case is a learner and when its attempts are killed."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "fit.checkpoint"

    def case(self, random: Random) -> bytes:
        moments = [random.random() * OUTLASTS for _ in range(random.randint(1, MOST_KILLS))]
        return json.dumps({"learner": random.choice(sorted(CASES)), "moments": moments}).encode()

    def run(self, case: bytes) -> str:
        """Run a case: a whole fit in this process, and attempts in others."""
        described = json.loads(case)
        expected, seconds = whole_checkpoint(described["learner"])
        self.path.unlink(missing_ok=True)
        n_killed = sum(self._killed(described["learner"], moment * seconds) for moment in described["moments"])
        model, X, y = longer(described["learner"])
        assert bits(model.fit(X, y, checkpoint=self.path)) == expected, "other bits"
        left = [path.name for path in self.path.parent.iterdir()]
        assert left == [self.path.name], f"files are left: {left}"
        return f"killed {n_killed} times"

    def _killed(self, name: str, after: float) -> bool:
        """Begin an attempt in another process; whether it was killed before its end."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forks in a process with threads: fits are safe after one
            child = os.fork()
        if not child:
            try:
                model, X, y = longer(name)
                model.fit(X, y, checkpoint=c.Checkpoint(self.path, interval=0.0))
            finally:
                os._exit(0)
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        return os.WIFSIGNALED(status)


def longer(name: str) -> tuple[Any, Any, Any]:
    """A learner of more rounds or members, with a seed, and its rows."""
    model, X, y = unfitted(name)
    known = model.get_params()
    for parameter, values in LARGER.items():
        if isinstance(known.get(parameter), int):
            model.set_params(**values)
    if "random_state" in known:
        model.set_params(random_state=3)
    return model, X, y


@cache
def whole_checkpoint(name: str) -> tuple[Any, float]:
    """Bits of a fit that nobody kills, and the seconds that it takes."""
    model, X, y = longer(name)
    begun = time.perf_counter()
    fitted = model.fit(X, y)
    return bits(fitted), time.perf_counter() - begun
