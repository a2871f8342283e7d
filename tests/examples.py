"""How many examples a costly property test draws."""

from hypothesis import settings


def examples(few: int, many: int) -> int:
    """Few in ``make test``, many in ``make test-all``, which takes the profile of that name."""
    return many if settings.get_current_profile_name() == "all" else few
