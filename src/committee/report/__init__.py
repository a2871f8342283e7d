"""Tables, pictures and the HTML report."""

from committee.data.packages import lazy_attributes, stub_imports

DISPLAYS = stub_imports(__file__)
"""Every display and its module, which is imported when the display is first asked for."""

__all__ = list(DISPLAYS)
__getattr__, __dir__ = lazy_attributes(__name__, DISPLAYS)
