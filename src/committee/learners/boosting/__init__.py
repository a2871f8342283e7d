"""Boosting of votes (AdaBoost, arc-gv, DOOM II, MDBoost, LPBoost, QuadBoost), and the pools of their voters."""
