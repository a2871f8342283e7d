"""Committees: votes, margins, links, explanations, adapters for other libraries' models, and exports."""
