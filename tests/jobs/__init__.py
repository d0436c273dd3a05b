"""What is taken in of what workers leave."""
