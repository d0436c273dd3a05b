"""What phoenixd promises, held to it. Rooms are named as in the package; see docs/promises.md."""
