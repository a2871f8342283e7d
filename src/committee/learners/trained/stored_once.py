"""Votes of trees whose equal parts a file has once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from committee.voters.forest import Forest
from committee.voters.rounds import Rounds
from committee.voters.shared_forest import SharedForest


def stored_once(committee: Any) -> Any:
    """The same committee, of trees or rounds of them whose equal sub-trees, splits and leaves a file has once.

    All nodes and their training record stay; other voters are left as they are.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import Committee
    >>> from committee.learners.trained.stored_once import stored_once
    >>> X, y = load_iris(return_X_y=True)
    >>> whole = Committee.from_estimator(RandomForestClassifier(20, random_state=0).fit(X, y))
    >>> once = stored_once(whole)
    >>> once.nbytes == whole.nbytes, once.voters.stored_bytes < 0.15 * whole.nbytes
    (True, True)
    """
    voters = committee.voters
    if type(voters) is Forest:
        return replace(committee, voters=SharedForest.with_record(voters))
    if isinstance(voters, Rounds) and type(voters.forest) is Forest:
        return replace(committee, voters=replace(voters, forest=SharedForest.with_record(voters.forest)))
    return committee
