"""Many texts and how similar they are: index, search. Which words make two alike is in runtime/word_parts."""
