"""Training rows in pieces that others read and hold."""

from __future__ import annotations

from abc import abstractmethod

from committee.data.frames import TableSchema
from committee.data.pieces.pieced_matrix import PiecedMatrix
from committee.data.pieces.training_pass import LookedPieces


class LookedElsewhere(LookedPieces):
    """Base of rows in pieces whose encoded matrix others make."""

    @abstractmethod
    def matrix(self, table: TableSchema, digests: bool) -> PiecedMatrix:
        """Return the encoded matrix of the rows that count."""
