"""Reproductions of papers and lecture notes, one folder each, and the code that they share."""

PAPERS = {
    "sbpmt": "committee.papers.sbpmt.rebuild",
    "lectures": "committee.papers.lectures.rebuild",
    "quadboost": "committee.papers.quadboost.rebuild",
    "matryoshka": "committee.papers.matryoshka.rebuild",
    "margins": "committee.papers.margins.rebuild",
}
"""Module of each paper by the name of its command.

Each has a function `rebuild`, from which the command is made: its `Annotated` parameters are the options, and the first
paragraph of its docstring is the help. Costly imports are inside it, so that ``--help`` is quick. It writes files to
the folder ``out``, keeps finished cells in a journal there, and returns the tables to print. It raises a ValueError
before the run for unknown names and numbers, missing or wrong tables, and a journal of another run.
"""
