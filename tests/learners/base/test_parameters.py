"""Parameters: what a learner declares is what its signature, constraints and documentation say; wrong arguments."""

import ast
import inspect
import pickle
import pydoc
import re
import typing
from dataclasses import KW_ONLY, is_dataclass
from pathlib import Path

import numpy as np
import pytest
from joblib import Parallel, delayed
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier as Forest
from sklearn.model_selection import GridSearchCV
from sklearn.utils._param_validation import InvalidParameterError, StrOptions, make_constraint

import committee
from committee import (
    AdaBoostClassifier,
    CommitteeClassifier,
    CommitteeRegressor,
    GradientBoostingClassifier,
    MDBoostClassifier,
)
from committee.data.text import NamedCalls
from committee.learners.base import shared_parameters as shared
from committee.learners.base.parameters import (
    NOTES,
    PEERS,
    POSITIVE,
    fitted,
    hint,
    parameter,
    required,
    with_parameters,
)
from committee.learners.base.predictors import BaseClassifier

LEARNERS = [getattr(committee, name) for name in committee.LEARNERS]


def entries(learner: type) -> dict[str, tuple[str, str]]:
    """Type and default, and text, of each parameter in a class's documentation."""
    section = re.search(r"^Parameters\n-+\n(.*?)\n\n\w+\n---", inspect.getdoc(learner) or "", re.MULTILINE | re.DOTALL)
    assert section is not None
    heads = re.split(r"^(\w+) : (.*)$", section[1], flags=re.MULTILINE)[1:]
    return {
        name: (kind, " ".join(text.split()))
        for name, kind, text in zip(heads[::3], heads[1::3], heads[2::3], strict=True)
    }


def signature(learner: type) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(learner).parameters)


def allowed(constraints: list[object], value: object) -> bool:
    return any(make_constraint(each).is_satisfied_by(value) for each in constraints)


@pytest.mark.parametrize("learner", LEARNERS)
def test_true_is_no_number(learner):
    for name, constraints in learner._parameter_constraints.items():
        if not {"boolean", "no_validation"} & {each for each in [*constraints, constraints] if isinstance(each, str)}:
            assert name == "random_state" or not allowed(constraints, True), name


@pytest.mark.parametrize("learner", LEARNERS)
def test_signature_constraints_and_documentation_agree(learner):
    documented, constrained = entries(learner), learner._parameter_constraints
    assert list(signature(learner)) == list(documented) == list(constrained)
    for name, each in signature(learner).items():
        kind, _, default = documented[name][0].partition(", default=")
        if each.default is inspect.Parameter.empty:
            assert not default
        else:
            assert ast.literal_eval(default) == each.default
            assert type(ast.literal_eval(default)) is type(each.default)
        if constrained[name] != "no_validation":
            words = set(re.findall(r'"(\w+)"', kind))
            options = [limit.options for limit in constrained[name] if isinstance(limit, StrOptions)]
            assert all(known <= words for known in options if isinstance(known, set))  # a table's keys may become more
            assert all(allowed(constrained[name], word) for word in words)
            says_none = "None" in re.findall(r"\w+", kind)
            assert (None in constrained[name]) <= says_none <= allowed(constrained[name], None)
            assert each.default is inspect.Parameter.empty or allowed(constrained[name], each.default)


@pytest.mark.parametrize("learner", LEARNERS)
def test_signature_is_that_of_a_plain_class(learner):
    assert not is_dataclass(learner)
    assert learner.__init__.__module__ == learner.__module__
    assert learner.__init__.__qualname__ == f"{learner.__name__}.__init__"
    assert set(typing.get_type_hints(learner.__init__)) == {*signature(learner), "return"}
    of_bases = {"categorical_features", "n_jobs", "reserve"}  # what learners without these parameters have
    for name in set(signature(learner)) - of_bases:
        assert not hasattr(learner, name)
    with pytest.raises(TypeError, match=rf"{learner.__name__}\(\) got an unexpected keyword argument 'depht'"):
        learner(depht=3)


@pytest.mark.parametrize("learner", LEARNERS)
def test_documentation_has_its_sections_in_order(learner):
    sections = re.findall(r"^(\w+)\n-+$", inspect.getdoc(learner), re.MULTILINE)
    order = ["Parameters", "Attributes", "Raises", "Warns", "Notes", "References", "Examples"]
    assert sections == [name for name in order if name in sections]
    assert sections[:3] == ["Parameters", "Attributes", "Raises"]


@pytest.mark.parametrize("learner", LEARNERS)
def test_attributes_are_documented_once(learner):
    described = inspect.getdoc(learner).partition("\nAttributes\n")[2].partition("\nRaises\n")[0]
    heads = re.findall(r"^(\w[\w, ]*?)(?: : .*)?$", described, re.MULTILINE)
    names = [name for head in heads for name in head.split(", ")]
    assert len(names) == len(set(names))
    assert {"committee_", "table_", *learner.stored_attributes} <= set(names)
    assert ("classes_" in names) == issubclass(learner, BaseClassifier)


