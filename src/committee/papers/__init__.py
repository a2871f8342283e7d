"""Reproductions of papers and lecture notes, one folder each, and the code that they share."""

PAPERS = {
    "sbpmt": "committee.papers.sbpmt.rebuild",
    "lectures": "committee.papers.lectures.rebuild",
    "quadboost": "committee.papers.quadboost.rebuild",
    "matryoshka": "committee.papers.matryoshka.rebuild",
    "margins": "committee.papers.margins.rebuild",
}
"""Module of each paper by the name of its command, which is made from the function `rebuild`.

Its `Annotated` parameters are the options, and the first paragraph of its docstring is the help.
"""
