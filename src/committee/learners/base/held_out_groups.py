"""Whole groups of rows, such as places or patients, that are held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import Index, Mask


@dataclass(frozen=True, eq=False)
class GroupedUnits:
    group: Index
    """Group of each unit, ``(m,)``."""
    order: Index
    """Groups in the order in which they are held out, ``(G,)``."""
    counts: NDArray[np.int64]
    """Units of each group and class, ``(G, K)``."""

    @classmethod
    def of(cls, group: Index, labels: NDArray[Any] | None, order: Index) -> Self:
        n_classes = 1 if labels is None else int(labels.max()) + 1
        cell = group if labels is None else group * n_classes + labels
        return cls(group, order, np.bincount(cell, minlength=len(order) * n_classes).reshape(len(order), n_classes))

    def held_out(self, share: float) -> Mask | None:
        """Hold out each group in turn that brings their units closer to a share; if there is none, the smallest one.

        Each class keeps a unit. None if no group can be held out so.
        """
        sizes, left, held = self.counts.sum(axis=1), self.counts.sum(axis=0), np.zeros(len(self.order), dtype=bool)
        wanted = share * sizes.sum()
        for group in self.order.tolist():
            if sizes[group] < 2.0 * wanted and self._is_spare(group, left):
                held[group], left, wanted = True, left - self.counts[group], wanted - sizes[group]
        if not held.any():  # all are too large
            smallest = self.order[np.argsort(sizes[self.order], kind="stable")]
            held[[group for group in smallest.tolist() if self._is_spare(group, left)][:1]] = True
        return held[self.group] if held.any() else None

    def _is_spare(self, group: int, left: NDArray[np.int64]) -> bool:
        return bool((left > self.counts[group])[left > 0].all())

    def parts(self, n_parts: int) -> NDArray[np.intp]:
        """Assign units to about equal parts of whole groups; -1 for groups of a class that one part has alone."""
        sizes, total = self.counts.sum(axis=1), self.counts.sum(axis=0)
        middle = np.cumsum(sizes[self.order]) - 0.5 * sizes[self.order]
        part = np.empty(len(self.order), dtype=np.intp)
        part[self.order] = middle * n_parts // total.sum()
        for k in range(n_parts):
            inside = part == k
            alone = self.counts[inside].sum(axis=0) == total
            part[inside & self.counts[:, alone].any(axis=1)] = -1
        return part[self.group]
