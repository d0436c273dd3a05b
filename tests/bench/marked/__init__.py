"""The daemon and the shim with marks in them, which `./dev bench --only death` alone starts: the product has none."""
