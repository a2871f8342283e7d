"""Margins of boosting and of a forest
===================================

Margins: how clearly a committee is right, for boosting and for a scikit-learn forest alike. Drawn is the share of test
rows whose margin is at most theta.
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from committee import AdaBoostClassifier, Committee
from committee.report import MarginDisplay

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)

committees = {
    f"AdaBoost, {n} stumps": AdaBoostClassifier(n_estimators=n).fit(X_train, y_train).committee_ for n in (10, 100, 500)
}
forest = RandomForestClassifier(n_estimators=200, random_state=0).fit(X_train, y_train)
committees["random forest, 200 trees"] = Committee.from_estimator(forest)

print(f"{'test margins':26} {'mean':>6} {'minimum':>8} {'at most 0.1':>12} {'accuracy':>9}")
margins = {}
for name, committee in committees.items():
    m = margins[name] = committee.margins(X_test, y_test)
    accuracy = np.mean(committee.predict(X_test) == y_test)
    print(f"{name:26} {m.mean():6.3f} {m.min():8.3f} {np.mean(m <= 0.1):12.1%} {accuracy:9.3f}")

# %%
# A curve further right is a more unanimous vote; left of zero are the rows that are wrong.

display = MarginDisplay(margins).plot()
display.figure_.savefig("margins.png", dpi=150)
