"""A certificate: one number first, how it was got and what it needs, then the table of all bounds."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

from committee.bounds.result import Bound
from committee.data.counts import counted
from committee.learners.trained.ensemble_losses import JudgedOn, Votes


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proved of the error of a vote on new rows: one number, and a table of bounds.

    Parameters
    ----------
    ensemble : str
        Type of the ensemble.
    on : {"validation", "oob"}
        Which rows judge it.
    n_rows : int
        How many.
    delta : float
        Probability with which the one number may fail; and, apart from it, any of the bounds of the table.
    headline : Bound
        The one number. Which bound it is was settled before the rows were looked at: the test-set bound with all of
        delta where rows are new to the whole vote; else the least of the table, whose bounds share delta.
    bounds : dict of str to Bound
        The table, by their names in `CERTIFICATES`, and "unlabelled_margins"; all of it holds together.
    test_error : float or None
        Error on rows whose labels the bounds know nothing of.
    n_untouched : int, default=0
        How many of the rows out of bag no voter has seen; "test_set" and "binomial" are by these alone.
    votes : {"own", "labels"}, default="own"
        Whose error it is: that of the ensemble's own vote, or of the one in which each voter names a class.

    Examples
    --------
    ``certificate.headline.value``, ``certificate["tandem"].value``, ``print(certificate)``.
    """

    ensemble: str
    on: JudgedOn
    n_rows: int
    delta: float
    headline: Bound
    bounds: dict[str, Bound]
    test_error: float | None = None
    n_untouched: int = 0
    votes: Votes = "own"

    def __getitem__(self, name: str) -> Bound:
        return self.bounds[name]

    @property
    def best(self) -> Bound:
        """The smallest bound of the table; as all of it holds together, it may be chosen after the event."""
        return min(self.bounds.values(), key=lambda bound: bound.value)

    @property
    def vacuous(self) -> bool:
        """True if no bound is below the error of guessing, 1 - 1 / K."""
        return self.headline.vacuous and self.best.vacuous

    def rows(self) -> list[dict[str, Any]]:
        """One record a bound: ``bound``, ``value``, ``vacuous``, ``gap`` (value less test error), ``advice``."""
        return [
            {
                "bound": bound.name,
                "value": bound.value,
                "vacuous": bound.vacuous,
                "gap": None if self.test_error is None else bound.value - self.test_error,
                "advice": bound.advice,
            }
            for bound in self.bounds.values()
        ]

    def sentences(self, source: str = "") -> tuple[str, str, str]:
        """The number, how it was got, and what it needs, a sentence or two each.

        Parameters
        ----------
        source : str, default=""
            Where the rows come from, such as " of new.csv".
        """
        return self._number(), self._how(source), self._needs()

    def _number(self) -> str:
        most = percent(self.headline.value)
        if self.headline.vacuous:
            return (
                f"Nothing is proved of the error on new rows: the bound is {most}, and a class drawn by equal chances "
                f"is wrong on {percent(self.headline.trivial)}."
            )
        vote = "" if self.votes == "own" else " by the vote in which each voter names one class"
        surely = percent(1.0 - self.delta, down=True)
        return f"With probability {surely} at most {most} of new rows are misclassified{vote}."

    def _how(self, source: str) -> str:
        terms = self.headline.terms
        if self._by_errors:
            n, wrong = int(terms["rows"]), int(terms["wrong"])
            which = "that no voter has drawn" if self.on == "oob" else "held out"
            return (
                f"Got from the {counted(n, 'row')}{source} {which}, of which the vote gets {wrong} wrong "
                f"({100.0 * wrong / n:.1f} %): the exact binomial bound, with all of delta."
            )
        rows = (
            f"{counted(self.n_rows, 'row')}{source}, each judged by the voters that have not drawn it"
            if self.on == "oob"
            else f"{counted(self.n_rows, 'row')}{source} held out"
        )
        least = "" if len(self.bounds) == 1 else f", the least of {len(self.bounds)} bounds that share delta"
        return f"Got from {rows}: {self.headline.name}{least}."

    def _needs(self) -> str:
        new = "Needs: new rows are drawn from where these came, independently of each other"
        if self.on == "oob":
            return f"{new}, and the draws did not look at the labels."
        part = (
            "no part in training, weights and choices included" if self._by_errors else "no part in training the voters"
        )
        return f"{new}, and these rows had {part}."

    @property
    def _by_errors(self) -> bool:
        return "wrong" in self.headline.terms

    def __repr__(self) -> str:
        return str(self)  # its inputs are the votes of all voters

    def __str__(self) -> str:
        lines = [*self.sentences()]
        if self.test_error is not None:
            lines.append(f"Test error {self.test_error:.4f}.")
        rows = {"validation": "held-out rows", "oob": "rows, out of bag"}[self.on]
        untouched = f", {self.n_untouched} of which no voter has drawn" if self.n_untouched else ""
        lines.append(
            f"{self.ensemble}, {self.n_rows} {rows}{untouched}; the bounds below hold together with probability "
            f"{1.0 - self.delta:g}:"
        )
        width = max(len(bound.name) for bound in self.bounds.values())
        for row in self.rows():
            gap = "" if row["gap"] is None else f"{row['gap']:+8.4f}"
            lines.append(
                f"  {row['bound']:{width}s}  {row['value']:7.4f}{gap}  {'vacuous' if row['vacuous'] else '':7s}  "
                f"{row['advice']}"
            )
        return "\n".join(lines)


def percent(share: float, *, down: bool = False) -> str:
    """A share in percent, rounded up to a tenth, so that what is at most the share is at most what is printed.

    Examples
    --------
    >>> from committee.learners.trained.certificate import percent
    >>> percent(0.05), percent(0.12301), percent(0.95, down=True)
    ('5 %', '12.4 %', '95 %')
    """
    thousandths = round(1000.0 * share, 6)  # of 0.05 there are 50.000000000000004
    tenths = int(thousandths) if down else ceil(thousandths)
    return f"{tenths / 10:g} %"
