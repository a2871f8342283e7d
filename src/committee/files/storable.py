"""Models that can be saved; the file itself is imported when one is."""

from __future__ import annotations

import os


class Storable:
    """A model that is written to a file by `save`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file that `committee.load` reads; loading never runs code.

        Parameters
        ----------
        path : str or path
            Written beside and moved into place, so that an interruption leaves the old file whole.

        Raises
        ------
        TypeError
            If a voter or parameter cannot be stored without pickle, as a classifier of another library.
        ValueError
            If no file of the model would load, as after a parameter was set to a forbidden value.
        sklearn.exceptions.NotFittedError
            If the model is not fitted.

        Examples
        --------
        >>> import os, tempfile
        >>> import committee
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "forest.safetensors")
        ...     committee.Committee.from_estimator(forest).save(path)
        ...     committee.load(path)
        Committee(5 voters, 3 classes, share link)
        """
        from committee.files.store import save

        save(self, path)
