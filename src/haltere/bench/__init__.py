"""Speed beside peers, in one run."""
