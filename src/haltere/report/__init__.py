"""Figures and self-contained HTML pages; plotting libraries are imported here and nowhere below."""
