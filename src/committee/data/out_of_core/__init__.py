"""Out-of-core tables: sources of pieces, a summary of a first pass, and the encoded matrix."""
