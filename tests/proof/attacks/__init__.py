"""Attacks on a daemon with twenty agents: `./dev proof attacks`. Each once lost, forgot or deafened some of them."""
