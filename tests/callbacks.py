"""A callback of scikit-learn's that does nothing, for tests to derive theirs from."""

from typing import Any


class Callback:
    def setup(self, estimator: Any, context: Any) -> None:
        pass

    def teardown(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_begin(self, estimator: Any, context: Any) -> None:
        pass

    def on_fit_task_end(self, estimator: Any, context: Any) -> bool | None:
        pass
