"""Parameters of committees of ensembles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from numbers import Real
from typing import Any, Literal

from sklearn.utils._param_validation import Interval

from committee.data.columns import DerivedColumns
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import parameter, with_parameters
from committee.learners.blend.members import Effort


@with_parameters
class BlendParameters:
    """Parameters of a committee of ensembles."""

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
        Folds hold whole groups if `groups` are given (`GroupKFold`, for classes `StratifiedGroupKFold`), else rows are
        dealt to them by their contents.""",
        "cv_object",
        type_words="int, splitter, iterable of splits or None",
    )
    time_limit: float | None = parameter(
        None,
        """Seconds that the fit may take. The time of each candidate is predicted by a fit on a sample. Candidates that
        would take longer than is left are trained on fewer folds, with fewer voters or on fewer rows, or are left out;
        boosting comes first. A fit that takes longer than predicted ends after a round or a voter. If there is time for
        none, the quickest is trained on a sample of the rows, with a warning. None: any.""",
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
        """Members whose gain is less than this many standard errors are left out, the least first, and the others
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
        """Columns added to a data frame for the members. "dates": month, weekday and hour of dates as far as they
        vary, with sines and cosines (see `DateEncoder`). "text": of columns of text with more than 30 different values
        that resemble each other, 45 numbers by words and runs of letters (see `TextEncoder`); a column of text whose
        values mostly differ is no category then. "auto": both. None: none. Contributions and importances of a column
        include those of its derived columns. Tables in chunks have none with "auto", and refuse "dates" and "text".""",
    )
    keep_identifiers: bool | Sequence[str] = parameter(
        False,
        """Whether to learn from columns of a data frame that only identify the rows: whole numbers that count the rows,
        permute consecutive numbers or all differ under a name such as ``customer_id``, and text that differs in more
        than 95 % of at least 20 rows and does not resemble other text. False: they are left out with a warning, as
        they tell nothing of new rows. Names: these columns are kept. Columns of a categorical type, or named in
        `categorical_features`, always are.""",
        "array-like",
        type_words="bool or sequence of str",
    )
    random_state: Any = shared.random_state("the members")
    n_jobs: int | None = shared.n_jobs("Threads of each member")
