"""Pools of candidate voters: the best one for signed row weights."""
