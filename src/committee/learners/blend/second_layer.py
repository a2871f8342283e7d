"""Second layer of a committee of ensembles: boosting on the held-out probabilities of the candidates."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.data.number_types import F64, Mask
from committee.data.rows import inner_weights
from committee.learners.blend.candidates import SECOND_LAYER, LeftOut
from committee.learners.blend.out_of_fold import FAILURES, Member, ValidationRows, tempered
from committee.learners.blend.time_plan import NO_TIME, Deadline
from committee.learners.blend.weights import WeightedVote, mean_and_error
from committee.learners.gradient.gradient_boosting import GradientBoostingClassifier
from committee.vote.committee import Committee
from committee.vote.links.temperature import best_temperature
from committee.vote.members import MemberCommittees, StackedVoters, reads_tables, stacked_columns
from committee.voters.tree_voters import compact_voters

N_FITS = 5
FITS_OF_OTHERS = 2
"""Fits of a candidate without weight that a second layer reads."""
SETTINGS: dict[str, Any] = {"n_estimators": 100, "learning_rate": 0.1, "max_leaf_nodes": 4, "early_stopping": False}


@dataclass(frozen=True, eq=False)
class SecondLayer:
    """Trains boosting on columns that are the candidates' held-out probabilities.

    Equation: second-layer (docs/theory.md).
    """

    labels: NDArray[np.uint16]  # of the rows that all members of the vote predict
    known: Mask  # of these rows among the validation rows
    fold: NDArray[np.intp]  # fold of each of them
    validation: ValidationRows  # these rows
    seed: int
    n_jobs: int | None
    losses: Callable[[F64], F64]
    weighed: Callable[[Sequence[Member]], WeightedVote]
    seconds: float | None
    most_bytes: float | None  # of all members in a file
    training_losses: Callable[[WeightedVote], F64] | None  # of these rows by all fits, where they are to be no larger

    def added_to(self, vote: WeightedVote, candidates: Sequence[Member]) -> WeightedVote:
        """Return the vote with a second layer if that lowers its loss by more than a standard error."""
        begun = time.perf_counter()
        if self.seconds is not None and self.seconds <= 0.0:
            return _left_out(vote, NO_TIME)
        try:
            with warnings.catch_warnings(action="ignore"):
                member = self._trained(self._first_layer(vote, candidates))
        except FAILURES as failure:
            return _left_out(vote, str(failure) or type(failure).__name__, seconds=time.perf_counter() - begun)
        member = replace(member, seconds=time.perf_counter() - begun)
        second = self.weighed([*vote.members, member])
        share = self.validation.weights / self.validation.weights.sum()
        assert vote.predictions is not None and second.predictions is not None
        fall, error = mean_and_error(self.losses(vote.predictions) - self.losses(second.predictions), share)
        loss = float(share @ self.losses(member.predictions[self.known]))
        if SECOND_LAYER not in [one.name for one in second.members] or not fall > error:
            return _left_out(vote, "no weight", loss, member.seconds)
        if self.most_bytes is not None:
            sizes = MemberCommittees(second.fits).file_bytes
            if sum(n or 0 for n in sizes) > self.most_bytes:
                return _left_out(vote, "size", loss, member.seconds)
        # the candidates' probabilities of rows that they have learned by heart may mean something else
        if self.training_losses is not None and float(share @ self.training_losses(second)) > second.loss:
            return _left_out(vote, "worse on training rows", loss, member.seconds)
        return replace(second, row=vote.row, known=vote.known, left_out=[*vote.left_out, *second.left_out])

    def _first_layer(self, vote: WeightedVote, candidates: Sequence[Member]) -> list[Member]:
        # all candidates, as sharp as the members of the vote, whose fits then answer once for both
        chosen = {one.name: one for one in vote.members}
        suited = [
            one
            for one in candidates
            if one.temperature is not None
            and not reads_tables(one.committees[0])
            and np.isfinite(one.predictions[self.known]).all()
        ]
        sharp = {one.name: one.temperature for one in vote.members}
        factors = [own / new for one in suited if (own := one.temperature) and (new := sharp.get(one.name))]
        if not factors:
            raise ValueError("no member of the vote is one of committee's own learners")
        return [
            chosen.get(one.name) or replace(one, committees=one.committees[:FITS_OF_OTHERS]).sharpened(factors[0])
            for one in suited
        ]

    def _trained(self, layer: Sequence[Member]) -> Member:
        X = stacked_columns(np.stack([one.predictions[self.known] for one in layer], axis=1))
        first = MemberCommittees([each for one in layer for each in one.committees])
        sizes = np.array([len(one.committees) for one in layer], dtype=np.int64)
        weights, part = self.validation.weights, self.fold % N_FITS
        n_classes = layer[0].predictions.shape[1]
        if len(np.unique(self.labels)) < n_classes:
            raise ValueError("a class has no held-out rows")
        uniform = bool((weights == weights[0]).all())
        evidence, fits = np.empty((len(X), n_classes)), list[Committee]()
        for k in np.unique(part).tolist():
            train = part != k
            if len(np.unique(self.labels[train])) < n_classes:
                raise ValueError("the held-out rows of a class are all in one part of the folds")
            model = GradientBoostingClassifier(**SETTINGS, random_state=self.seed + k, n_jobs=self.n_jobs)
            if self.seconds is not None:
                model.set_callbacks(Deadline(self.seconds / N_FITS))
            model.fit(X[train], self.labels[train], None if uniform else inner_weights(weights[train]))
            one = model.committee_
            fits.append(replace(one, voters=StackedVoters(first, sizes, compact_voters(one.voters)), table=None))
            evidence[~train] = one.link.evidence(model.decision_function(X[~train]), one.total_weight)
        temperature = best_temperature(evidence, self.labels, weights, round(self.validation.n_rows))
        committees, p = tempered(fits, evidence, temperature)
        predictions = np.full((len(self.known), n_classes), np.nan)
        predictions[self.known] = p
        return Member(SECOND_LAYER, committees, predictions, 0.0, temperature)


def _left_out(vote: WeightedVote, reason: str, loss: float = np.nan, seconds: float = np.nan) -> WeightedVote:
    return replace(vote, left_out=[*vote.left_out, LeftOut(SECOND_LAYER, reason, loss, seconds)])
