"""Tables, pictures and the HTML report."""

from committee.data.lazy_names import lazy_names, names_of_stub

DISPLAYS = names_of_stub(__file__)
"""Every display and its module, which is imported when the display is first asked for."""

__all__ = list(DISPLAYS)
__getattr__, __dir__ = lazy_names(__name__, DISPLAYS)
