"""Projects on disk, as values."""
