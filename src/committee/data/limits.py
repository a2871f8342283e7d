"""Limits that the kernels' number types set on tables and votes."""

import numpy as np

MAX_CLASSES = int(np.iinfo(np.int16).max)
"""Votes are class indices in 16 bits, one of them negative for "abstains"."""
MAX_FEATURES = 2**29 - 1
"""The native node keeps its feature in 29 bits."""
