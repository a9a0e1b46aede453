"""Many numbered cases over many workers: resumable, none lost."""
