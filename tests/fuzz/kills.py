"""Fits that are killed at random moments: what stands at their checkpoint is whole, and goes on to the same bits."""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import committee as c
from tests.checkpoint_cases import CASES, bits, unfitted

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
        """Make the next case."""
        moments = [random.random() * OUTLASTS for _ in range(random.randint(1, MOST_KILLS))]
        return json.dumps({"learner": random.choice(sorted(CASES)), "moments": moments}).encode()

    def run(self, case: bytes) -> str:
        """Run a case: a whole fit in this process, and attempts in others."""
        described = json.loads(case)
        expected, seconds = whole(described["learner"])
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
def whole(name: str) -> tuple[Any, float]:
    """Bits of a fit that nobody kills, and the seconds that it takes."""
    model, X, y = longer(name)
    begun = time.perf_counter()
    fitted = model.fit(X, y)
    return bits(fitted), time.perf_counter() - begun
