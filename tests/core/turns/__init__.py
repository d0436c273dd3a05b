"""What an agent is at, in its turn and between turns, in cases by somebody who knew neither code nor tests."""
