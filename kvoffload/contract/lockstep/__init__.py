"""What is allowed: an implementation and the specification, driven together and compared. It knows no Hypothesis."""
