"""Displays of pictures, with the interface of scikit-learn's."""
