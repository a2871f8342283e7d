"""New weights for the voters of a trained ensemble, and new votes for the leaves of its pruned trees."""
