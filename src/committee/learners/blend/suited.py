"""Candidates that rows and targets of a fit suit, and the reasons of those that they do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sklearn.utils import get_tags

from committee.data.number_types import F64
from committee.learners.blend.member import LeftOut
from committee.objectives.losses import Loss

if TYPE_CHECKING:
    from committee.learners.blend.portfolio import Candidate

NO_SPARSE_ROWS = "takes no sparse rows"
NO_LINES = "has no lines in its leaves on sparse rows"
NO_MEAN = "may predict {worst:g}, and the {loss} loss needs predictions in {interval}"


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
    from committee.learners.blend.portfolio import without_lines

    chosen: list[Candidate] = []
    left_out: list[LeftOut] = []
    for one in wanted:
        if one.lines:
            left_out.append(LeftOut(one.name, NO_LINES))
            if without_lines(one) not in wanted:
                chosen.append(without_lines(one))
        elif get_tags(one.learner(**one.parameters)).input_tags.sparse:
            chosen.append(one)
        else:
            left_out.append(LeftOut(one.name, NO_SPARSE_ROWS))
    return chosen, left_out


def suited_to_targets(wanted: Sequence[Candidate], loss: Loss, target: F64) -> tuple[list[Candidate], list[LeftOut]]:
    """Return the candidates whose predictions the loss allows: means of targets are for targets within its interval.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.learners.blend.portfolio import candidates, of_loss
    >>> from committee.objectives.losses import Poisson
    >>> wanted = of_loss(candidates(True, "fast"), Poisson(), "fast")
    >>> chosen, left_out = suited_to_targets(wanted, Poisson(), np.zeros(9))
    >>> [one.name for one in chosen], left_out[0].reason
    (['boosted_lines', 'small_trees'], 'may predict 0, and the poisson loss needs predictions in (0, inf)')
    """
    outside = target[~loss.mean_interval.holds(target)]
    if not outside.size:
        return list(wanted), []
    reason = NO_MEAN.format(worst=outside[0], loss=loss.name, interval=loss.mean_interval)
    chosen = [one for one in wanted if "loss" in one.parameters]
    return chosen, [LeftOut(one.name, reason) for one in wanted if one not in chosen]
