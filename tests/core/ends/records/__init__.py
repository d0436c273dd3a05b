"""How runs end, in cases that say it by records: by somebody who knew neither code nor tests."""
