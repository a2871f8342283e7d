"""Plan of the rebuilt comparison of nested trees: tables, learners, and the settings that each is fitted with."""

from __future__ import annotations

from dataclasses import dataclass
from math import log2
from typing import Any, Literal, TypeAlias

ADABOOST, TREE, BINARY, GREEDY = "AdaBoost", "boosting tree", "2-matryoshka", "greedy matryoshka"
REFERENCE = "hard AdaBoost"
PROBABILISTIC = (ADABOOST, TREE, BINARY, GREEDY)
"""The document's algorithms, of voters that answer at random."""
METHODS = (*PROBABILISTIC, REFERENCE)
"""Those, and confidence-rated AdaBoost on ordinary stumps."""

SOFTNESS = 0.25
"""Of the stumps where it is not what is varied."""

NAMES = (
    "sonar", "ionosphere", "horse_colic", "diabetes_early", "credit", "transfusion", "pima", "fourclass", "tic_tac_toe",
    "german", "banknote", "spambase",
)  # fmt: skip
"""Twelve tables of two classes and of 208 to 4,601 rows; five have categories, two of them missing values too."""
QUICK_NAMES = ("sonar", "transfusion")
SMALL_NAMES = ("wdbc",)
"""Not one of the twelve, but it comes along."""

Draws: TypeAlias = int | str | None
Choose: TypeAlias = Literal["mass", "drop", "entropy"]


@dataclass(frozen=True)
class Setting:
    """A learner and the parameters that are varied."""

    method: str
    """Out of `METHODS`."""
    voters: int
    """T: the most voters there may be."""
    softness: float = SOFTNESS
    """Of the stumps, in standard deviations of their column."""
    n_draws: Draws = None
    """Answers that probabilities are estimated from; None: they are known."""
    estimate: str = "map"
    """Their estimate: "map" or "ml"."""
    choose: Choose = "mass"
    """Leaf at which the boosting tree grows next."""

    @property
    def key(self) -> tuple[Any, ...]:
        """Values that tell it from others."""
        return tuple(self.place.values())

    @property
    def place(self) -> dict[str, Any]:
        """Those values by their names in a cell."""
        varied = {"softness": self.softness, "n_draws": self.n_draws, "estimate": self.estimate}
        return {"method": self.method, "asked": self.voters, **varied, "choose": self.choose}

    def fits(self, rows: int) -> bool:
        """Whether so many training rows can serve it: a 2-matryoshka wants no more voters than rows."""
        return self.method != BINARY or self.voters <= rows

    def make(self, seed: int) -> Any:
        """The unfitted classifier, on one thread; the seed is that of the draws.

        Examples
        --------
        >>> from committee.papers.matryoshka.plan import BINARY, Setting
        >>> model = Setting(BINARY, 64).make(0)
        >>> model.levels, model.softness
        (6, 0.25)
        """
        from committee import (
            AdaBoostClassifier,
            BoostingTreeClassifier,
            MatryoshkaClassifier,
            ProbabilisticAdaBoostClassifier,
        )

        if self.method == REFERENCE:
            return AdaBoostClassifier(self.voters, vote="confidence", calibrate=None, random_state=seed, n_jobs=1)
        drawn = {"n_draws": self.n_draws, "estimate": self.estimate}
        options: dict[str, Any] = {"softness": self.softness, **drawn, "random_state": seed, "n_jobs": 1}
        options["calibrate"] = None  # the paper's probabilities
        if self.method == ADABOOST:
            return ProbabilisticAdaBoostClassifier(self.voters, **options)
        if self.method == TREE:
            return BoostingTreeClassifier(self.voters, choose=self.choose, **options)
        if self.method == GREEDY:
            return MatryoshkaClassifier("greedy", max_voters=self.voters, **options)
        return MatryoshkaClassifier(levels=round(log2(self.voters)), **options)


@dataclass(frozen=True)
class NestingPlan:
    """Sizes of the comparison."""

    sizes: tuple[int, ...]
    """Numbers of voters T that all methods are compared at; powers of two."""
    base: int
    """T where something else is varied, one of them."""
    softness: tuple[float, ...]
    """Softnesses tried with the probabilistic methods."""
    draws: tuple[int | str, ...]
    """Answers that probabilities are estimated from."""
    drawn: tuple[str, ...]
    """Methods that this is tried with."""
    choices: tuple[Choose, ...]
    """Ways to choose the leaf at which the boosting tree grows."""
    clocks: tuple[str, ...]
    """Rules by a clock of how many answers AdaBoost draws."""
    n_paths: int
    """Paths sampled of each row where those of a graph are too many to add up."""

    def by_size(self) -> list[Setting]:
        """All methods at each number of voters."""
        return [Setting(method, T, 0.0 if method == REFERENCE else SOFTNESS) for T in self.sizes for method in METHODS]

    def by_softness(self) -> list[Setting]:
        """The probabilistic methods with each softness."""
        return [Setting(method, self.base, s) for method in PROBABILISTIC for s in self.softness]

    def by_draws(self) -> list[Setting]:
        """Known probabilities, and each way of estimating them."""
        ways: list[tuple[Draws, str]] = [(None, "map"), *((R, how) for how in ("map", "ml") for R in self.draws)]
        return [Setting(method, self.base, SOFTNESS, R, how) for method in self.drawn for R, how in ways]

    def by_choice(self) -> list[Setting]:
        """The boosting tree, grown in each way."""
        return [Setting(TREE, self.base, choose=choose) for choose in self.choices]

    def by_clock(self) -> list[Setting]:
        """AdaBoost with known probabilities, with draws until Z first rises, and by both clocks."""
        return [Setting(ADABOOST, self.base, n_draws=way) for way in (None, "first_rise", *self.clocks)]

    def of_growth(self) -> list[Setting]:
        """What growth and entropy are measured with, each once."""
        usual = (Setting(method, self.base) for method in PROBABILISTIC)
        return list(dict.fromkeys([*usual, *self.by_choice(), *self.by_clock()]))

    def settings(self) -> list[Setting]:
        """All of them, each once."""
        return list(dict.fromkeys([*self.by_size(), *self.by_softness(), *self.by_draws(), *self.of_growth()]))


_DRAWN = (ADABOOST, TREE, BINARY)
_CHOICES: tuple[Choose, ...] = ("mass", "drop", "entropy")
_CLOCKS = ("stopwatch", "look_ahead")
FULL = NestingPlan(
    (16, 64, 256), 64, (0.0, 0.1, 0.25, 0.5, 1.0), (1, 4, 16, 64, "first_rise"), _DRAWN, _CHOICES, _CLOCKS, 200
)
QUICK = NestingPlan((4, 8), 8, (0.0, 0.25), (2, "first_rise"), _DRAWN, _CHOICES, _CLOCKS, 50)
MOST_QUICK_REPEATS = 2
