"""Writers of briefs: a command of the operator's, or a model."""
