"""Whether a request is open yet, in cases by somebody who knew neither code nor tests."""
