"""A forest cut to its best trees
==============================

A scikit-learn forest made smaller: a committee can be indexed by the numbers of its voters. Trees are added one at a
time, each time the one that lowers the log loss of a validation set most.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from committee import Committee
from committee.report import MarginDisplay

X, y = load_digits(return_X_y=True)
X_rest, X_test, y_rest, y_test = train_test_split(X, y, stratify=y, random_state=0)
X_train, X_val, y_train, y_val = train_test_split(X_rest, y_rest, stratify=y_rest, random_state=0)

forest = RandomForestClassifier(n_estimators=200, random_state=0).fit(X_train, y_train)
whole = Committee.from_estimator(forest)
assert (whole.predict(X_test) == forest.predict(X_test)).all()


def log_loss(share, y):
    """Mean of -ln(share of the true class); a share of zero counts as a thousandth."""
    true = np.take_along_axis(share, y.reshape(-1, *[1] * (share.ndim - 1)), axis=-1)[..., 0]
    return -np.log(np.maximum(true, 1e-3)).mean(axis=0)


# %%
# The 25 trees that vote best together on the validation rows, against the first 25.

H = whole.votes(X_val)  # (rows, voters, classes): every tree's class shares
chosen: list[int] = []
tally = np.zeros((len(y_val), 1, whole.n_classes))
while len(chosen) < 25:
    left = np.setdiff1d(np.arange(whole.n_voters), chosen)
    best = left[log_loss((tally + H[:, left]) / (len(chosen) + 1), y_val).argmin()]
    chosen.append(int(best))
    tally += H[:, [best]]

print(f"{'':16} {'voters':>7} {'nodes':>7} {'kB':>6} {'accuracy':>9} {'log loss':>9}")
for name, committee in {
    "the forest": whole,
    "25 chosen trees": whole[chosen],
    "its first 25": whole[:25],
}.items():
    accuracy = np.mean(committee.predict(X_test) == y_test)
    loss = log_loss(committee.predict_proba(X_test), y_test)
    size = f"{committee.n_voters:7} {committee.n_nodes:7,} {committee.nbytes / 1000:6.0f}"
    print(f"{name:16} {size} {accuracy:9.3f} {loss:9.3f}")

margins = {"the forest": whole.margins(X_test, y_test), "25 chosen trees": whole[chosen].margins(X_test, y_test)}
display = MarginDisplay(margins).plot()
