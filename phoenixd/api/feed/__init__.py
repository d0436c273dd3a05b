"""What changes, for every face: one ledger of the newest of each thing, and frames that are made once for all."""
