"""Shared by the papers: tables, folds, cells kept over interruptions, Markdown."""
