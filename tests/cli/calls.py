"""Calls of the command line in this process."""

from typer.testing import CliRunner

from committee import load
from committee.cli.main import app


def run(*arguments, input=None):
    return CliRunner().invoke(app, [str(a) for a in arguments], input=input)


def succeed(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


def fail(*arguments):
    """The error, which is one line, without a traceback, and exit code 2."""
    result = run(*arguments)
    assert result.exit_code == 2, result.output
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and "Traceback" not in result.output, result.output
    return lines[0]


def without_provenance(path):
    """A model as a file holds it, without the name of its data, and the digests of the rows that it learned from."""
    model = load(path)
    rows = model.__dict__.pop("provenance_").rows
    again = path.with_suffix(".again")
    model.save(again)
    content = again.read_bytes()
    again.unlink()
    return content, rows.digests.tolist(), rows.complete
