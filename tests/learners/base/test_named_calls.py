"""Errors of wrong arguments: they name the user's class and the parameter that was meant."""

import inspect
import re
from pathlib import Path

import pytest
from sklearn.ensemble import RandomForestClassifier as Forest

import committee
from committee import AdaBoostClassifier, CommitteeClassifier, CommitteeRegressor, GradientBoostingClassifier
from committee.data.text import NamedCalls
from committee.learners.base.parameters import NOTES, PEERS, hint

PAGE = Path(__file__).resolve().parents[3] / "docs" / "coming-from.md"
NO_COUNTERPART = {"bagging_temperature", "bootstrap_type", "cat_l2", "cat_smooth"}
OF_SCIKIT_LEARN = {"set_callbacks", "get_metadata_routing", "get_params"}
PUBLIC = [getattr(committee, name) for name in (*committee.LEARNERS, "DateEncoder", "TextEncoder")]


def unfitted(kind):
    needed = [each for each in inspect.signature(kind).parameters.values() if each.default is each.empty]
    return kind(*(Forest() for _ in needed))


@pytest.mark.parametrize("kind", PUBLIC)
def test_no_method_of_a_public_class_names_a_base_of_it(kind):
    model = unfitted(kind)
    for name in dir(kind):
        if name.startswith("_") or not inspect.isfunction(inspect.getattr_static(kind, name)):
            continue
        if any(each.kind is each.VAR_KEYWORD for each in inspect.signature(getattr(kind, name)).parameters.values()):
            continue
        if name in OF_SCIKIT_LEARN or vars(kind).get(name, getattr(kind, name)).__module__.startswith("sklearn."):
            continue
        with pytest.raises(
            TypeError, match=rf"^{kind.__name__}\.{name}\(\) got an unexpected keyword argument 'wrong'"
        ):
            getattr(model, name)(wrong=1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: CommitteeClassifier().fit(), "CommitteeClassifier.fit(): missing a required argument: 'X'."),
        (lambda: AdaBoostClassifier().predict(), "AdaBoostClassifier.predict(): missing a required argument: 'X'."),
        (
            lambda: AdaBoostClassifier().fit(1, 2, 3, 4),
            "AdaBoostClassifier.fit() got 4 arguments without names; only X, y, sample_weight may have no name.",
        ),
        (
            lambda: AdaBoostClassifier(20, 3),
            "AdaBoostClassifier() got 2 arguments without names; only n_estimators may have no name.",
        ),
        (
            lambda: GradientBoostingClassifier(num_leaves=9),
            "GradientBoostingClassifier() got an unexpected keyword argument 'num_leaves'; here it is max_leaf_nodes.",
        ),
        (
            lambda: GradientBoostingClassifier(offset=1),
            "GradientBoostingClassifier() got an unexpected keyword argument 'offset'; it is a parameter of fit().",
        ),
        (
            lambda: GradientBoostingClassifier().fit([[1]], [1], n_estimators=9),
            "unexpected keyword argument 'n_estimators'; it is a parameter of GradientBoostingClassifier().",
        ),
        (
            lambda: GradientBoostingClassifier().fit([[1]], [1], eval_set=[]),
            "unexpected keyword argument 'eval_set'; here it is X_val (with its targets as y_val).",
        ),
        (
            lambda: GradientBoostingClassifier(n_estimator=9),
            "unexpected keyword argument 'n_estimator'; did you mean 'n_estimators'?",
        ),
        (
            lambda: CommitteeRegressor().fit([[1]], [1], offset=[0]),
            "fit y / exposure with sample_weight=exposure, or use GradientBoostingRegressor, which takes offsets.",
        ),
        (
            lambda: AdaBoostClassifier().fit([[1]], [1], init_score=[0]),
            "unexpected keyword argument 'init_score'; use GradientBoostingClassifier, which takes offsets.",
        ),
        (lambda: AdaBoostClassifier(verbose=1), "'verbose'; a fit prints nothing;"),
        (lambda: CommitteeClassifier(time_budget=9), "'time_budget'; here it is time_limit."),
        (lambda: AdaBoostClassifier(early_stopping_round=3), "is n_iter_no_change (with early_stopping=True)."),
    ],
)
def test_a_wrong_argument_has_a_remedy(call, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        call()


def test_set_params_has_the_same_remedy():
    with pytest.raises(ValueError, match=r"Invalid parameter 'iterations' .*'iterations': here it is n_estimators"):
        GradientBoostingClassifier().set_params(iterations=9)


def test_an_error_within_a_method_is_unchanged():
    class Odd(NamedCalls):
        def fit(self, X):
            raise TypeError("odd")

        def many(self, X, **others):
            return len(others)

    with pytest.raises(TypeError, match=r"^odd$"):
        Odd().fit(1)
    assert Odd().many(1, a=2) == 1
    with pytest.raises(TypeError, match=r"^Odd\.many\(\): missing a required argument: 'X'\.$"):
        Odd().many(a=2)


@pytest.mark.parametrize("name", PEERS)
def test_every_name_of_a_peer_is_a_parameter_here(name):
    parameters = {each for kind in PUBLIC for each in inspect.signature(kind).parameters}
    arguments = {each for kind in PUBLIC for each in inspect.signature(kind.fit).parameters}
    assert set(PEERS[name]) <= parameters | arguments
    assert hint("Learner", "__init__", name, [PEERS[name][0]], ["X"]) if name not in PEERS[name] else True


def test_the_page_of_other_libraries_has_no_name_that_errors_do_not_know():
    assert set(NOTES) <= set(PEERS)
    table = PAGE.read_text("utf-8").partition("## Gradient boosting")[2].partition("## Row weights")[0]
    parameters = {*inspect.signature(GradientBoostingClassifier).parameters}
    for line in re.findall(r"^\|.*$", table, re.MULTILINE):
        ours, *theirs = (re.findall(r"`(\w+)`", cell) for cell in line.split("|")[1:6])
        if ours and ours[0] in parameters:
            for name in {name for cell in theirs for name in cell} - parameters - NO_COUNTERPART:
                assert name in PEERS, name
