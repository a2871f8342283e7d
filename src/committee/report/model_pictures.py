"""Pictures of a model: importances, contributions and effects of its columns, leaves of a tree, and trials."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.data.text import pluralize
from committee.report.column_effects import Effect
from committee.report.displays.contributions import MOVED, SPREAD, MeanContributionDisplay
from committee.report.displays.partial_dependence import LOCAL, ROWS, WHERE_MISSING, PartialDependenceDisplay
from committee.report.displays.tree import leaf_scores
from committee.report.displays.tree_text import TreeText, table_with_forms
from committee.report.displays.trials import TrialsDisplay
from committee.report.drawing.chart import shared_legend
from committee.report.drawing.rows import Bar, Stack, bars, rest_bar, stacks
from committee.report.drawing.scale import format_number, format_percent, format_signed
from committee.report.drawing.svg import AGAINST, FOR, REST, Color, legend, side_by_side
from committee.report.explanation import Explanation
from committee.report.inspection import Importances
from committee.report.members import has_members
from committee.report.page import Grid, Picture
from committee.vote.committee import Committee
from committee.vote.explain.rules import leaf_rules
from committee.vote.members import MemberCommittees, StackedVoters, reads_tables

if TYPE_CHECKING:
    from markupsafe import Markup


# --- columns ----------------------------------------------------------------------------------------------------------


MOST_BARS = 12

MOST_EXPLAINED, FEWEST_EXPLAINED = 200, 20
"""Largest and smallest limit of the rows whose contributions are averaged."""

SMALL = 0.15
"""Share of the largest effect below which a column gets the finer scale."""

_WORK = 2e8  # nodes times rows and classes that are walked for contributions: some ten seconds


def importance_picture(found: Importances) -> Picture:
    order = found.order
    shown = order[:MOST_BARS] if len(order) > MOST_BARS + 1 else order
    rows = [Bar(found.columns[j], share := float(found.shares[j]), f"{share:.1%}") for j in shown]
    rest = order[len(shown) :]
    total = float(found.shares[rest].sum())
    rows += rest_bar(len(rest), total, f"{total:.1%}")
    unused = len(found.columns) - len(order)
    note = f" {unused:,} of {len(found.columns):,} columns are not used." if unused else ""
    return Picture(
        "",
        f"{found.measure[:1].upper()}{found.measure[1:]} on the training rows, of each column. It describes the model,"
        f" not the data: of two correlated columns, one may have it all.{note}",
        bars(rows, "Shares of the columns: " + "; ".join(f"{bar.name} {bar.text}" for bar in rows[:5])),
        Grid("Importances", ("column", "share"), tuple((bar.name, bar.text) for bar in rows), "lr"),
    )


def contribution_picture(found: Explanation) -> Picture | None:
    if found.X is None:
        return None
    try:
        committee = found.model.committee_
        per_row = max(1.0, float(committee.n_nodes) * committee.voters.n_outputs)
        most = max(FEWEST_EXPLAINED, min(MOST_EXPLAINED, int(_WORK / per_row)))
        mean = MeanContributionDisplay.of(found.model, found.X, max_rows=most, max_features=MOST_BARS)
    except (AttributeError, TypeError, ValueError):  # voters without trees, members with a log link
        return None
    rows = mean.bars()
    what = f"Mean absolute contribution of each column to the {mean.subject}"
    if mean.subject == MOVED:
        what = "Mean probability that each column moves between classes"
    caption = (
        f"{what}, over {pluralize(len(mean.sizes), 'row')}. Lines: {SPREAD}; a line that ends inside its bar belongs to"
        " a column that matters in few rows."
    )
    description = "Mean contributions: " + "; ".join(f"{bar.name} {bar.text}" for bar in rows[:5])
    return Picture("Mean contributions", caption, bars(rows, description))


def effect_pictures(found: list[Effect], outputs: list[tuple[int, str]], *, of_classes: bool) -> Picture:
    from markupsafe import Markup

    columns = [k for k, _ in outputs]
    spans = [float(np.ptp(effect.dependence[:, columns], axis=0).max()) for effect in found]
    is_small = [span < SMALL * max(spans) for span in spans]
    large, small = ([each for each, is_one in zip(found, is_small, strict=True) if is_one == k] for k in (False, True))
    drawn = [PartialDependenceDisplay(large, outputs, of_classes=of_classes)]
    body = _panels(drawn[0])
    if small:
        drawn.append(PartialDependenceDisplay(small, outputs, of_classes=of_classes, kind="average"))
        finer = f"These columns have less than {SMALL:.0%} of the largest effect above; their scale is finer."
        body += Markup("<p>{}</p>").format(finer) + _panels(drawn[1])
    charts = [chart for each in drawn for _, chart in each.panels()]
    shown = {label for chart in charts for _, label in chart.labels}
    return Picture("", _caption(found, shown, of_classes), (shared_legend(charts) if len(shown) > 1 else "") + body)


def _panels(display: PartialDependenceDisplay) -> Markup:
    def text(value: float) -> str:
        return f"{value:.0%}" if display.of_classes else format_number(value, 3)

    drawn = []
    for effect, (heading, chart) in zip(display.effects, display.panels(), strict=True):
        assert isinstance(effect, Effect)  # pages have no maps of pairs
        curves = [effect.dependence[:, k] for k, _ in display.outputs]
        ranges = "; ".join(f"from {text(curve.min())} to {text(curve.max())}" for curve in curves)
        if effect.missing is not None:
            ranges += f"; {WHERE_MISSING} " + ", ".join(text(effect.missing[k]) for k, _ in display.outputs)
        drawn.append(chart.svg(f"{display.subject} by {effect.column}: {ranges}", heading=heading))
    return side_by_side(drawn)


def _caption(found: list[Effect], shown: set[str], of_classes: bool) -> str:
    what = "probabilities" if of_classes else "predictions"
    if found[0].n_rows:
        caption = (
            f"Partial dependence: mean {what} of {found[0].n_rows:,} rows if all of them had the value on the"
            " horizontal axis in this column, and their own values in all others."
        )
        caption += " Strokes on the axis are rows." if any(len(effect.seen) for effect in found) else ""
    else:
        caption = (
            f"Mean {what} if only this column is known: at splits on other columns, rows go both ways, in the shares of"
            " the training rows that the trees have stored. No data is needed."
        )
    if any(effect.missing is not None for effect in found):
        caption += f" Dotted level: mean {what} if the value were missing in all rows."
    if ROWS in shown:
        caption += (
            " Pale lines: predictions of single rows. Where they are not parallel, the effect depends on other columns."
        )
    if LOCAL in shown:
        caption += (
            " The dashed curve shows accumulated local effects, which change each row's value only a little. Where its"
            " shape differs from the mean's, the column is correlated with others."
        )
    return caption


# --- leaves -----------------------------------------------------------------------------------------------------------


MOST_LEAVES, MOST_LINEAR, MOST_TERMS = 12, 6, 6
_MOST_CLASSES = 6


@dataclass(frozen=True, eq=False)
class Leaf:
    number: int
    rule: str
    share: float | None  # of the training rows
    words: str
    value: float | None = None
    classes: F64 | None = None  # (K,) class shares, or 1 for the class of its vote

    @property
    def text(self) -> str:
        return self.words + self.share_text

    @property
    def share_text(self) -> str:
        return "" if self.share is None else f" ({format_percent(self.share)} of rows)"


@dataclass(frozen=True, eq=False)
class TreeLeaves:
    """Leaves of a tree with the most training rows, of `n_leaves` in all."""

    title: str
    leaves: tuple[Leaf, ...]
    n_leaves: int
    names: tuple[str, ...]

    @classmethod
    def of(cls, model: Any, had_missing: NDArray[np.bool_] | None = None) -> TreeLeaves | None:
        """Return the leaves of the first tree; rules of columns in `had_missing` (p,) include missing values."""
        for member, votes in _candidates(model):
            try:
                tree = TreeText.of(votes, 0, None)
            except TypeError:
                continue
            tree = replace(tree, table=table_with_forms(tree.table, model))
            missing = np.zeros(tree.forest.n_features, dtype=bool) if had_missing is None else had_missing
            words, shares = tree.words(short=False), tree.shares
            leaves = []
            for number, rule in leaf_rules(tree.forest, 0, tree.table, missing).items():
                share = None if shares is None else float(shares[number])
                leaves.append(Leaf(number, rule, share, words[number], *_content(tree.values[number], len(tree.names))))
            leaves.sort(key=lambda leaf: -(leaf.share or 0.0))
            title = tree.title + (f" (of the member {member})" if member else "")
            return cls(title[:1].upper() + title[1:], tuple(leaves[:MOST_LEAVES]), len(leaves), tuple(tree.names))
        return None


def _candidates(model: Any) -> list[tuple[str, Any]]:
    if not has_members(model):
        return [("", model)]
    found = []
    for k in np.argsort(-model.member_weights_, kind="stable").tolist():
        votes = model.member(model.member_names_[k])
        while isinstance(votes.voters, MemberCommittees):  # of several fits the first
            votes = votes.voters.members[0]
        if not reads_tables(votes) and not isinstance(votes.voters, StackedVoters):
            own = {"classes": model.classes_[votes.classes]} if isinstance(votes, Committee) else {}
            votes = replace(votes, table=votes.table.decode_categories(model.table_), **own)
            found.append((model.member_names_[k], votes))
    return found


def _content(value: Any, n_classes: int) -> tuple[float | None, F64 | None]:
    if value is None:
        return None, None
    if isinstance(value, int):
        return None, np.eye(n_classes)[value] if value >= 0 else np.zeros(n_classes)
    numbers: F64 = np.asarray(value, dtype=np.float64)
    if numbers.size == 1:
        return float(numbers[0]), None
    is_share = bool((numbers >= 0.0).all() and abs(numbers.sum() - 1.0) < 1e-6 and numbers.size == n_classes)
    return (None, numbers) if is_share else (None, None)


def leaves_picture(found: TreeLeaves) -> Picture:
    which = "The leaf with the most training rows comes first."
    if found.n_leaves > len(found.leaves):
        which = f"The {len(found.leaves)} leaves with the most training rows, of {found.n_leaves:,}."
    description = "; ".join(f"{leaf.rule}: {leaf.words}" for leaf in found.leaves[:4])
    caption = f"Each leaf: its rule, its content, and its share of the training rows. {which}"
    if all(leaf.classes is not None for leaf in found.leaves):
        key, rows = _class_stacks(found)
        body = legend(key) + stacks(rows, description)
    elif any(leaf.value is None for leaf in found.leaves):
        body = stacks([Stack(leaf.rule, (), leaf.text) for leaf in found.leaves], description)
    else:
        values = [(leaf, leaf.value or 0.0) for leaf in found.leaves]
        lines = [Bar(leaf.rule, value, format_number(value, 3) + leaf.share_text) for leaf, value in values]
        have_signs = min(value for _, value in values) < 0.0
        signs = [(FOR, "above 0"), (AGAINST, "below 0")] if have_signs else [(FOR, "value of the leaf")]
        body = legend(signs) + bars(lines, description, most_lines=3)
    return Picture(found.title, caption, body)


def _class_stacks(found: TreeLeaves) -> tuple[list[tuple[Color, str]], list[Stack]]:
    shares = np.array([leaf.classes for leaf in found.leaves])
    shown = sorted(np.argsort(-shares.sum(axis=0), kind="stable")[:_MOST_CLASSES].tolist())
    rows = []
    for leaf, share in zip(found.leaves, shares, strict=True):
        parts: list[tuple[Color, float, str]] = [
            (i, float(share[k]), f"{found.names[k]}: {share[k]:.0%}") for i, k in enumerate(shown)
        ]
        rest = 1.0 - float(share[shown].sum())
        if rest > 1e-9:
            parts.append((REST, rest, f"others: {rest:.0%}"))
        rows.append(Stack(leaf.rule, tuple(parts), leaf.text))
    key: list[tuple[Color, str]] = [(i, found.names[k]) for i, k in enumerate(shown)]
    if len(found.names) > len(shown):
        key.append((REST, "all other classes"))
    return key, rows


def terms_picture(model: Any, rows: F64) -> Picture:
    """Draw the largest terms of the largest leaves: coefficients times deviations of columns over encoded `rows`."""
    label, frame, design = leaf_scores(model)
    deviation, names = design.matrix(rows).std(axis=0), design.names(model.table_)
    effects = frame[:, -len(design) :].to_numpy()[:MOST_LINEAR] * deviation
    leaves = []
    for (rule, n_rows), effect in zip(frame[["rule", "rows"]].rows(), effects, strict=False):
        order = [c for c in np.argsort(-np.abs(effect), kind="stable").tolist() if effect[c] != 0.0]
        others = f", {pluralize(len(order) - MOST_TERMS, 'smaller term')} left out" if len(order) > MOST_TERMS else ""
        terms = [(names[c], float(effect[c])) for c in order[:MOST_TERMS]]
        leaves.append((f"{rule} ({pluralize(int(n_rows), 'row')}{others})", terms))
    sizes = [value for _, terms in leaves for _, value in terms] or [0.0]
    panels = []
    for heading, terms in leaves:
        drawn = [Bar(name, value, format_signed(value)) for name, value in terms]
        drawn = drawn or [Bar("no column: the score is a constant", 0.0, "0")]
        description = f"{heading}: " + "; ".join(f"{bar.name} {bar.text}" for bar in drawn[:3])
        panels.append(bars(drawn, description, heading=heading, least=min(sizes), largest=max(sizes)))
    return Picture(
        "Linear models in the leaves of the first tree",
        f"Change of the score for {label} per standard deviation of a column. All leaves have one scale.",
        legend([(FOR, f"raises the score for {label}"), (AGAINST, "lowers it")]) + side_by_side(panels),
    )


def trials_picture(display: TrialsDisplay) -> Picture:
    rows = display.dot_rows()
    metric, _, _ = rows.label.partition("\n")
    caption = (
        f"Dots: {metric} of short fits with other settings, in the order tried. Lines: ±1 standard error of the"
        " change from the first one (dashed line). A fit that fell behind ended early."
    )
    texts = "; ".join(f"{row.name}: {row.end}" for row in rows.rows)
    return Picture("Trials of settings", caption, rows.svg(f"{metric} by trial. {texts}"))
