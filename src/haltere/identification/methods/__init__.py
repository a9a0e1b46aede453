"""The methods of `identify`: what each needs, and what it finds."""
