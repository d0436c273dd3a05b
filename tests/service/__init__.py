"""What operators can ask of the living daemon."""
