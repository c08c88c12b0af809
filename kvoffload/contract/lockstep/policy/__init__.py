"""A policy in lockstep with the specification."""