SHARED = [
    name
    for name, made in vars(shared).items()
    if inspect.isfunction(made) and made.__module__ == shared.__name__
    if any(name in learner.declared_parameters for learner in LEARNERS)
]

OWN_WORDING = {
    "class_weight": {"RandomForestClassifier", "SBPMTClassifier", "SubaggingClassifier"},  # draws may be balanced too
    "early_stopping": {"GradientBoostingClassifier", "GradientBoostingRegressor"},  # leaves are refitted
    # a share of the vote; may be tried out
    "learning_rate": {"DOOMBoostClassifier", "GradientBoostingClassifier", "GradientBoostingRegressor"},
    "n_estimators": {  # not rounds, or with something to say of each
        *("DOOMBoostClassifier", "LPBoostClassifier", "MDBoostClassifier", "ProbabilisticAdaBoostClassifier"),
        *("LogitBoostClassifier", "ProbitBoostClassifier"),
        *("QuadBoostClassifier", "QuadBoostClassifierCV", "QuadBoostRegressor"),
        *("RandomForestClassifier", "RandomForestRegressor", "SBPMTClassifier", "SubaggingClassifier"),
    },
    "max_depth": {"ProbitModelTreeClassifier", "SBPMTClassifier"},  # may follow the rows
    "max_leaf_nodes": {"GradientBoostingClassifier", "GradientBoostingRegressor"},  # follow the rows
    "min_impurity_decrease": {"ProbitModelTreeClassifier", "SBPMTClassifier"},  # or pruning in its place
    "random_state": {"LeafReweighter", "LeafReweighterRegressor"},  # a number, as the folds can be drawn again from it
    "voter": {"BoostingTreeClassifier", "MatryoshkaClassifier", "ProbabilisticAdaBoostClassifier"},  # may draw
}


@pytest.mark.parametrize("name", SHARED)
def test_a_shared_parameter_has_one_wording(name):
    slots = {slot: "@" if each.annotation == "str" else None for slot, each in signature(getattr(shared, name)).items()}
    pattern = re.escape(getattr(shared, name)(**slots).text)
    pattern = re.sub(r"\\ @$", "@", pattern).replace("@", ".*")
    having = [learner for learner in LEARNERS if name in learner.declared_parameters]
    own = {each.__name__ for each in having if not re.fullmatch(pattern, each.declared_parameters[name].text)}
    assert own == OWN_WORDING.get(name, set()) & {learner.__name__ for learner in having}
    assert len(having) > len(own)


# --- what is declared outside the package ----------------------------------------------------------------------------


@with_parameters
class Chosen(AdaBoostClassifier):
    """AdaBoost of one more parameter.

    And some words on it.
    """

    mode: typing.Literal["a", "b"] | None = parameter("a", "A mode.")
    _: KW_ONLY
    power: float = parameter(2.0, "An exponent.\n  Of nothing.", POSITIVE, after="learning_rate")
    max_depth: int | None = shared.max_depth(2)
    used_power_: float = fitted("The power.", "float")

    def fit(self, X, y, sample_weight=None, **fit_params):
        self.used_power_ = self.power
        return super().fit(X, y, sample_weight, **fit_params)


