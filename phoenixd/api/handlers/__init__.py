"""What answers each operation of the table."""
