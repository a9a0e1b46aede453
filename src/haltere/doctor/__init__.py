"""What is wrong or odd in a log, and how to mend it."""
