"""How runs end: cases by somebody who knew the requirements and the CLIs, and neither the code nor its tests."""
