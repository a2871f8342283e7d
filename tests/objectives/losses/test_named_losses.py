"""Tables of losses: every loss by its name, stored and read again, and chosen."""

import json

import pytest

from committee.objectives import losses
from committee.objectives.losses.plain_gradient import PlainGradient
from tests.objectives.losses.cases import CASES, of_all


def test_every_loss_is_in_the_tables():
    def is_ours(loss: type) -> bool:  # pages may have added to the tables
        return loss.__module__.startswith("committee.")

    def below(loss: type) -> set[type]:
        return {loss} | {deeper for child in loss.__subclasses__() for deeper in below(child)}

    concrete = {loss for loss in below(losses.Loss) if not loss.__abstractmethods__ and is_ours(loss)}
    # a user's function, which has neither name nor file, and what a learner makes of another loss
    concrete -= {losses.Derivatives, PlainGradient}
    assert concrete == set(filter(is_ours, losses.LOSSES.values()))
    assert concrete == set(losses.REGRESSION_LOSSES.values()) | set(losses.CLASSIFICATION_LOSSES.values())
    assert {type(case.loss) for case in CASES} == concrete


@of_all
def test_json_round_trip(case):
    assert losses.from_json(json.loads(json.dumps(case.loss.to_json()))) == case.loss
    assert losses.from_json({"name": case.loss.name}) == type(case.loss)()


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (None, "loss is NoneType"),
        ({"name": "hinge"}, "loss name is 'hinge'"),
        ({"name": "huber", "alpha": 1.0}, "has no 'alpha'"),
        ({"name": "huber", "delta": 0.0}, r"delta is 0\.0; it must lie in \(0, inf\)"),
        ({"name": "huber", "delta": "1"}, "delta is '1'"),
        ({"name": "huber", "delta": True}, "delta is True"),
        ({"name": "huber", "delta": 10**400}, "delta is inf"),
        ({"name": "huber", "delta": float("inf")}, "delta is inf"),
        ({"name": "quantile", "quantile": 1.0}, r"quantile is 1\.0; it must lie in \(0, 1\)"),
        ({"name": "quantile", "quantile": float("nan")}, "quantile is nan"),
        ({"name": "quantiles", "quantiles": [0.5]}, "two or more"),
        ({"name": "quantiles", "quantiles": [0.5, 0.5]}, "increasing"),
        ({"name": "quantiles", "quantiles": [0.5, 2.0]}, r"quantiles\[1\] is 2\.0"),
        ({"name": "quantiles", "quantiles": 0.5}, "must be a sequence"),
        ({"name": "quantiles", "quantiles": "12"}, "must be a sequence"),
        ({"name": "tweedie", "power": 2.0}, r"power is 2\.0; it must lie in \(1, 2\)"),
    ],
)
def test_stored_losses_are_checked(stored, message):
    with pytest.raises(ValueError, match=message):
        losses.from_json(stored)


def test_choosing_a_loss():
    assert {name: losses.regression_loss(name).name for name in losses.REGRESSION_LOSSES} == {
        name: name for name in losses.REGRESSION_LOSSES
    }
    assert losses.classification_loss("squared_hinge") == losses.SquaredHinge()
    assert losses.classification_loss(losses.Probit()) == losses.Probit()
    for choose, wrong, message in (
        (losses.regression_loss, "log_loss", "loss is 'log_loss'; it must be one of squared_error"),
        (losses.classification_loss, "gini", "it must be one of log_loss, exponential, probit, squared_hinge"),
        (losses.regression_loss, losses.Logistic(), "with the link Softmax"),
        (losses.classification_loss, losses.Squared(), "with the link Identity"),
        (losses.classification_loss, 3, "loss is 3"),
        (losses.regression_loss, losses.Squared, "committee.objectives.losses.Loss"),
    ):
        with pytest.raises(ValueError, match=message):
            choose(wrong)
