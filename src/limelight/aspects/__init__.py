"""What a text speaks of: aspects, their clauses and what these add to an answer; and how they are found."""
