"""Runs the tests that stand in pattern files."""
