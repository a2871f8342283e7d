"""Checkpoints that no fit has written: arrays and documents changed, digests made to match.

A fit that is given one must refuse it by name, end with whatever model, or fail and say where it went on from.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

from committee import Checkpoint, CheckpointError
from tests.checkpoint_cases import CASES, unfitted
from tests.crafted_files import craft, places
from tests.fuzz.model_files import at, change_array, damage, some_value

DEEPEST = 30
"""Values nested deeper are the business of another fuzzer."""


class CheckpointFiles:
    """The checkpoint of a whole fit, changed in one to four places; a case begins with the name of the fit."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "fit.checkpoint"

    def case(self, random: Random) -> bytes:
        """A seed's file, changed."""
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
                at(document, path[:-1])[path[-1]] = value if _is_shallow(value) else None

        return name.encode() + b"\n" + craft(content, change)

    def run(self, case: bytes) -> str:
        """Go on from a case."""
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


def _is_shallow(value: Any) -> bool:
    try:
        return len(json.dumps(value)) < 10_000
    except (ValueError, RecursionError):
        return False


@cache
def whole(name: str) -> bytes:
    """The checkpoint of a fit that has ended."""
    model, X, y = unfitted(name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "fit.checkpoint"
        model.fit(X, y, checkpoint=path)
        return path.read_bytes()
