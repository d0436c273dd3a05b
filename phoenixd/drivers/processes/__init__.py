"""Processes by identity: watched, searched for, ended with their whole run."""
