"""AdaBoost, and its round as a rule."""
