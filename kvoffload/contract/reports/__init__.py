"""What is said of a violation and of a check: as text, for machines, as a test."""
