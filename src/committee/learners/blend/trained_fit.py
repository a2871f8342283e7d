"""One fit of a candidate: its committee, and what that says of rows that it has not seen."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64
from committee.files.json_text import parse
from committee.files.kinds import COMMITTEES, describe_model, rebuild_model
from committee.files.tensors import Arrays, Tensors
from committee.learners.base.fit_record import Form
from committee.vote.committee import Committee
from committee.vote.regression import RegressionCommittee

Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class TrainedFit:
    """A trained committee, its answers ``(n, K)`` to rows not seen, and the rate of its steps, 0 if it has none."""

    committee: Committee | RegressionCommittee
    answers: F64
    rate: float

    @classmethod
    def form(cls) -> Form[TrainedFit]:
        """How a checkpoint holds it."""
        return Form(_parts_of, _value_of)


def _parts_of(fit: TrainedFit) -> tuple[Bytes, Bytes, F64, F64]:
    from safetensors.numpy import save

    arrays: Arrays = {}
    text = json.dumps(describe_model(fit.committee, Tensors(arrays)), allow_nan=False)
    stored = save({name: np.ascontiguousarray(array) for name, array in arrays.items()})
    return _bytes(text.encode()), _bytes(stored), fit.answers, np.array(fit.rate)


def _value_of(text: Bytes, stored: Bytes, answers: F64, rate: F64) -> TrainedFit:
    from safetensors.numpy import load

    document: dict[str, Any] = parse(text.tobytes().decode(), "member")
    if document.get("class") not in COMMITTEES:
        raise ValueError("a member is no committee")
    committee = rebuild_model(document, Tensors(load(stored.tobytes())))
    return TrainedFit(committee, answers, float(rate))


def _bytes(content: bytes) -> Bytes:
    return np.frombuffer(content, dtype=np.uint8)
