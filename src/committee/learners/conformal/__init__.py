"""Sets of labels and intervals of numbers that cover, by scores of rows that no voter has seen."""
