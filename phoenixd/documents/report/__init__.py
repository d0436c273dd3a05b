"""What an agent reports of its work, as a format: the claims, the facts that they are held against, the verdicts."""
