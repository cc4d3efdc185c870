"""Limelight's readers in other libraries: a small class where one of theirs is asked for.

Each file needs its own library, and none is imported before it is used. docs/integrations.md has a line for
each. `limelight.sentence_transformers` and `limelight.TextVectorizer`, of scikit-learn, stand elsewhere.
"""
