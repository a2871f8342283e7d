"""Exports of tree committees to other libraries."""
