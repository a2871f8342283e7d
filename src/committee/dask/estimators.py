"""Fits and predictions of estimators on a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from typing import Any, TypeVar

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.base import is_dask_collection
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import _check_feature_names, check_is_fitted

from committee.dask.cluster import Cluster, ClusterPartitions, outside_of_tasks, without_named
from committee.dask.members import ClusterMembers
from committee.dask.sharded_table import ShardedTable, rows_of, scan_partitions
from committee.data.bins import most_bins
from committee.data.out_of_core.scan import FileStamps, Pieces
from committee.data.out_of_core.sources import DaskSource
from committee.data.out_of_core.training_pieces import Storage
from committee.data.parallel import members_from_executor
from committee.data.rows import nonzero_weights, row_weights
from committee.files.writing import scratch_folder
from committee.learners.base.estimator import CommitteeEstimator
from committee.learners.gradient.gradient_boosting import GradientBoosting

E = TypeVar("E")

TIMEOUT = 60.0


@contextmanager
def members_on(client: Client | None = None, *, timeout: float = TIMEOUT) -> Iterator[None]:
    """Train the independent members of all fits in the block on the workers of a cluster.

    Members are the trees of forests, the voters of subagging and SBPMT, the candidates of a committee of ensembles and
    their folds, and the cells of comparisons. Workers receive copies of the training rows.

    Parameters
    ----------
    client : distributed.Client, default=None
        Client of the cluster, by default the current one.
    timeout : float, default=60
        As in `fit`.

    Examples
    --------
    ``with members_on(client): forest.fit(X, y)``
    """
    with outside_of_tasks(), members_from_executor(ClusterMembers(Cluster(client, timeout))):
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
    """Fit an estimator on a Dask cluster; the fitted model is bit-identical to a local fit.

    Gradient boosting leaves the rows of a Dask collection on the workers. Forests, subagging, SBPMT and committees of
    ensembles train their members on the workers; the client reads the table, and sends what members share, such as bin
    numbers. Other learners, and gradient boosting of other tables, are trained on the client.

    Parameters
    ----------
    estimator : estimator
        A learner, or a scikit-learn estimator with one inside, such as a pipeline.
    X : Dask dataframe or array, or table or array-like (n, p)
        Training rows.
    y : Dask series or array, array-like (n,), or str
        Targets, or for a learner of this library the name of a column of `X`.
    sample_weight : Dask series or array, array-like (n,), or str, default=None
        Weights, or for a learner of this library the name of a column of `X`.
    client : distributed.Client, default=None
        Client of the cluster, by default the current one.
    timeout : float, default=60
        Seconds without a heartbeat of any worker, or a response of the scheduler, after which the fit fails. Lost
        workers are not an error while others remain or join.
    **options : object
        Further arguments of the estimator's own `fit`, such as ``checkpoint`` or ``offset``; Dask collections among
        them are computed on the client.

    Returns
    -------
    estimator
        `estimator`, fitted.

    Raises
    ------
    ImportError
        If Dask is not installed.
    ValueError
        If there is no client, or from the estimator's own `fit`.
    ClusterError
        If the scheduler is lost, all workers are for `timeout` seconds, or workers die one after the other at the same
        task, usually for lack of memory.

    Examples
    --------
    ``fit(RandomForestClassifier(), dd.read_parquet("big/"), "label", client=Client("tcp://scheduler:8786"))``
    """
    with outside_of_tasks():
        cluster = Cluster(client, timeout)
        options = {name: gathered(value, cluster) for name, value in options.items()}
        if not is_dask_collection(X):
            fit_members(estimator, X, y, sample_weight, cluster, **options)
        elif isinstance(estimator, GradientBoosting):
            fit_shards(estimator, X, y, sample_weight, cluster, **options)
        elif isinstance(estimator, CommitteeEstimator):  # reads a partition at a time, and keeps only bin codes
            fit_members(estimator, Pieces(ClusterPartitions(X, cluster)), y, sample_weight, cluster, **options)
        else:
            fit_members(estimator, gathered(X, cluster), y, sample_weight, cluster, **options)
    return estimator


def fit_members(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    y, sample_weight = gathered(y, cluster), gathered(sample_weight, cluster)
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    fit_here = getattr(estimator, "fit_here", estimator.fit)  # the `fit` of a `DaskLearner` would call this again
    with members_from_executor(ClusterMembers(cluster)):
        fit_here(X, y, **weights, **options)


def gathered(table: Any, cluster: Cluster) -> Any:
    return cluster.fetched(cluster.client.compute(table)) if is_dask_collection(table) else table


def fit_shards(estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, **options: Any) -> None:
    X, y, sample_weight = without_named(X, y, sample_weight)
    y, sample_weight = gathered(y, cluster), gathered(sample_weight, cluster)
    with ExitStack() as ended:
        folder = cache(lambda: ended.enter_context(scratch_folder(None)))
        table = sharded_table(estimator, X, y, sample_weight, cluster, Storage(None, folder))
        ended.callback(table.close)
        fit_members(estimator, table, table.y, table.weights, cluster, **options)


def sharded_table(
    estimator: Any, X: Any, y: Any, sample_weight: Any, cluster: Cluster, storage: Storage
) -> ShardedTable:
    source = DaskSource(X)
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
        keep = nonzero_weights(row_weights(sample_weight, np.empty((sum(sizes), 0)), warn=False))
        keep = None if keep.all() else keep
    most = most_bins(estimator.max_bins)
    look = scan_partitions(cluster, parts, sizes, keep, estimator.categorical_features, most)
    n, no_files = sum(sizes), FileStamps.of(())
    return ShardedTable(
        Pieces(source), look, keep, n, example, y, sample_weight, no_files, storage, cluster, parts, sizes
    )


def predict(estimator: Any, X: Any) -> Any:
    """Predict the class or number of each row, shape (n,), or (n, q) for several targets or quantiles.

    Parameters
    ----------
    estimator : fitted estimator
        A learner, or a scikit-learn estimator with one inside.
    X : Dask dataframe or array, or table or array-like (n, p)
        Rows.

    Returns
    -------
    Dask array, or array
        Lazy if `X` is: one block per partition or block of rows. The block sizes of a dataframe are unknown until
        ``compute_chunk_sizes``.

    Examples
    --------
    ``predict(forest, dd.read_parquet("new/")).to_zarr("classes")``
    """
    return _answers(estimator, "predict", X)


def predict_proba(estimator: Any, X: Any) -> Any:
    """Predict class probabilities, shape (n, n_classes), lazily if `X` is lazy (see `predict`)."""
    return _answers(estimator, "predict_proba", X)


def decision_function(estimator: Any, X: Any) -> Any:
    """Compute scores, shape (n,) for two classes, else (n, n_classes), lazily if `X` is lazy (see `predict`)."""
    return _answers(estimator, "decision_function", X)


def score(estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
    """Compute the accuracy of a classifier or R2 of a regressor; workers predict the rows of Dask collections.

    Parameters
    ----------
    estimator : fitted estimator
        As in `predict`.
    X : Dask dataframe or array, or table or array-like (n, p)
        Rows.
    y : Dask series or array, array-like (n,), or str
        Targets, or the name of a column of `X`.
    sample_weight : Dask series or array, array-like (n,), or str, default=None
        Weights, or the name of a column of `X`.

    Returns
    -------
    float
    """
    X, y, sample_weight = without_named(X, y, sample_weight)
    # one after the other: Dask warns of dataframes and arrays together
    given, predicted, weights = (dask.compute(one)[0] for one in (y, predict(estimator, X), sample_weight))
    measure = accuracy_score if is_classifier(estimator) else r2_score
    return float(measure(given, predicted, sample_weight=weights))


def _answers(estimator: Any, method: str, X: Any) -> Any:
    check_is_fitted(estimator)
    if not hasattr(estimator, method):
        raise AttributeError(f"{type(estimator).__name__} has no {method}")
    if not is_dask_collection(X):
        return getattr(estimator, method)(X)
    dtype, width = _type_and_width(estimator, method)
    model = dask.delayed(estimator, pure=False, traverse=False)
    if isinstance(X, da.Array):
        parts, sizes = X.rechunk({1: -1}).to_delayed()[:, 0].tolist(), X.chunks[0]
    else:
        if hasattr(estimator, "feature_names_in_"):
            _check_feature_names(estimator, X._meta, reset=False)  # here, rather than by each worker later
        parts = X.to_delayed()
        sizes = (np.nan,) * len(parts)
    answer = dask.delayed(_answers_of_part, pure=False)
    blocks = [
        da.from_delayed(answer(model, method, part, dtype, width), (size, *width), dtype)
        for part, size in zip(parts, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _type_and_width(estimator: Any, method: str) -> tuple[np.dtype[Any], tuple[int, ...]]:
    if method != "predict":
        n_classes = len(estimator.classes_)
        return np.dtype(np.float64), () if method == "decision_function" and n_classes == 2 else (n_classes,)
    if is_classifier(estimator):
        return estimator.classes_.dtype, ()
    n_targets = getattr(getattr(estimator, "committee_", None), "n_outputs", 1)
    return np.dtype(np.float64), () if n_targets == 1 else (n_targets,)


def _answers_of_part(
    estimator: Any, method: str, part: Any, dtype: np.dtype[Any], width: tuple[int, ...]
) -> NDArray[Any]:
    if not len(part):
        return np.empty((0, *width), dtype)
    call: Callable[[Any], Any] = getattr(estimator, method)
    return np.asarray(call(part))
