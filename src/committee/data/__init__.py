"""Tables in: frames and arrays to one encoded matrix, files, and the example tables."""
