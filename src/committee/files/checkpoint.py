"""Checkpoints: a file beside a fit, from which the same fit goes on after it was killed."""

from __future__ import annotations

import os
from dataclasses import dataclass
from numbers import Real


class CheckpointError(ValueError):
    """A checkpoint that cannot be gone on from: damaged, or of another fit."""


def digest_of(name: str, value: object) -> str:
    """Digest of a parameter's value or of an estimator, by which another attempt knows it.

    Raises
    ------
    ValueError
        If it cannot be pickled, as a function that no module holds.
    """
    import joblib

    try:
        return str(joblib.hash(value))
    except Exception as error:  # whatever a user's object raises when it is pickled
        raise ValueError(
            f"{name}={value!r} cannot be compared with that of an earlier attempt ({error}); give it as something "
            "that can be pickled, or leave checkpoint out."
        ) from error


@dataclass(frozen=True)
class Checkpoint:
    """A file from which a fit that was killed or interrupted goes on, and how often it is written.

    ``fit(X, y, checkpoint=path)`` means ``checkpoint=Checkpoint(path)``. If the file is there, the fit goes on from it;
    otherwise, and as it goes on, the file is written: beside its destination, then moved into place, so that at all
    times it is whole. Only a fit of the same learner with the same parameters (but for `n_jobs`) on the same rows goes
    on; it ends with the same bits as one that was never interrupted. When a fit has ended the file is written once
    more, and it stays: the same fit is then done at once. Remove it when the model is saved.

    The file holds what was costly to find: trees, stumps, members, solutions of re-weightings. A fit that goes on runs
    through its rounds again without that cost. Loading it never runs code. It takes up to four
    times the file's bytes of memory: the results are kept until the fit ends, and copied as they are written. After
    Ctrl-C the file is written once more, unless that would take longer than a moment.

    One file is for one fit, and locked while that is under way: another one is refused, as those of a cross-validation
    would be.

    Parameters
    ----------
    path : str or path
        The file.
    interval : float, default=30.0
        Least number of seconds between two writings. A writing that takes long is followed by a pause of nine times as
        long. 0: after every round or member, but for that pause.

    Examples
    --------
    >>> import os, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from committee import Checkpoint, RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "forest.checkpoint")
    ...     forest = RandomForestClassifier(20, random_state=0).fit(X, y, checkpoint=path)
    ...     again = RandomForestClassifier(20, random_state=0).fit(X, y, checkpoint=Checkpoint(path, interval=5.0))
    >>> bool((forest.predict_proba(X) == again.predict_proba(X)).all())
    True
    """

    path: str | os.PathLike[str]
    interval: float = 30.0

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | os.PathLike):
            raise TypeError(f"checkpoint={self.path!r} is no path; give the name of a file, or a Checkpoint.")
        number = isinstance(self.interval, Real) and not isinstance(self.interval, bool)
        if not (number and 0.0 <= self.interval < float("inf")):
            raise ValueError(f"interval={self.interval!r} must be a number of seconds, 0 or more.")
