"""Plain files: read and written with care, locked, owned, and watched for changes."""
