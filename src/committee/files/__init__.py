"""Model files: written whole, checked before they are believed."""
