"""Descriptions of pictures, and their SVG for pages."""
