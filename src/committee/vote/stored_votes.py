"""The file of a committee: alone, and as the part of a learner's file that votes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from committee.data.named import Named
from committee.data.typed_json import field
from committee.files.header import Header
from committee.files.kinds import VOTERS, describe_part, rebuild_part
from committee.files.store import Storable
from committee.files.tensors import Document, Tensors
from committee.voters.estimators import EstimatorVoters
from committee.voters.protocol import Voters

if TYPE_CHECKING:
    from committee.data.frames import TableSchema


class StoredVotes(Storable, ABC):
    """Writing and reading of voters, weights, link and intercept."""

    voters: Voters
    weights: NDArray[np.float64]
    link: Any
    table: TableSchema | None
    intercept: NDArray[np.float64] | None

    @classmethod
    @abstractmethod
    def read_link(cls, stored: Document) -> Named:
        """The link that ``link.to_json`` wrote."""

    @classmethod
    @abstractmethod
    def read_header(cls, document: Document) -> Header:
        """Columns and classes of a document."""

    # -- a file of its own ----------------------------------------------------------------------------------

    def to_document(self, tensors: Tensors) -> Document:
        """Write the committee into a model file."""
        votes = self.votes_to_document(tensors)
        names = getattr(self.voters, "names", None) if self.table is None else self.table.names
        header = Header(
            self.voters.n_features or 0,
            None if names is None else np.array(names, dtype=object),
            getattr(self, "classes", None),
            self.table,
        )
        return {"class": type(self).__name__, **header.to_document(), **votes}

    @classmethod
    def from_document(cls, document: Document, tensors: Tensors) -> Self:
        """Read what `to_document` wrote, trusting no value."""
        header = cls.read_header(document)
        committee: Any = cls.votes_from_document(document, tensors, header)
        if header.table is not None or header.names is None:
            return cast("Self", committee)
        if not isinstance(committee.voters, EstimatorVoters):
            raise ValueError("feature_names are of a table, which is null")
        # without a table, classifiers that were fitted on arrays know the names that a frame must have
        return cast("Self", replace(committee, voters=replace(committee.voters, names=tuple(header.names))))

    # -- a part of a learner's file ---------------------------------------------------------------------------

    def votes_to_document(self, tensors: Tensors) -> Document:
        """Write voters, weights, link and intercept into a model file."""
        tensors.put(weights=self.weights)
        document = {
            "link": self.link.to_json(),
            "voters": describe_part(self.voters, VOTERS, tensors.part("voters")),
        }
        if self.intercept is not None:
            tensors.put(intercept=self.intercept)
            document["intercept"] = True
        return document

    @classmethod
    def votes_from_document(cls, document: Document, tensors: Tensors, header: Header) -> Self:
        """Read what `votes_to_document` wrote, trusting no value.

        Parameters
        ----------
        document : dict
            As read from JSON.
        tensors : Tensors
            Its arrays.
        header : Header
            The columns and classes that the voters must be for.

        Raises
        ------
        ValueError
            Saying what is wrong, or does not fit.
        """
        part = field(document, "voters", dict)
        voters = _fitting(rebuild_part(part, VOTERS, tensors.part("voters"), "voters"), header)
        weights = tensors.take_numbers("weights", len(voters), "one for each voter")
        link = cls.read_link(field(document, "link", dict))
        intercept = None
        if "intercept" in document:
            if field(document, "intercept", bool) is not True:
                raise ValueError("'intercept' is false; it must be true or absent")
            intercept = tensors.take_numbers("intercept", voters.n_outputs, "one for each score")
        parts = {"voters": voters, "weights": weights, "link": link, "table": header.table, "intercept": intercept}
        return cls(**parts if header.classes is None else parts | {"classes": header.classes})


def _fitting(voters: Any, header: Header) -> Any:
    """The voters, if they are for these columns and classes, and use no column in a way that its type forbids."""
    if header.classes is not None and voters.n_classes != len(header.classes):
        raise ValueError(f"the voters are for {voters.n_classes} classes; there are {len(header.classes)}")
    if voters.n_features != header.n_features:
        raise ValueError(f"the voters are for {voters.n_features} columns; n_features is {header.n_features}")
    voters.check_columns(header.table)
    return voters
