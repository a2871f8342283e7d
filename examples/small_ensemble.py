"""An ensemble that is read in a minute
====================================

A forest of 200 trees, cut until what is left fits on a page: every test in words, and what every leaf adds to the vote.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from committee import LeafReweighter, RandomForestClassifier
from committee.report import SmallEnsembleDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
kind = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, kind, stratify=kind, random_state=0)
forest = RandomForestClassifier(n_estimators=200, random_state=0).fit(X_train, y_train)

# %%
# Few small trees, cut from larger ones (`growth`), rather than one that is whole.

small = LeafReweighter(forest, max_nodes=27, growth=8.0).fit(X_train, y_train)
for name, model in {"the forest": forest, "what is left": small}.items():
    size = f"{model.committee_.n_voters:4} trees, {model.committee_.n_nodes:6,} nodes"
    print(f"{name:13} {size}, test accuracy {model.score(X_test, y_test):.3f}")

# %%
# With rows, the way of one of them is dark, and its sum stands below.

display = SmallEnsembleDisplay.from_estimator(small, X_test, row=3)
print(display)
