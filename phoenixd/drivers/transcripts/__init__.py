"""Transcripts of sessions: files that CLIs write and agents can write to."""
