"""The brief: what goes into it, who writes it, what of an answer is believed, and when it is due."""
