"""Files as tables: what kind a file is, how its text is written, and which of its columns can be learned from."""
