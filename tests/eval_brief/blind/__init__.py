"""Sessions whose truth is known, told neutrally in TOML and rendered as the transcripts of the real CLIs."""
