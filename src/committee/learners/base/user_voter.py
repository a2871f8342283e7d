"""A classifier of the user's as voter: what is refused, and what is cloned for each round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from committee.data.binning import refuse_more_categories
from committee.data.frames import TableSchema
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.scikit_types import BaseEstimator

if TYPE_CHECKING:
    from sklearn.utils import Tags


class UserVoter(CommitteeEstimator):
    """Base of the learners one of whose parameters may be a classifier of the user's."""

    _voter_parameter: ClassVar[str] = "voter"
    """Name of the parameter; None or a string is a voter of the library's own."""
    _instead: ClassVar[str] = ""
    """Where users may turn whose classifier takes no row weights."""

    def _check_parameters(self) -> None:
        super()._check_parameters()
        voter = getattr(self, self._voter_parameter)
        if not (voter is None or isinstance(voter, str) or has_fit_parameter(voter, "sample_weight")):
            raise ValueError(
                f"{self._voter_parameter}={voter!r} cannot be boosted: its fit takes no sample_weight. "
                f"Choose another classifier{self._instead}."
            )

    def _user_voter(self) -> BaseEstimator:
        """Return the user's classifier, ready to be cloned for each voter."""
        return voter_to_clone(self._voter_parameter, getattr(self, self._voter_parameter), self.table_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        voter = getattr(self, self._voter_parameter)
        if hasattr(voter, "__sklearn_tags__"):
            tags.input_tags.allow_nan = get_tags(voter).input_tags.allow_nan
        return tags


def voter_to_clone(parameter: str, voter: Any, table: TableSchema) -> BaseEstimator:
    """Copy a user's classifier, and name to it the columns of the encoded matrix that are categories.

    Raises
    ------
    ValueError
        If it is no classifier, or a column has more categories than it takes.
    """
    copy: BaseEstimator = clone(voter)
    if not is_classifier(copy):
        raise ValueError(f"{parameter}={voter!r} is no classifier; a vote needs voters that name classes.")
    params = copy.get_params(deep=False)
    categorical = np.flatnonzero(table.categorical)
    if len(categorical) and "categorical_features" in params:
        # voters see a matrix without names, so a column is refused here, where it has one
        if "max_bins" in params:
            refuse_more_categories(table, params["max_bins"])
        copy.set_params(categorical_features=categorical.tolist())
    return copy
