"""Parameters of other libraries and their names here, for errors about unknown parameters."""

from __future__ import annotations

from collections.abc import Collection

from committee.data.text import suggest_names

PEERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("n_iter", "max_iter", "iterations", "num_iterations"), ("n_estimators",)),
    **dict.fromkeys(("num_boost_round", "num_round", "nrounds", "num_trees", "n_trees"), ("n_estimators",)),
    **dict.fromkeys(("eta", "shrinkage_rate"), ("learning_rate",)),
    **dict.fromkeys(("num_leaves", "max_leaves", "num_leaf"), ("max_leaf_nodes",)),
    "depth": ("max_depth",),
    "grow_policy": ("growth",),
    **dict.fromkeys(("min_child_samples", "min_data_in_leaf"), ("min_samples_leaf",)),
    "min_samples_split": ("min_samples_leaf",),
    "min_weight_fraction_leaf": ("min_weight_leaf",),
    **dict.fromkeys(("min_child_weight", "min_sum_hessian_in_leaf"), ("min_hessian_leaf", "min_weight_leaf")),
    **dict.fromkeys(("reg_lambda", "lambda_l2", "l2_leaf_reg", "l2_regularization", "linear_lambda"), ("leaf_l2",)),
    **dict.fromkeys(("reg_alpha", "lambda_l1"), ("leaf_l1",)),
    **dict.fromkeys(("gamma", "min_split_loss", "min_split_gain", "min_gain_to_split"), ("leaf_l0",)),
    "ccp_alpha": ("min_impurity_decrease",),
    **dict.fromkeys(("bagging_fraction", "subsample", "sample_fraction"), ("subsample", "max_samples")),
    **dict.fromkeys(("colsample_bytree", "feature_fraction", "rsm"), ("max_features_tree", "max_features")),
    **dict.fromkeys(("colsample_bynode", "feature_fraction_bynode", "colsample_bylevel", "mtry"), ("max_features",)),
    **dict.fromkeys(("max_bin", "border_count", "n_bins"), ("max_bins",)),
    **dict.fromkeys(("objective", "loss_function"), ("loss",)),
    **dict.fromkeys(("alpha", "quantile_alpha"), ("quantile",)),
    **dict.fromkeys(("monotone_constraints", "monotonic_cst"), ("monotonic_constraints",)),
    "interaction_cst": ("interaction_constraints",),
    **dict.fromkeys(("cat_features", "categorical_feature"), ("categorical_features",)),
    **dict.fromkeys(("enable_categorical", "feature_types"), ("categorical_features",)),
    **dict.fromkeys(("scale_pos_weight", "is_unbalance", "auto_class_weights", "class_weights"), ("class_weight",)),
    **dict.fromkeys(("early_stopping_rounds", "early_stopping_round", "od_wait"), ("n_iter_no_change",)),
    "min_delta": ("tol",),
    "use_best_model": ("early_stopping",),
    "validation_split": ("validation_fraction",),
    **dict.fromkeys(("eval_metric", "metric", "custom_metric"), ("scoring",)),
    **dict.fromkeys(("seed", "random_seed"), ("random_state",)),
    **dict.fromkeys(("nthread", "num_threads", "thread_count"), ("n_jobs",)),
    **dict.fromkeys(("base_estimator", "estimator"), ("voter", "estimator")),
    "linear_tree": ("leaf",),
    "multi_strategy": ("tree",),
    **dict.fromkeys(("init_model", "xgb_model"), ("warm_start",)),
    **dict.fromkeys(("eval_set", "X_valid"), ("X_val",)),
    "y_valid": ("y_val",),
    **dict.fromkeys(("eval_sample_weight", "sample_weight_eval_set"), ("sample_weight_val",)),
    **dict.fromkeys(("weight", "weights"), ("sample_weight",)),
    **dict.fromkeys(("init_score", "base_margin", "baseline", "exposure"), ("offset",)),
    **dict.fromkeys(("time_budget", "max_runtime_secs", "time_left_for_this_task"), ("time_limit",)),
    **dict.fromkeys(("presets", "preset"), ("effort",)),
}
"""Names here of a parameter of another library; the hint names the first one that the learner has."""

NOTES = {
    "eval_set": "with its targets as y_val",
    "gamma": "half of XGBoost's gamma, with l0_counts='leaves'",
    "min_split_loss": "half of XGBoost's, with l0_counts='leaves'",
    **dict.fromkeys(("min_split_gain", "min_gain_to_split"), "half of LightGBM's, with l0_counts='leaves'"),
    "min_samples_split": "which limits leaves",
    "ccp_alpha": "or committee.prune after the fit",
    "scale_pos_weight": "such as {0: 1, 1: s}",
    **dict.fromkeys(("early_stopping_rounds", "early_stopping_round", "od_wait"), "with early_stopping=True"),
    "exposure": "the logarithm of the exposure",
    "linear_tree": "as leaf='linear'",
    **dict.fromkeys(("init_model", "xgb_model"), "which continues the model's own committee"),
}
"""Addition to the hint, by the unknown keyword."""

OFFSETS = {"offset", "offset_val", *(name for name, ours in PEERS.items() if ours == ("offset",))}

PRINTING = {"verbose", "verbosity", "silent", "verbose_eval", "log_level"}


def hint(learner: str, method: str, keyword: str, own: Collection[str], fit: Collection[str]) -> str:
    """Return the remedy for an unknown keyword of a constructor or of ``fit``.

    `own` are the parameters of the constructor, `fit` those of ``fit``.
    """
    here, there = (fit, own) if method == "fit" else (own, fit)
    other = f"{learner}()" if method == "fit" else "fit()"
    if keyword in there:
        return f"it is a parameter of {other}"
    if keyword in PRINTING:
        return "a fit prints nothing; set_callbacks(sklearn.callback.ProgressBar()) shows its progress"
    if method == "fit" and keyword in OFFSETS and "offset" not in fit:
        if learner.endswith("Regressor"):
            rates = "for counts over exposures fit y / exposure with sample_weight=exposure"
            return f"{rates}, or use GradientBoostingRegressor, which takes offsets"
        return "use GradientBoostingClassifier, which takes offsets"
    for name in PEERS.get(keyword, ()):
        if name in here or name in there:
            note = f" ({NOTES[keyword]})" if keyword in NOTES else ""
            return f"here it is {name}{note}" + (f", a parameter of {other}" if name not in here else "")
    return suggest_names(keyword, sorted(here))
