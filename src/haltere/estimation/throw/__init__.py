"""What a thrown vehicle learns of its rotors and of its own motion before it falls."""
