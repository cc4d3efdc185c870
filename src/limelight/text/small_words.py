"""Small words, by which a language is told: articles, pronouns, prepositions."""

# A few words of each language that hardly any text of three sentences does without.
_WORDS = {
    "English": "the and is was of with for this that have not you are it my to i what how why",
    "German": "der die das und ist nicht ich mit ein eine zu den auf wir sehr auch für war mein wie",
    "French": "le les des est une et pas je pour dans que qui vous nous avec sur mon très c'est à",
    "Spanish": "el los las una es y que por con para muy pero mi se del está lo como más mis",
    "Portuguese": "o os uma é não e que com para muito mas meu minha do da em eu você foi são",
    "Italian": "il gli una è non che per con sono molto ma mio della di ho mi questo perché anche nel",
    "Dutch": "de het een en is niet ik met van voor zijn maar op dat te mijn heel ook wij naar",
}
SMALL_WORDS = {language: frozenset(words.split()) for language, words in _WORDS.items()}
