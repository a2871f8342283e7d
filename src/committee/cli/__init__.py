"""The commands of the command line, one per module; each imports what it needs when it is called."""
