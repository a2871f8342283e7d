"""Linear and quadratic programs, and penalised least squares."""