def test_a_learner_may_add_parameters():
    names = list(signature(Chosen))
    assert names[:7] == ["n_estimators", "mode", *AdaBoostClassifier.first_parameters]
    assert names[7:9] == ["power", "max_leaf_nodes"]
    assert signature(Chosen)["max_depth"].default == 2
    assert signature(Chosen)["mode"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert signature(Chosen)["power"].kind is inspect.Parameter.KEYWORD_ONLY
    model = Chosen(power=3.0, n_estimators=4)
    assert repr(model) == "Chosen(n_estimators=4, power=3.0)"
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(power=1.5).power == 1.5
    assert not hasattr(model, "used_power_")
    assert signature(AdaBoostClassifier).keys() == signature(Chosen).keys() - {"power", "mode"}


def test_help_shows_added_parameters():
    shown = pydoc.plain(pydoc.render_doc(Chosen))
    assert "power : float, default=2.0" in shown
    assert "An exponent. Of nothing." in shown
    assert 'mode : {"a", "b"} or None, default="a"' in shown
    assert "power: float = 2.0" in shown
    assert "used_power_ : float\n |      The power." in shown
    assert "table_ : TableSchema" in shown
    assert shown.index("And some words on it.") < shown.index("n_estimators : int, default=50")


def test_an_added_parameter_is_checked_and_searched():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(InvalidParameterError, match="'power' parameter of Chosen must be a float in the range"):
        Chosen(power=-1.0).fit(X, y)
    with pytest.raises(InvalidParameterError, match="'mode' parameter of Chosen must be a str among"):
        Chosen(mode="c").fit(X, y)
    search = GridSearchCV(
        Chosen(n_estimators=3, vote="discrete"), {"power": [0.5, 1.0], "max_depth": [1, 3]}, cv=2
    ).fit(X, y)
    assert search.best_params_["max_depth"] == 3
    assert search.best_estimator_.used_power_ == search.best_params_["power"]
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert_array_equal(again.predict(X), search.predict(X))


def test_a_class_of_a_notebook_can_be_sent_to_other_processes():
    """joblib sends a class by value that they cannot import."""

    @with_parameters
    class Local(AdaBoostClassifier):
        """Of no module."""

        power: float = parameter(2.0, "An exponent.", POSITIVE)

    shown = Parallel(n_jobs=2)(delayed(repr)(model) for model in (Local(), clone(Local(power=3.0, n_estimators=7))))
    assert shown == ["Local()", "Local(n_estimators=7, power=3.0)"]


def test_a_subclass_may_have_its_own_init():
    class Ten(MDBoostClassifier):
        def __init__(self, total_weight=10.0):
            super().__init__(total_weight, n_estimators=10)

    X, y = load_iris(return_X_y=True)
    model = Ten(3.0)
    assert clone(model).get_params() == {"total_weight": 3.0}
    assert model.fit(X[:100], y[:100]).committee_.n_voters <= 10
    with pytest.raises(InvalidParameterError, match="total_weight"):
        Ten(-1.0).fit(X, y)


def test_a_required_parameter_comes_first():
    @with_parameters
    class Wrapped(BaseClassifier):
        """Of another."""

        inner: typing.Any = required("The other.", "no_validation", type_words="classifier")

    with pytest.raises(TypeError, match="missing a required argument: 'inner'"):
        Wrapped()
    assert Wrapped(3).inner == 3
    assert "inner : classifier\n    The other." in Wrapped.__doc__


def test_a_declaration_that_says_too_little_is_refused():
    with pytest.raises(TypeError, match=r"Vague\.power has no constraint"):

        @with_parameters
        class Vague(AdaBoostClassifier):
            power: float = parameter(2.0, "An exponent.")

    with pytest.raises(TypeError, match=r"Lost\.power cannot follow 'strength'"):

        @with_parameters
        class Lost(AdaBoostClassifier):
            _: KW_ONLY
            power: float = parameter(2.0, "An exponent.", POSITIVE, after="strength")


def test_a_learner_need_not_be_documented_or_postpone_annotations():
    @with_parameters
    class Silent(AdaBoostClassifier):
        _: KW_ONLY
        start: np.ndarray | None = parameter(None, "Scores.", "array-like")

    assert Silent.__doc__ is None
    assert signature(Silent)["start"].annotation == np.ndarray | None
    assert Silent._parameter_constraints["start"] == ["array-like", None]


# --- wrong arguments --------------------------------------------------------------------------------------------------


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
    ("kind", "method", "keyword", "remedy"),
    [
        (GradientBoostingClassifier, "", "num_leaves", "here it is max_leaf_nodes."),
        (GradientBoostingClassifier, "", "offset", "it is a parameter of fit()."),
        (GradientBoostingClassifier, "", "n_estimator", "did you mean 'n_estimators'?"),
        (GradientBoostingClassifier, ".fit", "n_estimators", "it is a parameter of GradientBoostingClassifier()."),
        (GradientBoostingClassifier, ".fit", "eval_set", "here it is X_val (with its targets as y_val)."),
        (
            CommitteeRegressor,
            ".fit",
            "offset",
            "for counts over exposures fit y / exposure with sample_weight=",
        ),
        (AdaBoostClassifier, ".fit", "init_score", "use GradientBoostingClassifier, which takes offsets."),
        (AdaBoostClassifier, "", "verbose", "a fit prints nothing;"),
        (AdaBoostClassifier, "", "early_stopping_round", "here it is n_iter_no_change (with early_stopping=True)."),
        (CommitteeClassifier, "", "time_budget", "here it is time_limit."),
    ],
)
def test_an_unknown_argument_has_a_remedy(kind, method, keyword, remedy):
    message = f"{kind.__name__}{method}() got an unexpected keyword argument '{keyword}'; {remedy}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        kind().fit([[1]], [1], **{keyword: 1}) if method else kind(**{keyword: 1})


def test_missing_arguments_and_too_many_without_names():
    for call, message in (
        (lambda: CommitteeClassifier().fit(), "CommitteeClassifier.fit(): missing a required argument: 'X'."),
        (
            lambda: AdaBoostClassifier().fit(1, 2, 3, 4),
            "fit() got 4 arguments without names; only X, y, sample_",
        ),
        (
            lambda: AdaBoostClassifier(20, 3),
            "AdaBoostClassifier() got 2 arguments without names; only n_est",
        ),
    ):
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
