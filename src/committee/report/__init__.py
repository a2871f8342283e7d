"""Tables, pictures and HTML pages of models and of comparisons."""

from committee.data.packages import lazy_attributes, stub_imports

DISPLAYS = stub_imports(__file__)
"""Modules of the displays by name, imported on first access."""

__all__ = list(DISPLAYS)
__getattr__, __dir__ = lazy_attributes(__name__, DISPLAYS)
