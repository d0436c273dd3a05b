"""Signs of life that come by files."""
