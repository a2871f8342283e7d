"""Hypothesis profiles, and the kernels to test when they are not the installed ones."""

import importlib.util
import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# the same examples in every run, so that a failure is of the change and not of the day; new ones if they are asked for
SAME = "COMMITTEE_NEW_EXAMPLES" not in os.environ
settings.register_profile("default", deadline=None, max_examples=60, derandomize=SAME)
settings.register_profile(
    "sanitize",
    deadline=None,
    max_examples=15,
    suppress_health_check=[HealthCheck.too_slow],
    database=None,
    derandomize=SAME,
)
settings.load_profile("default")


def use_kernels(path: Path) -> None:
    """Makes the extension module at ``path`` the one that ``committee._core`` names.

    It must come before the first import of the package, which would load the installed one.
    """
    name = "committee._core"
    if "committee" in sys.modules:
        raise RuntimeError("COMMITTEE_CORE is set, but committee was imported before tests/conftest.py")
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"COMMITTEE_CORE={path} is not an extension module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    import committee

    committee._core = module


if "COMMITTEE_CORE" in os.environ:
    use_kernels(Path(os.environ["COMMITTEE_CORE"]))


def pytest_report_header() -> str:
    from committee import _core

    return f"kernels: {_core.__file__}"
