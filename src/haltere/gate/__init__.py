"""Nothing is exported that has not flown: the hover test."""
