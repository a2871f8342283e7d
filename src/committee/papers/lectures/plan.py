"""How much of the lecture notes' experiments is run: in full, or a little of each to see that all is well."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """Sizes of the experiments.

    Attributes
    ----------
    rounds : tuple of int
        Rounds of AdaBoost after which margins are looked at; the lecture notes' are 5, 100 and 1000.
    folds : int
        Stratified folds of the table.
    repeats : int
        Times that a simulation is drawn anew.
    training_rows, test_rows : int
        Rows of each simulation.
    boosting_rounds : int
        Rounds of gradient boosting.
    trees : int
        Trees of the forest.
    """

    rounds: tuple[int, ...]
    folds: int
    repeats: int
    training_rows: int
    test_rows: int
    boosting_rounds: int
    trees: int


FULL = Plan((5, 100, 1000), 10, 20, 1000, 20_000, 200, 500)
QUICK = Plan((2, 5, 10), 2, 2, 200, 500, 10, 20)
