"""Columns that are computed from other columns: parts of dates, and numbers that stand for text."""
