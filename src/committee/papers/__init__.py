"""Papers and lecture notes, rebuilt: a folder each, and what they share."""

PAPERS = {
    "sbpmt": "committee.papers.sbpmt.rebuild",
    "lectures": "committee.papers.lectures.rebuild",
    "quadboost": "committee.papers.quadboost.rebuild",
    "matryoshka": "committee.papers.matryoshka.rebuild",
    "margins": "committee.papers.margins.rebuild",
}
"""Modules by the name of their command.

Each has a function `rebuild`, of which the command line makes the command: its parameters are the options, the first
line of its docstring is the help. It imports inside whatever is costly, so that ``--help`` answers at once. It writes
files to the folder ``out``, keeps every finished cell in a journal there, which is not run again, and returns the
tables to print. It raises ValueError, before anything is run, for names and numbers it does not know, tables that are
missing or not the document's, and a journal of another run.
"""
