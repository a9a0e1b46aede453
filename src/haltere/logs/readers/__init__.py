"""One reader for each format of log."""
