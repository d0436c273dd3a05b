"""The terminal server: what follows for the fleet where its process ends."""
