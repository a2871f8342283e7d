"""Voters that answer at random, and splits of trees, in a few words, for pictures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from committee.data.category_bits import codes_in
from committee.data.frames import TableSchema
from committee.data.reading.time_words import length_words
from committee.vote.explain.rules import missing_words
from committee.voters.forest import Forest
from committee.voters.oracles import OracleVoters
from committee.voters.soft_stumps import SoftStumps

_MOST_NAMED = 22
"""Letters of a column's name."""

_MOST_LISTED, _LEAST_LISTED = 14, 8
"""Letters of listed categories; one is always listed, and cut to the lesser where missing values are listed too."""

_MOST_PLAIN = 30
"""Letters of what a column must be, where that has a line to itself."""

_GAPS = "missing"


def voter_words(voters: SoftStumps | OracleVoters, t: int, table: TableSchema) -> str:
    """Condition under which a voter is likely to answer +: that of a stump; of a user's classifier its class name.

    ``x > c ± s`` stands for q(x) = Phi((x - c) / s). The table has the columns and categories that the voters see.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.frames import TableSchema
    >>> from committee.report.displays.voter_words import voter_words
    >>> from committee.voters.soft_stumps import SoftStumps
    >>> table = TableSchema(("width", "colour"), (None, ("blue", "green", "grey", "red")))
    >>> words = np.array([0b1011], np.uint32)
    >>> stumps = SoftStumps.of([(0, 1.6, 0.2, True, 0.5, None), (1, 0.0, 0.0, True, 1.0, words)], n_features=2)
    >>> voter_words(stumps, 0, table), voter_words(stumps, 1, table)
    ('width > 1.6 ± 0.2', 'colour ≠ grey or missing')
    """
    if isinstance(voters, OracleVoters):
        return type(voters.voters[t]).__name__
    j, gaps_are_plus = int(voters.feature[t]), float(voters.missing[t]) == 1.0
    name = _cut(table.quantity(j), _MOST_NAMED)
    c = float(voters.threshold[t])
    words = voters.category_bits[int(voters.category_offset[t]) : int(voters.category_offset[t + 1])]
    known = [str(word) for word in table.categories[j] or ()]
    is_plus = _all_alike(words, known, c, bool(voters.ascending[t]))
    if is_plus is not None:
        if is_plus == gaps_are_plus:
            return "always +" if is_plus else "always −"
        return missing_words(name, negated=is_plus)
    if len(words):
        return _categories(name, words, known, gaps_are_plus)
    s = float(voters.softness[t])
    about = "" if not s else f" ± {_number(s, 2) if table.form_of_times(j) is None else length_words(s)}"
    text = f"{name} {'>' if voters.ascending[t] else '<='} {_threshold(table, j, c)}{about}"
    return f"{text} or {_GAPS}" if gaps_are_plus else text


def split_words(forest: Forest, node: int, table: TableSchema) -> str:
    """Condition under which a row goes left at a split, but for missing values."""
    j, c = int(forest.feature[node]), float(forest.threshold[node])
    words = forest.category_bits[int(forest.category_offset[node]) : int(forest.category_offset[node + 1])]
    known = [str(word) for word in table.coded(j) or ()]
    name = _cut(table.column(j), _MOST_NAMED)
    goes_left = _all_alike(words, known, c, ascending=False)
    if goes_left is not None:
        return missing_words(name, negated=goes_left)
    if len(words):
        return _categories(name, words, known, False)
    return f"{_cut(table.quantity(j), _MOST_NAMED)} <= {_threshold(table, j, c)}"


