"""What is told of a night: cases by somebody who knew the requirements, and neither the code nor its tests."""
