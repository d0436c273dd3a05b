"""Stand-ins for the services that agent CLIs talk to, on loopback."""
