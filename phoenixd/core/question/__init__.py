"""What an agent asks, read from its call: which kind it is, how it is shown, and what an operator's words answer."""
