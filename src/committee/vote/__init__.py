"""The vote: committees, their scores, margins, links, explanations, and the committees inside other ensembles."""
