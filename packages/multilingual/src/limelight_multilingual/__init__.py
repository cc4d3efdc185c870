"""The multilingual reader: `limelight.load("reader-multilingual")` finds it here."""
