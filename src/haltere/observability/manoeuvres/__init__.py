"""What to fly, throw or hold so that parameters become known."""
