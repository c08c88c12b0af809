"""A manager in lockstep with the specification: one file for each kind of call that is judged."""
