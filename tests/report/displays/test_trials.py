"""The display of trials of gradient boosting, and its part of a page."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn import ensemble
from sklearn.datasets import load_breast_cancer

from committee import GradientBoostingClassifier
from committee.report import TrialsDisplay
from committee.report.displays.base import COLORS
from committee.report.model_pages import render_model
from tests.report.displays.drawn import texts_inside, whole


@pytest.fixture(scope="module")
def tried():
    X, y = load_breast_cancer(return_X_y=True)
    return GradientBoostingClassifier(n_estimators=20, random_state=0).fit(X, y)


def drawn_dots(ax):
    dots = [line for line in ax.get_lines() if line.get_marker() == "o"]
    return [each.get_xdata()[0] for each in dots], [each.get_color() for each in dots]


def test_losses_and_their_errors_are_drawn_in_the_order_tried(tried):
    display = whole(TrialsDisplay.from_estimator(tried))
    losses, colors = drawn_dots(display.ax_)
    assert losses == tried.trials_["loss"]
    chosen = np.flatnonzero(tried.trials_frame()["chosen"]).tolist()
    assert [display.chosen] == [i for i, color in enumerate(colors) if color == COLORS[1]] == chosen
    for i, (segments, error) in enumerate(
        zip((one.get_segments() for one in display.ax_.collections), tried.trials_["standard_error"], strict=True)
    ):
        np.testing.assert_allclose(segments[0], [[losses[i] - error, i], [losses[i] + error, i]])
    names = [label.get_text().replace("\n", " ") for label in display.ax_.get_yticklabels()]
    assert names[:2] == ["chosen: 15 leaves, 70% of rows, 15 columns per node", "15 leaves, all rows, all columns"]
    assert display.ax_.get_xlabel() == "held-out loss\n±1 standard error of the change from the first trial"


@pytest.mark.parametrize(
    ("scoring", "label", "sign"),
    [("accuracy", "accuracy", -1), (["neg_brier_score", "f1"], "brier score", 1), (lambda *_: 0.5, "<lambda>", -1)],
)
def test_trials_by_a_scorer_show_its_scores(tried, scoring, label, sign, monkeypatch):
    monkeypatch.setattr(tried, "scoring", scoring)
    ax = TrialsDisplay.from_estimator(tried, ax=Figure().subplots()).ax_
    assert drawn_dots(ax)[0] == [sign * loss for loss in tried.trials_["loss"]]
    assert ax.get_xlabel().startswith(f"held-out {label}\n")


def test_names_of_settings():
    columns = {"max_leaf_nodes": [0, 0], "subsample": [0.55, 0.55], "max_features": [0, 0], "rounds": [2.0, 0.5]}
    X, y = load_breast_cancer(return_X_y=True)
    model = GradientBoostingClassifier(n_estimators=1, learning_rate=0.5).fit(X, y)
    model.trials_ = columns | {"loss": [0.5, 0.4], "gain": [0.0, 0.1], "standard_error": [0.0, 0.2]}
    display = whole(TrialsDisplay.from_estimator(model))
    assert display.settings[1] == "no limit of leaves, 55% of rows, all columns, smaller steps"
    assert display.chosen is None
    one = TrialsDisplay(["15 leaves"], [0.5]).plot()
    assert texts_inside(one)[-1] == "held-out loss"


def test_a_page_of_a_model_with_several_trials_has_them(tried, monkeypatch):
    page = render_model(tried)
    loss, error = (tried.trials_[name][1] for name in ("loss", "standard_error"))
    assert "<h3>Trials of settings</h3>" in page and f"{loss:.4g} ± {error:.2g}" in page
    monkeypatch.setattr(tried, "trials_", {name: values[:1] for name, values in tried.trials_.items()})
    assert "Trials of settings" not in render_model(tried)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TrialsDisplay([], []), r"shapes \(0,\) and \(0,\) for 0 settings; give one"),
        (lambda: TrialsDisplay(["a"], [0.1, 0.2]), r"shapes \(2,\) and \(1,\) for 1 settings"),
        (lambda: TrialsDisplay(["a"], [0.1], chosen=1), "chosen=1 is not a position; there are 1 trials"),
        (
            lambda: TrialsDisplay.from_estimator(ensemble.GradientBoostingClassifier()),
            r"has no trials_ to draw; give a fitted committee\.GradientBoostingClassifier or committee\.",
        ),
        (
            lambda: TrialsDisplay.from_estimator(
                GradientBoostingClassifier(n_estimators=1, learning_rate=0.5).fit([[0.0], [1.0]] * 20, [0, 1] * 20)
            ),
            "learning_rate=0.5 makes no trials; fit with learning_rate='auto'",
        ),
    ],
)
def test_invalid_arguments_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
