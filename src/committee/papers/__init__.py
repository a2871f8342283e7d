"""The tables and figures of the source papers, rebuilt: ``committee papers``."""
