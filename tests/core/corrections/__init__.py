"""Which corrections start an agent that was given up, in cases by somebody who knew neither code nor tests."""
