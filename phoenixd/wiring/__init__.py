"""The composition root: the only room that names drivers and runtime together. `order.py` is the way in."""
