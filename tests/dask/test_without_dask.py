"""Where Dask is not installed."""

import subprocess
import sys

WITHOUT = "import sys; sys.modules['dask'] = sys.modules['distributed'] = None"


def said_by(call: str) -> str:
    program = f"{WITHOUT}\nimport committee\nimport committee.dask\ntry:\n    {call}\nexcept ImportError as e: print(e)"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, encoding="utf-8").stdout


def test_says_how_to_get_it():
    call = "committee.dask.fit(committee.RandomForestClassifier(), [[0.0], [1.0]], [0, 1])"
    assert 'pip install "committee[dask]"' in said_by(call)
