"""Findings drawn for people and machines: pure functions from values to text."""
