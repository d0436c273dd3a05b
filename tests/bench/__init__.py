"""Benchmarks: ratios against references measured in the same run."""
