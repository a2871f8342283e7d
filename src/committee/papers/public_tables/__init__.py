"""The public tables that the papers try their methods on: where they are, and how they become one folder."""
