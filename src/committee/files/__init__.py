"""Model files: written atomically, and checked when they are read."""
