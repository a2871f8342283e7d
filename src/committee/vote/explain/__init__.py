"""Reading model trees: rules in words, leaf models as a table, contributions of a row, importance of features."""
