"""Pictures of the pages of fitted models."""
