"""Fits whose table comes to the client, and whose independent members are trained by the workers."""

from __future__ import annotations

from typing import Any

from committee.dask.cluster import Cluster
from committee.dask.members import ClusterMembers
from committee.dask.needed import needed
from committee.dask.partitions import ClusterPartitions
from committee.data.parallel import members_by
from committee.data.pieces.scan import Pieces


def fit_members(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    """Bring the table to the client, and train independent members on the workers."""
    y, sample_weight = gathered(y, cluster), gathered(sample_weight, cluster)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    fit_here = getattr(estimator, "fit_here", estimator.fit)  # of a learner with a name for clusters
    with members_by(ClusterMembers(cluster)):
        fit_here(X, y, **weights, **options)


def fit_learner(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    """As `fit_members`, of a learner, which takes partitions one after the other: the client has their codes alone."""
    if needed("dask").is_dask_collection(X):
        X = Pieces(ClusterPartitions(X, cluster))
    fit_members(estimator, X, y, sample_weight, cluster, **options)


def fit_table(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    """As `fit_members`, of any other estimator, which takes a table as a whole."""
    fit_members(estimator, gathered(X, cluster), y, sample_weight, cluster, **options)


def gathered(table: Any, cluster: Cluster) -> Any:
    """Return a Dask collection computed, and anything else as it is."""
    if not needed("dask").is_dask_collection(table):
        return table
    return cluster.fetched(cluster.client.compute(table))
