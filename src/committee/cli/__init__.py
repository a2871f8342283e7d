"""Commands of the command line; each imports what it needs when it is called."""


def print_version() -> None:
    from importlib.metadata import version

    print(f"committee {version('committee')}")
