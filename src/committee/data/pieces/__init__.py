"""Tables that are not in memory: sources in pieces, a first look at them, and their encoded matrix."""
