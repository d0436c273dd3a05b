"""Work that is handed to workers, seen from the daemon: what they get, and what is taken in of what they leave."""
