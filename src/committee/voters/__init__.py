"""Voters: the members of a committee, one kind per file."""
