"""Objectives of training: losses, margins, the programs that solve them, and penalties of complexity."""
