"""The public tables of the papers: their sources, download and conversion."""
