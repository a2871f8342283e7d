"""Parameters and fitted attributes of committees of ensembles, and the table of their members."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from committee.data.columns import DerivedColumns
from committee.data.number_types import F64
from committee.data.packages import require_package
from committee.learners.base import shared_parameters as shared
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.base.parameters import fitted, parameter, with_parameters
from committee.learners.blend.candidates import Effort

if TYPE_CHECKING:
    import polars as pl


@with_parameters
class BlendParameters(CommitteeEstimator):
    effort: Effort = parameter(
        "default",
        """How many candidates are trained and on how many folds; see docs/blend.md for their names and costs.""",
    )
    _: KW_ONLY
    candidates: Any = parameter(
        None,
        """What may become a member: a list of names of candidates, "default" for those of `effort`, and classifiers or
        regressors of any library with scikit-learn's interface, as they are or as ``(name, estimator)``. Those of other
        libraries are trained on folds, on the rows as given: frames without columns that identify rows, else float64 or
        CSR arrays; class labels are 0, ..., K - 1. A model file cannot hold them. None: ["default"].""",
        list,
        tuple,
        None,
        type_words="list or None",
    )
    cv: Any = parameter(
        None,
        """Held-out rows of the members: a number of folds, or one of scikit-learn's splitters whose test sets share no
        row. With a splitter, or `groups` in `fit`, every member is trained on folds, as out-of-bag rows ignore groups
        and time. None: 8 folds below 10,000 rows, 3 of 5 below 100,000, then 2 of 10; others with "fast" or "best".
        Without a splitter folds hold whole groups if `groups` are given (`GroupKFold`, for classes
        `StratifiedGroupKFold`), else rows are dealt to them by their contents.""",
        "cv_object",
        type_words="int, splitter, iterable of splits or None",
    )
    time_limit: float | None = parameter(
        None,
        """Seconds that the fit may take. The times of candidates are predicted, long ones by fits on samples.
        Candidates that would take longer than is left are trained on fewer folds, with fewer voters or on fewer rows,
        or are left out; boosting comes first. A fit that takes longer than predicted ends after a round or a voter. If
        there is time for none, the quickest is trained on a sample of the rows, with a warning. None: any.""",
        Interval(Real, 0.0, None, closed="neither"),
        None,
        type_words="float or None",
    )
    memory_limit: float | str | None = parameter(
        None,
        """Memory that the fit may take, with its rows as it encodes them: bytes, or text such as "3 GB". By estimates
        of what candidates need, forests and SBPMT draw fewer rows, boosting has fewer rounds, or candidates are left
        out, so that the fit stays below. None: any.""",
        Interval(Real, 0.0, None, closed="neither"),
        str,
        None,
        type_words="float, str or None",
    )
    max_size: float | str | None = parameter(
        "auto",
        """Most bytes of the model's file: a number, or text such as "3 MB". If it is too large, fewer trees of a forest
        stay, but as many as vote on an out-of-bag row; then members whose gain is within a standard error are left out,
        the least gain per byte first; then the others keep about the same share of their fits and trees. "auto": 15 MB
        (3 MB if the effort is "fast", 60 MB if "best"), and trees of forests that lose nothing measurable go above 1 MB
        per 3,000 rows (15,000; 750), from 1 to 15 MB (3; 60), times K / 2 for K > 2 classes, where the limit rises with
        it; names, categories and texts of the columns do not count. None: any.""",
        Interval(Real, 0.0, None, closed="neither"),
        str,
        None,
        type_words="float, str or None",
    )
    min_gain: float = parameter(
        0.25,
        """The member of least gain is left out as long as this gain is at most so many standard errors, and the others
        weighed anew.""",
        Interval(Real, 0.0, None, closed="left"),
    )
    keep_oof: bool = parameter(
        False,
        """Keep the held-out predictions of the vote for the training rows: ``oof_decision_function_`` of
        classes, ``(n, n_classes)``, or ``oof_prediction_``, NaN where there is none; not saved. The weights of members
        and temperatures were chosen by these predictions.""",
    )
    on_interrupt: Literal["raise", "keep"] = parameter(
        "raise",
        """If the fit is interrupted (Ctrl-C): "raise" leaves the estimator as it was, "keep" ends the fit with the
        members that are ready, if there is one, and a warning. A second interrupt is raised.""",
    )
    categorical_features: Any = shared.categorical_features()
    derived_columns: DerivedColumns = parameter(
        "auto",
        """Columns added to a data frame for the members. "dates": month, weekday and hour of dates as far as they vary,
        with sines and cosines (see `DateEncoder`). "text": of columns of text with more than 30 different values that
        resemble each other, up to 45 numbers by words and runs of letters (see `TextEncoder`); a column of text whose
        values mostly differ is no category then. "auto": both. None: none. Contributions and importances of a column
        include those of its derived columns. Tables in chunks have none with "auto", and refuse "dates" and "text".""",
    )
    keep_identifiers: bool | Sequence[str] = parameter(
        False,
        """Whether to learn from columns of a data frame that only identify its rows, 20 or more: whole numbers that
        count the rows, permute consecutive numbers or all differ under a name such as ``customer_id``, and text that
        differs in more than 95 % of the rows and does not resemble other text. False: they are left out with a warning,
        as they tell nothing of new rows. Names: these columns are kept. Columns of a categorical type, or named in
        `categorical_features`, always are.""",
        "array-like",
        type_words="bool or sequence of str",
    )
    random_state: Any = shared.random_state("the members")
    n_jobs: int | None = shared.n_jobs("Threads of each member")

    stored_attributes: ClassVar[tuple[str, ...]] = (
        "member_names_",
        "member_weights_",
        "member_losses_",
        "member_gains_",
        "member_seconds_",
        "member_sizes_",
        "member_predict_times_",
        "left_out_",
        "left_out_losses_",
        "left_out_seconds_",
        "oof_loss_",
        "oof_score_",
        "n_folds_",
    )

    member_names_: list[str] = fitted("Names of the members: the candidates with weight.", "list of str")
    member_weights_: F64 = fitted("Weight of each member in the mean, adding up to 1.", "float64 array")
    member_losses_: F64 = fitted(
        """Mean loss of each member alone on held-out rows, with the temperature that is best for it: log loss, or a
        regressor's `loss`.""",
        "float64 array",
    )
    member_gains_: F64 = fitted("Increase of the vote's mean loss without each member.", "float64 array")
    member_seconds_: F64 = fitted("Training time of each member in seconds.", "float64 array")
    member_sizes_: NDArray[np.int64] = fitted(
        "Number of fits of each member; ``committee_`` has those of the first member, then of the second, ...",
        "int64 array",
    )
    member_predict_times_: F64 = fitted(
        """Prediction time of each member, microseconds of processor time per row, in a batch of 1,000 training rows on
        one thread; NaN after `prune` and `without`.""",
        "float64 array",
    )
    left_out_: dict[str, str] = fitted(
        """Candidates that are not members, and why: no weight, no time, memory, size, an error, unsuitable rows, or
        that the fit was interrupted or stopped by a callback; in copies also "pruned" and "removed".""",
        "dict of str",
    )
    left_out_losses_: F64 = fitted(
        "Mean loss of each left-out candidate; NaN if it is not trained, or not weighed.", "float64 array"
    )
    left_out_seconds_: F64 = fitted(
        "Training seconds of each left-out candidate; NaN if its training did not begin or end.", "float64 array"
    )
    oof_loss_: float = fitted(
        """Mean loss of the vote on held-out rows, out of bag or out of fold; slightly too low, as the weights of the
        members and temperatures were chosen by it.""",
        "float",
    )
    oof_score_: float = fitted("Accuracy of the vote on held-out rows, weighted; or R2.", "float")
    n_folds_: int = fitted("Number of folds of the held-out rows; 0 if the rows are too few.", "int")

    @property
    def members_(self) -> pl.DataFrame:
        """Table of the candidates: members by weight, then those left out, the least loss first.

        Columns are ``member``, its name; ``weight`` in the vote, 0 of those left out; ``fits`` and ``nodes`` that vote;
        its ``loss`` alone on held-out rows; ``gain``, the rise of the vote's loss without it; ``seconds`` of its
        training; ``nbytes`` in memory and ``file_bytes`` in a model file, which also has the names, categories and
        texts of the columns (``committee_.column_bytes``; ``committee_.file_bytes`` is the whole), null if a file
        cannot hold it; ``predict_us``, microseconds per predicted row; ``left_out``, the reason why it is not a member.
        Null where there is none. Empty for a model of one class.
        """
        check_is_fitted(self)
        require_package("polars", "the table of members")
        import polars as pl

        schema = {
            "member": pl.String,
            "weight": pl.Float64,
            "fits": pl.Int64,
            "loss": pl.Float64,
            "gain": pl.Float64,
            "seconds": pl.Float64,
            "nodes": pl.Int64,
            "nbytes": pl.Int64,
            "file_bytes": pl.Int64,
            "predict_us": pl.Float64,
            "left_out": pl.String,
        }
        if not hasattr(self, "member_names_"):
            return pl.DataFrame(schema=schema)
        others = len(self.left_out_)
        zeros, unknown = np.zeros(others, dtype=np.int64), np.full(others, np.nan)
        gains = self.member_gains_ if len(self.member_gains_) > 1 else np.full(1, np.nan)  # without it is no vote
        voters: Any = self.committee_.voters
        first = np.cumsum(self.member_sizes_) - self.member_sizes_

        def of_members(each: list[int]) -> NDArray[np.int64]:
            return np.append(np.add.reduceat(np.array(each, dtype=np.int64), first), zeros)

        stored = np.split(np.array(voters.file_bytes, dtype=object), first[1:])
        times = getattr(self, "member_predict_times_", np.full(len(first), np.nan))
        table = {
            "member": [*self.member_names_, *self.left_out_],
            "weight": np.append(self.member_weights_, np.zeros(others)),
            "fits": np.append(self.member_sizes_, zeros),
            "loss": np.append(self.member_losses_, getattr(self, "left_out_losses_", unknown)),
            "gain": np.append(gains, unknown),
            "seconds": np.append(self.member_seconds_, getattr(self, "left_out_seconds_", unknown)),
            "nodes": of_members([one.n_nodes for one in voters.members]),
            "nbytes": of_members(voters.member_nbytes),
            "file_bytes": [None if None in group else sum(group) for group in stored] + [0] * others,
            "predict_us": np.append(times, unknown),
            "left_out": [None] * len(self.member_names_) + [*self.left_out_.values()],
        }
        order = [pl.col("left_out").is_not_null(), "weight", "loss"]
        return pl.DataFrame(table, schema=schema, nan_to_null=True).sort(
            order, descending=[False, True, False], nulls_last=True, maintain_order=True
        )
