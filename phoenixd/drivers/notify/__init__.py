"""Alerts on their way to the operator: the log, commands and webhooks."""
