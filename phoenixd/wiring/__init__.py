"""The composition root: here the parts are made of each other, and nowhere else. `order.py` is the way in."""
