"""Pretraining: texts and a sentence encoder, the teacher, to a reader that gives the same vectors."""
