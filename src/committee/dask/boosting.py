"""Gradient boosting on a Dask cluster: each worker keeps its rows, and trees come from sums over the workers."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np

from committee.dask.cluster import Cluster
from committee.dask.member_fits import fit_members, gathered
from committee.dask.named_columns import without_named
from committee.dask.needed import needed
from committee.dask.sharded_table import ShardedTable, first_look, rows_of
from committee.data.pieces.dask_collections import DaskPartitions
from committee.data.pieces.scan import Pieces
from committee.data.pieces.storage import Storage
from committee.data.pieces.unchanged import FileStates
from committee.data.rows import counted, row_weights
from committee.files.scratch import scratch_folder


def fit_shards(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    """Fit gradient boosting on the shards of a Dask collection; on the client, if X is none.

    The client has the labels and weights of all rows, and digests of 8 bytes where rows are drawn; workers have the
    codes of their rows, and their scores.
    """
    if not needed("dask").is_dask_collection(X):
        fit_members(estimator, X, y, sample_weight, cluster, **options)
        return
    X, y, sample_weight = without_named(X, y, sample_weight)
    y, sample_weight = gathered(y, cluster), gathered(sample_weight, cluster)
    with ExitStack() as ended:
        folder = cache(lambda: ended.enter_context(scratch_folder(None)))
        table = looked_at_by_workers(estimator, X, y, sample_weight, cluster, Storage(None, folder))
        ended.callback(table.close)
        fit_members(estimator, table, table.y, table.weights, cluster, **options)


def looked_at_by_workers(
    estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, storage: Storage
) -> ShardedTable:
    """Let workers look at the partitions of a collection."""
    delayed = needed("dask").delayed
    source = DaskPartitions(X)
    parts = source.delayed_parts()
    sizes, example = source.known_sizes, None
    if sizes is not None:
        example = np.zeros((1, X.shape[1]))
    else:
        found = cluster.fetched(cluster.client.compute(delayed(list)([delayed(rows_of)(part) for part in parts])))
        sizes = [n for n, _ in found]
        example = next((one for _, one in found if one is not None), None)
    if not sum(sizes):
        raise ValueError("X has 0 rows; at least one is needed.")
    keep = None
    if sample_weight is not None:
        keep = counted(row_weights(sample_weight, np.empty((sum(sizes), 0))))
        keep = None if keep.all() else keep
    categorical_features, max_bins = estimator.categorical_features, estimator.max_bins
    look = first_look(cluster, parts, sizes, keep, categorical_features, max_bins)
    return ShardedTable(
        Pieces(source),
        look,
        keep,
        sum(sizes),
        example,
        y,
        sample_weight,
        FileStates.of(()),
        storage,
        cluster,
        parts,
        sizes,
    )
