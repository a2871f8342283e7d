"""The vote: committees, their scores, margins, links, explanations, and adapters for other libraries."""
