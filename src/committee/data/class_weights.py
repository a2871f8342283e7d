"""Factors of row weights by class: what `class_weight` of a classifier asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from committee.data.coded_text import CodedText, Labels
from committee.data.number_types import F64
from committee.data.rows import class_numbers, counted

ClassWeightChoice: TypeAlias = "Mapping[Any, float] | str | None"


@dataclass(frozen=True, eq=False)
class ClassWeights:
    """One factor for each class."""

    classes: NDArray[Any]
    """``(K,)``: the labels of rows of positive weight, sorted."""
    factors: F64
    """``(K,)``: by what the weights of their rows are multiplied."""

    @classmethod
    def of(cls, choice: ClassWeightChoice, y: Labels, weights: F64) -> Self:
        """Return the factors that a dict asks for, or those that balance the classes of rows of these weights.

        Rows without weight are absent. A class that a dict does not name has the factor 1.

        Raises
        ------
        ValueError
            If a key of the dict is no class, or its value no finite number above 0.

        Examples
        --------
        >>> import numpy as np
        >>> from committee.data.class_weights import ClassWeights
        >>> y, weights = np.array(["a", "b", "b", "b"]), np.ones(4)
        >>> ClassWeights.of("balanced", y, weights).factors.round(3).tolist()
        [2.0, 0.667]
        >>> ClassWeights.of({"a": 5}, y, weights).factors.tolist()
        [5.0, 1.0]
        """
        keep = counted(weights)
        classes, number = class_numbers(y[keep])
        if isinstance(choice, Mapping):
            return cls(classes, _given_factors(choice, classes))
        return cls(classes, balancing_factors(np.bincount(number, weights[keep], len(classes))))

    def of_rows(self, y: Labels) -> F64:
        """Factors of rows with these labels, ``(n,)``; 1 for a label that is no class."""
        if isinstance(y, CodedText):
            factors: F64 = self.of_rows(y.texts)[y.codes]
            return factors
        place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
        return np.where(self.classes[place] == y, self.factors[place], 1.0)


def balancing_factors(totals: NDArray[Any]) -> F64:
    """Factors that make all classes weigh alike, and together what they weighed: sum_j W_j / (K W_k), ``(K,)``.

    `totals` are the weights W_k of the classes. A class without weight is not counted, and has the factor 0.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.data.class_weights import balancing_factors
    >>> balancing_factors(np.array([1.0, 3.0, 0.0])).round(3).tolist()
    [2.0, 0.667, 0.0]
    """
    there = totals > 0.0
    factors = np.zeros(len(totals))
    factors[there] = totals[there].sum() / (there.sum() * totals[there])
    return factors


def _given_factors(choice: Mapping[Any, float], classes: NDArray[Any]) -> F64:
    """Factors of a dict, checked."""
    number = {label: k for k, label in enumerate(classes.tolist())}
    factors = np.ones(len(classes))
    for label, factor in choice.items():
        if label not in number:
            raise ValueError(
                f"class_weight has the key {label!r}, which is not a class of y; its classes are {classes.tolist()}. "
                "Leave the key out, or write it as y does."
            )
        if isinstance(factor, bool) or not (isinstance(factor, Real) and isfinite(factor) and factor > 0):
            raise ValueError(
                f"class_weight[{label!r}] is {factor!r}; it must be a finite number above 0. To leave a class out, "
                "leave its rows out."
            )
        factors[number[label]] = float(factor)
    return factors
