"""Files as tables: their kinds, the formats of their text, and the columns to learn from."""
