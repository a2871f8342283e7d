"""Voters as the arrays of a checkpoint."""

from __future__ import annotations

import json
from typing import TypeVar

import numpy as np

from committee.data.typed_json import field
from committee.files.json_text import parse
from committee.files.tensors import Arrays, Tensors
from committee.learners.base.fit_record import Parts
from committee.voters.forest import Forest
from committee.voters.model_forest import ModelForest

V = TypeVar("V", Forest, ModelForest)


def parts_of(voters: Forest | ModelForest) -> Parts:
    """Return their document, as text with the names of its arrays, and these arrays."""
    arrays: Arrays = {}
    document = voters.to_document(Tensors(arrays))
    text = json.dumps({"document": document, "names": list(arrays)})
    return [np.frombuffer(text.encode(), np.uint8), *arrays.values()]


def voters_of(kind: type[V], parts: Parts, n_features: int, n_classes: int) -> V:
    """Undo `parts_of`, trusting no value: ``ValueError`` for what are no voters of the kind on such rows."""
    described = parse(np.asarray(parts[0], dtype=np.uint8).tobytes().decode(), "document of a member")
    tensors = Tensors(dict(zip(field(described, "names", list), parts[1:], strict=True)))
    voters = kind.from_document(field(described, "document", dict), tensors)
    forest = voters.forest if isinstance(voters, ModelForest) else voters
    if (forest.n_features, forest.n_classes) != (n_features, n_classes):
        raise ValueError(f"a member has {forest.n_features} columns and {forest.n_classes} classes")
    return voters
