"""A fitted model explained: one object that every picture of its pages is drawn from, and these pictures."""
