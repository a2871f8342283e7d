"""The experiments on margins of Martinez and Gray."""
