"""Categories and missing values
=============================

A table as tables are: text beside numbers, gaps, a category that training never saw - and a saved model.
scikit-learn's wines, with two columns made coarse and a tenth of all cells emptied.
"""

import numpy as np
import polars as pl
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split

import committee
from committee import AdaBoostClassifier
from committee.report import TreeDisplay

wine = load_wine()
rng = np.random.default_rng(0)
frame = pl.DataFrame({str(name): wine.data[:, j] for j, name in enumerate(wine.feature_names)})
frame = frame.with_columns(
    pl.Series("hue", np.array(["brick", "garnet", "ruby", "purple"])[np.digitize(frame["hue"], [0.7, 0.9, 1.1])]),
    pl.Series("alcohol", np.where(frame["alcohol"] > 13, "strong", "light")),
)
holes = rng.random(frame.shape) < 0.1
frame = frame.with_columns(
    pl.when(pl.Series(~holes[:, j])).then(pl.col(name)).alias(name) for j, name in enumerate(frame.columns)
)
y = wine.target_names[wine.target]
train, test = train_test_split(np.arange(len(y)), stratify=y, random_state=0)

# %%
# The learner takes the frame as it is.

model = AdaBoostClassifier(n_estimators=50, vote="confidence").fit(frame[train], y[train])
print(f"accuracy {model.score(frame[test], y[test]):.3f}, with {frame.null_count().sum_horizontal()[0]} cells missing")

most = sorted(zip(model.feature_importances_, frame.columns, strict=True), reverse=True)[:3]
print("most used:", ", ".join(f"{name} ({share:.0%})" for share, name in most))

display = TreeDisplay.from_estimator(model, tree=0)

# %%
# A category that training never saw, a saved model, and a cell that is refused.

unknown = frame[test[:1]].with_columns(pl.lit("orange").alias("hue"))
missing = frame[test[:1]].with_columns(pl.lit(None, dtype=pl.String).alias("hue"))
same = np.array_equal(model.predict_proba(unknown), model.predict_proba(missing))
print("an unseen category counts as missing:", same)

model.save("wine.safetensors")
loaded = committee.load("wine.safetensors")
print("loaded, same probabilities:", np.array_equal(loaded.predict_proba(frame), model.predict_proba(frame)))

try:
    model.predict(frame.with_columns(pl.lit(float("inf")).alias("ash")))
except ValueError as error:
    print("refused:", error)
