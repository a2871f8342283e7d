"""Pictures: one scikit-learn style Display per file."""
