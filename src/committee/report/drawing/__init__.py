"""Descriptions of pictures, and their SVG for pages; `report.displays.base` draws them by matplotlib."""