def plain_split(forest: Forest, node: int, table: TableSchema) -> tuple[str, str]:
    """Condition under which a row goes left at a split, but for missing values: the column, and what it must be.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import TreeVoter
    >>> from committee.report.displays.voter_words import plain_split
    >>> tree = TreeVoter(max_depth=1).fit(*load_iris(return_X_y=True))
    >>> plain_split(tree.committee_.voters, 0, tree.table_)
    ('x2', '≤ 2.45')
    """
    j, c = int(forest.feature[node]), float(forest.threshold[node])
    words = forest.category_bits[int(forest.category_offset[node]) : int(forest.category_offset[node + 1])]
    known = [str(word) for word in table.coded(j) or ()]
    goes_left = _all_alike(words, known, c, ascending=False)
    if goes_left is not None:
        return middle_cut(table.column(j)), "is known" if goes_left else "is missing"
    if len(words):
        return middle_cut(table.column(j)), _plain_categories(words, known)
    return middle_cut(table.quantity(j)), f"≤ {_threshold(table, j, c)}"


def _plain_categories(words: NDArray[np.uint32], known: list[str]) -> str:
    """The categories by which a row goes left: all of few, or how many they are and the first of them."""
    inside = [known[code] for code in codes_in(words).tolist() if code < len(known)]
    outside = [word for word in known if word not in inside]
    if len(inside) == 1:
        return f"is {_cut(inside[0], _MOST_PLAIN)}"
    if len(outside) == 1:
        return f"is not {_cut(outside[0], _MOST_PLAIN)}"
    if len(whole := f"is {', '.join(inside[:-1])} or {inside[-1]}") <= _MOST_PLAIN:
        return whole
    if len(other := f"is not {', '.join(outside[:-1])} or {outside[-1]}") <= _MOST_PLAIN:
        return other
    text = f"is one of {len(inside)}: {_cut(inside[0], _MOST_LISTED)}"
    for word in inside[1:]:
        if len(text) + len(word) + 5 > _MOST_PLAIN:
            break
        text += f", {word}"
    return f"{text}, …"


def _all_alike(words: NDArray[np.uint32], known: list[str], c: float, ascending: bool) -> bool | None:
    """Whether the condition holds for every known value, or for none; None if for some."""
    if not len(words):
        return (c < 0.0) == ascending if np.isinf(c) else None
    listed = np.isin(np.arange(len(known)), codes_in(words))
    return None if listed.any() != listed.all() else bool(listed.all())


def _categories(name: str, words: NDArray[np.uint32], known: list[str], gaps: bool) -> str:
    """The categories of +, or the others where they are one, as many as there is room for."""
    end = f" or {_GAPS}" if gaps else ""
    inside = [known[code] for code in codes_in(words).tolist() if code < len(known)]
    outside = [word for word in known if word not in inside]
    if len(inside) == 1:
        return f"{name} = {_cut(inside[0], _MOST_LISTED)}{end}"
    if len(outside) == 1:
        return f"{name} ≠ {_cut(outside[0], _MOST_LISTED)}{end}"
    last = [_GAPS] if gaps else []
    listed, room = 0, _MOST_LISTED - len(", ".join(["", *last]))
    while listed < len(inside) and (listed == 0 or len(inside[listed]) + 2 <= room):
        room -= len(inside[listed]) + 2
        listed += 1
    more = [f"+{len(inside) - listed}"] if listed < len(inside) else []
    most = _MOST_LISTED if not gaps else _LEAST_LISTED
    return f"{name} in {{{', '.join([_cut(word, most) for word in inside[:listed]] + more + last)}}}"


def _threshold(table: TableSchema, j: int, c: float) -> str:
    """A threshold of a column: a few digits, or a date or time."""
    return _number(c) if table.form_of_times(j) is None else table.number_words(j, c)


def _number(value: float, digits: int = 4) -> str:
    """So many digits, but neither exponents nor fractions where the whole part has as many."""
    return f"{value:.0f}" if 10.0 ** (digits - 1) <= abs(value) < 1e6 else f"{value:.{digits}g}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def middle_cut(text: str, most: int = 26) -> str:
    """A column's name without its middle, if it is too long: names that begin alike often end otherwise."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2].rstrip()}…{text[len(text) - most + most // 2 + 1 :].lstrip()}"
