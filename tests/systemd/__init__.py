"""The service as systemd sees it."""
