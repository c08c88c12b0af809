"""Speed claims, each shown by a program that prints one table: ``python -m benchmarks.NAME``."""
