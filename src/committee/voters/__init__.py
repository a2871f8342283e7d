"""Voters: the collections of fitted members that committees weigh."""
