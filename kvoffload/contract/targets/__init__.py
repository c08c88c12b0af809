"""What is checked: how it is found and made, how it is called, and what it shows."""
