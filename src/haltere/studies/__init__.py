"""The experiments of the papers, repeated with this package and with independent peers beside it."""
