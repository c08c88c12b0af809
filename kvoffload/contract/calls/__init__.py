"""A call as data: as an operation, as text, as a statement of a program, and what came of it."""
