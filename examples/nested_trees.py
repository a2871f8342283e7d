"""Voters that answer at random
============================

Voters that answer at random: added up, in a tree, and in trees nested in trees, with as many voters. Drawn are the
bounds on their training errors, and the graph of the nested trees.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from committee import BoostingTreeClassifier, MatryoshkaClassifier, ProbabilisticAdaBoostClassifier
from committee.report import BoundDisplay, NestDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
y = y.map({0: "malignant", 1: "benign"})
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

models = {
    "sum": ProbabilisticAdaBoostClassifier(16),
    "tree": BoostingTreeClassifier(16),
    "2-matryoshka": MatryoshkaClassifier(levels=4),
}
print(f"{'16 voters':14} {'bound':>6} {'voters met':>11} {'accuracy':>9}")
for name, model in models.items():
    model.fit(X_train, y_train)
    print(f"{name:14} {model.bound_:6.3f} {model.cost(X_test).mean():11.1f} {model.score(X_test, y_test):9.3f}")

# %%
# The bound on the training error falls with every voter.

bounds = BoundDisplay.from_estimators(models)
bounds.figure_.savefig("nested_trees_bounds.png", dpi=150)

# %%
# The nested trees as a graph: a row goes right where a voter names the class, and meets few of the voters.

graph = NestDisplay.from_estimator(models["2-matryoshka"])
graph.figure_.savefig("nested_trees_graph.png", dpi=150)
