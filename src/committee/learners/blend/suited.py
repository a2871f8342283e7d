"""Candidates that the rows of a fit suit, and the reasons of those that they do not."""

from __future__ import annotations

from collections.abc import Sequence

from sklearn.utils import get_tags

from committee.learners.blend.member import LeftOut
from committee.learners.blend.portfolio import Candidate, without_lines

NO_SPARSE_ROWS = "takes no sparse rows"
NO_LINES = "has no lines in its leaves on sparse rows"


def suited_to_sparse_rows(wanted: Sequence[Candidate]) -> tuple[list[Candidate], list[LeftOut]]:
    """Return the candidates that can be trained on sparse rows, and the others with the reason.

    In the place of boosting with lines in its leaves, of which sparse rows have none, comes boosting without.

    Examples
    --------
    >>> from committee.learners.blend.portfolio import candidates
    >>> chosen, left_out = suited_to_sparse_rows(candidates(False, "fast"))
    >>> [one.name for one in chosen], left_out[0]
    (['forest', 'large_trees'], LeftOut(name='sbpmt', reason='takes no sparse rows', loss=nan, seconds=nan))
    >>> [one.name for one in suited_to_sparse_rows(candidates(True, "fast"))[0]]
    ['forest', 'boosting', 'small_trees']
    """
    chosen: list[Candidate] = []
    left_out: list[LeftOut] = []
    for one in wanted:
        if one.lines:
            left_out.append(LeftOut(one.name, NO_LINES))
            if without_lines() not in wanted:
                chosen.append(without_lines())
        elif get_tags(one.learner(**one.parameters)).input_tags.sparse:
            chosen.append(one)
        else:
            left_out.append(LeftOut(one.name, NO_SPARSE_ROWS))
    return chosen, left_out
