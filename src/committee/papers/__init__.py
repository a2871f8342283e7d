"""The tables and figures of the source documents, rebuilt: ``committee papers``."""
