"""What resonance writes down: markers, the codes planted with them, anchors, session seeds, the ledger, footers.

Formats alone, and the standard library alone: the library phoenixd/resonance/ stands on them without a daemon.
"""
