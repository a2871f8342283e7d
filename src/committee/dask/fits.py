"""Fits on a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from committee.dask.cluster import Cluster, outside_of_tasks
from committee.dask.member_fits import fit_learner, fit_table
from committee.dask.members import ClusterMembers
from committee.data.parallel import members_by
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.gradient.gradient_fit import GradientBoosting

if TYPE_CHECKING:
    from distributed import Client

E = TypeVar("E")

TIMEOUT = 60.0
"""Seconds that a fit waits where no worker is heard of."""


class FitOnCluster(Protocol):
    """A way to fit an estimator on a cluster."""

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
        """Fit it, on Dask collections or ordinary tables."""


@contextmanager
def members_on(client: Client | None = None, *, timeout: float = TIMEOUT) -> Iterator[None]:
    """Train the independent members of all fits in the block on the workers of a cluster.

    Tables are those of this process. Everything with members goes there: the trees of forests, the voters of subagging
    and SBPMT, the candidates of a committee of ensembles and their folds, and cells of comparisons.

    Parameters
    ----------
    client : distributed.Client, default=None
        Client of the cluster; None: the current one.
    timeout : float, default=60
        As in `fit`.

    Examples
    --------
    ``with members_on(client): forest.fit(X, y)``
    """
    with outside_of_tasks(), members_by(ClusterMembers(Cluster(client, timeout))):
        yield


def fit(
    estimator: E,
    X: Any,
    y: Any,
    sample_weight: Any = None,
    client: Client | None = None,
    *,
    timeout: float = TIMEOUT,
    **options: Any,
) -> E:
    """Fit an estimator on a Dask cluster, with the bits of a fit on one machine.

    The table is brought to the client, and what consists of independent members is trained on the workers: the trees of
    forests, the voters of subagging and SBPMT, the candidates of a committee of ensembles and their folds. Other
    learners are trained on the client.

    Parameters
    ----------
    estimator : estimator
        A learner, or a scikit-learn estimator with one inside, such as a pipeline.
    X : Dask dataframe or array, or table or array-like (n, p)
        Training rows.
    y : Dask series or array, array-like (n,), or str
        Their targets, or the column of `X` that they are.
    sample_weight : Dask series or array, array-like (n,), or str, default=None
        Their weights, or the column of `X` that they are.
    client : distributed.Client, default=None
        Client of the cluster; None: the current one.
    timeout : float, default=60
        Seconds after which the fit ends with an error where no worker is heard of, or the scheduler does not answer.
        Lost workers alone are no error as long as others go on, or come.
    **options : object
        Further arguments of the estimator's own `fit`, such as ``checkpoint``.

    Returns
    -------
    estimator
        The one given, fitted.

    Raises
    ------
    ImportError
        If Dask is not installed.
    ValueError
        If there is no client; and as the estimator's own `fit`.
    ClusterError
        If the scheduler is lost, or no worker is heard of for so long; or if workers end one after the other at the
        same task, as they do for want of memory.

    Examples
    --------
    ``fit(RandomForestClassifier(), dd.read_parquet("big/"), "label", client=Client("tcp://scheduler:8786"))``
    """
    with outside_of_tasks():
        way_of(estimator)(estimator, X, y, sample_weight, Cluster(client, timeout), **options)
    return estimator


def way_of(estimator: Any) -> FitOnCluster:
    """Return how an estimator is fitted on a cluster: the first of `WAYS` that it is of."""
    return next(way for kind, way in WAYS if isinstance(estimator, kind))


def fit_boosting(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    """Fit gradient boosting on rows that stay with the workers."""
    from committee.dask.boosting import fit_shards  # which cannot be imported without Dask

    fit_shards(estimator, X, y, sample_weight, cluster, **options)


WAYS: list[tuple[type, FitOnCluster]] = [
    (GradientBoosting, fit_boosting),
    (CommitteeEstimator, fit_learner),
    (object, fit_table),
]
"""How estimators of a class are fitted, those with a way of their own first."""
