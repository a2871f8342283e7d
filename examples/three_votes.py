"""Three votes of AdaBoost
=======================

AdaBoost's three votes beside scikit-learn's, on the same folds of one table. Discrete votes count heads,
confidence-rated votes say how sure they are, abstaining voters may keep silent.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier as ScikitLearnAdaBoost

from committee import AdaBoostClassifier
from committee.report import ComparisonDisplay
from committee.report.comparison import compare
from committee.report.comparison_tables import verdict

X, y = load_breast_cancer(return_X_y=True)
models = {
    **{vote: AdaBoostClassifier(100, vote=vote) for vote in ("discrete", "confidence", "abstaining")},
    "scikit-learn's AdaBoost": ScikitLearnAdaBoost(n_estimators=100, random_state=0),
}
result = compare(X, y, models, folds=5, metric="log_loss")

print(f"{'':24} {'accuracy':>9} {'log loss':>9} {'fit ms':>8} {'mean margin':>12}")
for model in result.models:
    print(
        f"{model.name:24} {model.mean('accuracy'):9.3f} {model.mean('log_loss'):9.3f}"
        f" {1000 * model.median('fit_seconds'):8.1f} {model.mean('mean_margin'):12.3f}"
    )
for sentence in verdict(result):
    print(sentence)

silent = AdaBoostClassifier(100, vote="abstaining").fit(X, y).committee_
print(f"the abstaining stumps were silent on {(silent.votes(X) == 0).mean():.0%} of their votes")

# %%
# A dot for each fold, the mean and a standard deviation.

display = ComparisonDisplay(result).plot()
