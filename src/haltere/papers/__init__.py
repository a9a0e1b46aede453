"""The five papers: their tables and figures beside ours."""
