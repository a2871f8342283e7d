"""Pictures of the members of a committee of ensembles: where they are apart, and what columns add."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from committee import CommitteeClassifier, CommitteeRegressor, RandomForestClassifier
from committee.report import (
    ContributionDisplay,
    MeanContributionDisplay,
    MemberDisagreementDisplay,
    MemberVotesDisplay,
)
from committee.report.displays.mean_contribution import mean_sizes
from committee.report.member_answers import MemberAnswers
from tests.report.displays.drawn import legend_of, whole
from tests.small_portfolio import use_small_members
from tests.subjects import noisy_scores, numbers


def small_blend(kind, X, y):
    with pytest.MonkeyPatch.context() as patch:
        use_small_members(patch)
        return kind("best", cv=2, min_gain=0.0, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def classes():
    X, y = numbers(3, 240)
    y = np.array(["a class of a long name", "b", "c"])[y]
    return small_blend(CommitteeClassifier, X[::2], y[::2]), X[1::2], y[1::2]


@pytest.fixture(scope="module")
def of_numbers():
    X, y = noisy_scores(240)
    return small_blend(CommitteeRegressor, X[::2], y[::2]), X[1::2], y[1::2]


# --- disagreement ----------------------------------------------------------------------------------------------------


def test_the_map_has_a_cell_for_each_two(classes):
    model, X, _ = classes
    display = whole(MemberDisagreementDisplay.from_estimator(model, X))
    apart, m = MemberAnswers.of(model, X).disagreement(), len(model.member_names_) + 1
    assert_array_equal(display.disagreement, apart)
    assert len(display.ax_.texts) == m * (m - 1) // 2
    assert display.ax_.texts[0].get_text() in (f"{apart[1, 0]:.0%}", f"{apart[1, 0]:.1%}")
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()][-1] == "vote"


def test_the_map_of_numbers_has_differences(of_numbers):
    model, X, _ = of_numbers
    display = whole(MemberDisagreementDisplay.from_estimator(model, X))
    assert display.ax_.texts[0].get_text() == f"{display.disagreement[1, 0]:.3g}"


def test_a_map_of_members_at_one():
    display = whole(MemberDisagreementDisplay(["a", "vote"], np.zeros((2, 2))).plot())
    assert [text.get_text() for text in display.ax_.texts] == ["0.0%"]
    for names, shape in ((["vote"], (1, 1)), (["a", "vote"], (3, 3))):
        with pytest.raises(ValueError, match=r"disagreement has shape .*; \d names need"):
            MemberDisagreementDisplay(names, np.zeros(shape))


# --- disputed rows ---------------------------------------------------------------------------------------------------


def test_marks_are_probabilities_of_the_class_that_the_vote_elects(classes):
    model, X, y = classes
    told = MemberAnswers.of(model, X, y)
    display = whole(MemberVotesDisplay.from_estimator(model, X, y, max_rows=7))
    assert_array_equal(display.rows, told.most_disputed(7))
    winner = told.vote[display.rows].argmax(axis=1)
    marks = [points.get_offsets() for points in display.ax_.collections[1:]]  # the lines come first
    assert len(marks) == len(told.names) + 1
    for at, p in zip(marks, told.everyone, strict=True):
        assert_allclose(at[:, 0], p[display.rows, winner])
    assert legend_of(display.ax_)[-1] == "vote"
    words = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    for row, said in zip(display.rows, words, strict=True):
        elected = model.predict(X[[row]])[0]
        assert said.startswith(f"row {row}: {elected[:15]}")
        assert (", is " in said) == (elected != y[row])


def test_without_labels_no_row_says_what_it_is(classes):
    display = MemberVotesDisplay.from_estimator(*classes[:2])
    assert not any(", is " in tick.get_text() for tick in display.ax_.get_yticklabels())


def test_marks_of_numbers_and_the_truth(of_numbers):
    model, X, y = of_numbers
    display = whole(MemberVotesDisplay.from_estimator(model, X, y, max_rows=5))
    assert legend_of(display.ax_)[-2:] == ["vote", "true"]
    assert_allclose(display.ax_.collections[-1].get_offsets()[:, 0], y[display.rows])
    assert legend_of(MemberVotesDisplay.from_estimator(model, X).ax_)[-1] == "vote"


def test_rows_that_cannot_be_drawn(classes):
    model, X, _ = classes
    with pytest.raises(ValueError, match="max_rows=0 is no number of rows to draw"):
        MemberVotesDisplay.from_estimator(model, X, max_rows=0)
    p = np.full((1, 4, 2), 0.5)
    with pytest.raises(ValueError, match="at one on every row"):
        MemberVotesDisplay(MemberAnswers(("a",), np.ones(1), p, p[0], np.array([0, 1]), None))


# --- contributions ---------------------------------------------------------------------------------------------------


def test_bars_are_mean_sizes(classes):
    model, X, _ = classes
    display = whole(MeanContributionDisplay.from_estimator(model, X, max_features=3))
    shares = model.contributions(X)[:, :-1]
    sizes = np.array([np.mean([np.abs(shares[i, j]).sum() / 2 for i in range(len(X))]) for j in range(5)])
    assert_allclose(display.sizes, sizes)
    drawn = [bar.get_width() for bar in display.ax_.patches]
    largest = np.sort(sizes)[::-1]
    assert_allclose(drawn, [*largest[:3], largest[3:].sum()])
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()][-1] == "2 others in sum"


def test_of_two_classes_and_of_numbers_they_are_absolute_values(of_numbers):
    model, X, _ = of_numbers
    assert_allclose(mean_sizes(model.contributions(X)), np.abs(model.contributions(X)[:, :-1]).mean(axis=0))
    one = np.random.default_rng(0).normal(size=(4, 3))
    assert_allclose(mean_sizes(np.stack([-one, one], axis=2)), np.abs(one[:, :-1]).mean(axis=0))
    display = whole(MeanContributionDisplay.from_estimator(model, X))
    assert display.ax_.get_xlabel() == "mean number added or taken away"


def test_bars_that_cannot_be(classes):
    model, X, y = classes
    with pytest.raises(TypeError, match="is a RandomForestClassifier; give a CommitteeClassifier"):
        MeanContributionDisplay.from_estimator(RandomForestClassifier(2).fit(X, y), X)
    with pytest.raises(TypeError, match="X is sparse"):
        MeanContributionDisplay.from_estimator(model, csr_array(X))
    with pytest.raises(ValueError, match=r"sizes has shape \(1,\); 2 labels need one each"):
        MeanContributionDisplay([1.0], ["a", "b"])
    with pytest.raises(ValueError, match="max_features"):
        MeanContributionDisplay([1.0], ["a"], max_features=0)
    assert whole(MeanContributionDisplay([0.0], ["a"]).plot()).ax_.texts[0].get_text() == "0"


def test_one_row_of_a_blend_leads_to_its_probability(classes, of_numbers):
    model, X, _ = classes
    display = whole(ContributionDisplay.from_estimator(model, X, 3))
    k = model.predict_proba(X)[3].argmax()
    assert_array_equal(display.contributions, model.contributions(X)[3, :, k])
    assert display.ax_.get_xlabel() == f"probability for {model.classes_[k]}"
    labels = [tick.get_text() for tick in display.ax_.get_yticklabels()]
    assert (labels[0], labels[-1]) == ("no column known", "probability")
    model, X, _ = of_numbers
    display = ContributionDisplay.from_estimator(model, X, 3)
    assert_allclose(display.contributions.sum(), model.predict(X)[3])
