"""Shared by all papers: tables, splits, journals of cells, comparisons, pages, pictures."""
