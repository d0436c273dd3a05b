"""The long proofs: each is a suite of its own, run by `./dev proof`, and says by name what it could not run."""
