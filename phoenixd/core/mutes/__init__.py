"""Mutes of agents: what holds their alerts back for a time, and how that ends."""
