"""The naive version of every kernel, one file per header of ``core/``."""
