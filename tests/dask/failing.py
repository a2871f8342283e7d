"""Voters whose training goes wrong, so many times."""

import os
import signal
import time
from pathlib import Path

from sklearn.tree import DecisionTreeClassifier


class FailingVoter(DecisionTreeClassifier):
    """A tree of depth 2. `how` the first fits of all, as many as `times` says, go wrong; `folder` counts them."""

    def __init__(self, how="", times=0, folder="", seconds=0.0, random_state=None):
        super().__init__(max_depth=2, random_state=random_state)
        self.how, self.times, self.folder, self.seconds = how, times, folder, seconds

    def fit(self, X, y, sample_weight=None):
        time.sleep(self.seconds)
        if any(self._is_turn(number) for number in range(self.times)):
            getattr(self, self.how)()
        return super().fit(X, y, sample_weight)

    def _is_turn(self, number):
        try:
            os.close(os.open(Path(self.folder) / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def stop(self):
        """Stand still until somebody goes on with the process, whose number the folder tells."""
        (Path(self.folder) / "stopped").write_text(str(os.getpid()), "utf-8")
        os.kill(os.getpid(), signal.SIGSTOP)

    def fill_memory(self):
        held = []
        while True:
            held.append(b"1" * 2**24)
            time.sleep(0.01)

    def refuse(self):
        raise ZeroDivisionError("no row is good enough")
