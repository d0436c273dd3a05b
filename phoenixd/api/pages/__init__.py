"""What people read: JSON's facts as lines of text. Pure."""
