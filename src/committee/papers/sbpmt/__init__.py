"""SBPMT: its Table 2 and figures."""
