"""TabArena's and AutoGluon's model classes for committee's learners, and a run of them offline."""
