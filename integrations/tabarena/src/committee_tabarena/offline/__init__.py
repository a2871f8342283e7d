"""A benchmark in a folder of tables, run and ranked by TabArena without a network."""
