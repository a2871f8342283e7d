"""Importances of the columns as bars."""

from __future__ import annotations

from committee.report.explained.importances import Importances
from committee.report.grid import Grid
from committee.report.page import Picture
from committee.report.svg.bars import Bar, bars

MOST_BARS = 12


def importance_picture(found: Importances) -> Picture:
    """Bars of the most used columns; all others that are used are one bar, their sum."""
    order = found.order
    shown = order[:MOST_BARS] if len(order) > MOST_BARS + 1 else order
    some = [Bar(found.columns[j], share := float(found.shares[j]), f"{share:.1%}") for j in shown]
    rest = order[len(shown) :]
    if rest:
        total = float(found.shares[rest].sum())
        some.append(Bar(f"{len(rest)} others, together", total, f"{total:.1%}", is_rest=True))
    unused = len(found.columns) - len(order)
    notes = f" {unused:,} of {len(found.columns):,} columns are not used." if unused else ""
    said = "; ".join(f"{bar.name} {bar.text}" for bar in some[:5])
    return Picture(
        "",
        f"Each column's {found.words}, by the training rows: what the model uses, not what is true of the world. Of "
        f"two columns that say the same, one may have it all.{notes}",
        bars(some, f"Shares of the columns: {said}"),
        Grid("Importances", ("column", "share"), tuple((bar.name, bar.text) for bar in some), "lr"),
    )
