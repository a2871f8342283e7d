"""The lecture notes' experiments."""
