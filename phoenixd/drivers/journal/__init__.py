"""The journal on SQLite: one writer, readers beside it, and what is saved of a broken file."""
