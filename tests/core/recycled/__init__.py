"""Whether runs that ask to be recycled are stopped, in cases by somebody who knew neither code nor tests."""
