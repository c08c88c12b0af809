"""Eviction policies, one algorithm per file."""
