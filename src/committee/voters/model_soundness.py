"""What makes model trees safe to ask: every leaf has its model, and every number is one that training can leave."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.design import Design
from committee.voters.committees import BoostedCommittees
from committee.voters.linear_scores import LinearScores
from committee.voters.model_forest import ModelForest
from committee.voters.soundness import check_extents

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


def check_design(design: Design, table: TableSchema) -> None:
    """Look at every value of a design, trusting none.

    Parameters
    ----------
    design : Design
        The columns of linear models.
    table : TableSchema
        The columns they are made of.

    Raises
    ------
    ValueError
        If an array has the wrong type or size, a fill value is not finite, or a design column is of no column of
        the table, of a kind that this column does not have, or there twice.

    Examples
    --------
    ``check_design(design, table)`` returns nothing for a design that training made.
    """
    p, q = table.n_features, _length("design.source", design.source)
    _check_array("design.source", design.source, np.int32, (q,))
    _check_array("design.category", design.category, np.int32, (q,))
    _check_finite("design.fill", design.fill, (p,))
    if not q:
        raise ValueError("design.source is empty; a linear model needs a column.")
    _check_range("design.source", design.source, 0, p - 1)
    known = table.n_categories[design.source]
    number, code = design.category == -1, design.category >= 0
    bad = (design.category < -2) | (number & (known > 0)) | (code & (design.category >= known))
    if bad.any():
        c = int(np.argmax(bad))
        column = table.column(int(design.source[c]))
        raise ValueError(f"design.category is {design.category[c]} for column {column!r}, which has no such thing.")
    if len(set(zip(design.source.tolist(), design.category.tolist(), strict=True))) < q:
        raise ValueError("design.category has a column twice.")


def check_model_forest(voters: ModelForest) -> None:
    """Look at every value of model trees and their leaf models, trusting none; their design is `check_design`'s.

    Parameters
    ----------
    voters : ModelForest or LinearScores
        Its `forest` has arrays of the right types and sizes, as its construction made sure.

    Raises
    ------
    ValueError
        Naming what is wrong: trees that cannot be walked or do not make whole voters, a leaf without a model, an
        inner node with one, arrays of the wrong type or size, numbers that are not finite.

    Examples
    --------
    ``check_model_forest(voters)`` returns nothing for model trees that training made.
    """
    voters.forest.check()
    K, q, T = voters.n_classes, _length("design.source", voters.design.source), len(voters.forest)
    if K < 2:
        raise ValueError(f"n_classes is {K}; model trees tell two classes or more apart.")
    if voters.link not in ("probit", "logit"):
        raise ValueError(f"link of the leaves is {voters.link!r}; it must be 'probit' or 'logit'.")
    if voters.trees_per_voter not in ((1, K) if K > 2 else (1,)):
        raise ValueError(f"trees_per_voter is {voters.trees_per_voter}; for {K} classes that cannot be.")
    if not T or T % voters.trees_per_voter:
        raise ValueError(f"there are {T} trees, which are no whole voters of {voters.trees_per_voter} trees.")
    outputs = 1 if K == 2 or voters.trees_per_voter > 1 else K
    models = _length("intercept", voters.intercept)
    _check_array("model", voters.model, np.int32, voters.forest.feature.shape)
    _check_finite("intercept", voters.intercept, (models, outputs))
    _check_finite("coefficient", voters.coefficient, (models, outputs, q))
    leaf = voters.forest.feature < 0
    if (voters.model[~leaf] != -1).any():
        raise ValueError("model is not -1 at an inner node.")
    _check_range("model", voters.model[leaf], 0, models - 1)
    if (record := voters.record) is not None:
        _check_finite("record.mass", record.mass, (models,))
        _check_finite("record.centre", record.centre, (models, q))
        _check_finite("record.risk_fall", record.risk_fall, (T, voters.n_features))
        if (record.mass <= 0).any():
            raise ValueError("record.mass is not positive.")
    if isinstance(voters, LinearScores) and not (math.isfinite(voters.cap) and voters.cap > 0):
        raise ValueError(f"cap is {voters.cap}; it must be finite and above zero.")


def check_committees(voters: BoostedCommittees) -> None:
    """Look at every value of boosted committees and their members, trusting none.

    Parameters
    ----------
    voters : BoostedCommittees
        Of model trees that name classes.

    Raises
    ------
    ValueError
        Naming what is wrong with the members, their weights or the extents of the committees.

    Examples
    --------
    ``check_committees(voters)`` returns nothing for committees that training made.
    """
    check_model_forest(voters.members)
    if voters.members.kind != "label" and not voters.soft:
        raise ValueError("members give scores; a committee that votes hard counts the classes that its members name.")
    T = len(voters.members)
    M = _length("start", voters.start) - 1
    _check_array("start", voters.start, np.int64, (M + 1,))
    if M < 1:
        raise ValueError("start is for no committee.")
    check_extents("start", voters.start, T, least=1)
    _check_finite("alpha", voters.alpha, (T,))
    with np.errstate(over="ignore"):
        total = voters.alpha.sum()
    if (voters.alpha <= 0).any() or not np.isfinite(total):
        raise ValueError("alpha must be positive, with a finite sum.")


def _length(name: str, array: NDArray[Any]) -> int:
    if not array.ndim:
        raise ValueError(f"{name} is a single number; it must be an array.")
    return len(array)


def _check_array(name: str, array: NDArray[Any], dtype: type[np.generic], shape: tuple[int, ...]) -> None:
    if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
        raise ValueError(
            f"{name} is {array.dtype} of shape {array.shape}; it must be {np.dtype(dtype)} of shape {shape}."
        )


def _check_finite(name: str, array: NDArray[Any], shape: tuple[int, ...]) -> None:
    _check_array(name, array, np.float64, shape)
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a number that is not finite.")


def _check_range(name: str, array: NDArray[np.int32], least: int, most: int) -> None:
    outside = (array < least) | (array > most)
    if outside.any():
        raise ValueError(f"{name} holds {array[int(np.argmax(outside))]}, which is not within {least} and {most}.")
