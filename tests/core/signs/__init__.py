"""What an agent is at by its signs, in cases by somebody who knew neither code nor tests."""
