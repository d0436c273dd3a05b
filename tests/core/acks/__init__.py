"""What becomes of an acknowledgement of a handoff, in cases by somebody who knew neither code nor tests."""
