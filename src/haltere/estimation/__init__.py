"""Online estimation: what a vehicle learns about itself while it flies."""
