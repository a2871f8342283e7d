"""Parameter `candidates` of the committees of ensembles: names of candidates, and estimators of any library."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, ClassVar, Self

from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from committee.data.matrices import is_out_of_core
from committee.data.number_types import Index
from committee.data.rows import GivenRows, given_table
from committee.data.text import warn_user
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.blend.members import Candidate, Effort, LeftOut
from committee.vote.members import reads_tables


class CandidateChoice(CommitteeEstimator):
    candidates: Any
    effort: Effort
    _numbers: ClassVar[bool] = False

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Get parameters, as scikit-learn's; with those of estimators among `candidates`, by their names."""
        params = super().get_params(deep)
        if deep and self.candidates is not None:
            for name, estimator in self._user_estimators:
                params[name] = estimator
                params |= {f"{name}__{key}": value for key, value in estimator.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, as scikit-learn's; ``name=estimator`` replaces the estimator of that name in `candidates`."""
        if "candidates" in params:
            self.candidates = params.pop("candidates")
        if self.candidates is not None and (replaced := dict(self._user_estimators).keys() & params.keys()):
            from committee.learners.blend.user_candidates import with_estimators

            self.candidates = with_estimators(self.candidates, {name: params.pop(name) for name in replaced})
        return super().set_params(**params)

    @property
    def _user_estimators(self) -> list[tuple[str, Any]]:
        if self.candidates is None:
            return []
        from committee.learners.blend.user_candidates import named_estimators

        return named_estimators(self.candidates)

    def _of_library(self, n: float = 0.0, n_scores: int = 1, *, every: bool = False) -> list[Candidate]:
        from committee.learners.blend import portfolio  # with all their learners, which no prediction needs

        named = portfolio.every_candidate if every else portfolio.candidates
        return named(self._numbers, self.effort, n, n_scores)

    def _wanted(self, n: float = 0.0, n_scores: int = 1) -> list[Candidate]:
        of_effort = self._of_library(n, n_scores)
        if self.candidates is None:
            return of_effort
        from committee.learners.blend.user_candidates import check_candidates, user_candidates

        every = self._of_library(n, n_scores, every=True)
        known = [one.name for one in every]
        check_candidates(self.candidates, known, list(self.declared_parameters), numbers=self._numbers)
        return user_candidates(self.candidates, of_effort, every)

    @property
    def _has_foreign(self) -> bool:
        return bool(self._user_estimators) and any(one.estimator is not None for one in self._wanted())

    def _check_foreign(self, table: Any, rows: Any) -> None:
        if not self._has_foreign:
            return
        from committee.learners.blend.user_candidates import check_weights

        if is_out_of_core(table):
            raise ValueError(
                "candidates has estimators of other libraries, which need all rows at once, and X is read in pieces; "
                "give rows in memory, or only candidates of this library."
            )
        check_weights(self._wanted(), rows.weights)

    def _no_checkpoint(self, X: Any) -> str | None:
        if self._has_foreign:
            return "candidates has estimators that are trained by code that is not the library's, and cannot be kept"
        return super()._no_checkpoint(X)

    def _warn_of_failures(self, failed: Sequence[LeftOut]) -> None:
        named = {name for name, _ in self._user_estimators}
        for one in failed:
            if one.failed and one.name in named:
                warn_user(f"the candidate {one.name!r} is left out: {one.reason}")

    def _given(self, table: Any, numbers: Index, cells: Any) -> GivenRows:
        """Pair encoded rows `cells` with the same rows of the user's table, where they have these `numbers`."""
        whole = given_table(table, getattr(self.table_, "left_out", ()))
        some = whole if _num_samples(whole) == len(cells) else _safe_indexing(whole, numbers)
        return GivenRows(some, cells)

    def _refuse_foreign(self: Any, error: type[Exception], what: str, otherwise: str = "") -> None:
        members = getattr(self, "member_names_", [])  # one class has none
        if foreign := [name for name in members if reads_tables(self.member(name).voters.members[0])]:
            names = ", ".join(map(repr, foreign))
            remedy = f"Call it on model.without({names}), the vote of the other members{otherwise}."
            if len(foreign) == len(members):
                remedy = f"Train one with candidates of committee, such as 'default'{otherwise}."
            raise error(f"{what}, and {names} {'is' if len(foreign) == 1 else 'are'} of another library. {remedy}")

    def _for_file(self) -> Self:
        self._refuse_foreign(
            TypeError,
            "a model file holds members of committee's own classes alone, so that loading it never runs anyone's code",
            ", or use skops.io.dump or joblib.dump, which hold all",
        )
        model = super()._for_file()
        if self.candidates is None or all(isinstance(one, str) for one in self.candidates):
            return model
        model = copy(model)
        model.candidates = [one for one in self.candidates if isinstance(one, str)] or None
        return model
