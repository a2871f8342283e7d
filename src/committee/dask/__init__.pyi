"""Fits and predictions on a Dask cluster; `__init__` finds its names here."""

from committee.dask.cluster import ClusterError as ClusterError
from committee.dask.estimators import decision_function as decision_function
from committee.dask.estimators import fit as fit
from committee.dask.estimators import members_on as members_on
from committee.dask.estimators import predict as predict
from committee.dask.estimators import predict_proba as predict_proba
from committee.dask.estimators import score as score
from committee.dask.learners import DaskCommitteeClassifier as DaskCommitteeClassifier
from committee.dask.learners import DaskCommitteeRegressor as DaskCommitteeRegressor
from committee.dask.learners import DaskGradientBoostingClassifier as DaskGradientBoostingClassifier
from committee.dask.learners import DaskGradientBoostingRegressor as DaskGradientBoostingRegressor
from committee.dask.learners import DaskRandomForestClassifier as DaskRandomForestClassifier
from committee.dask.learners import DaskRandomForestRegressor as DaskRandomForestRegressor
from committee.dask.learners import DaskSBPMTClassifier as DaskSBPMTClassifier
from committee.dask.learners import DaskSubaggingClassifier as DaskSubaggingClassifier
