// Words as they are drawn: those of a contraction, "ca" and "n't", as one (reading/pieces.py).

const CONTRACTED = new Set(["n't", "'s", "'re", "'ve", "'ll", "'d", "'m"])

/** A side of a reading with one word for each contraction, and the sum of what its words had. */
export function joinContractions(side) {
  const { text, words, decided, attention } = side
  const firsts = [...words.keys()].filter(k => !isContracted(text, words[k - 1], words[k]))
  if (firsts.length === words.length) return side
  const parts = firsts.map((first, i) => [first, firsts[i + 1] ?? words.length])
  const sums = weights => parts.map(([first, end]) => weights.slice(first, end).reduce((sum, weight) => sum + weight, 0))
  return { ...side, decided: sums(decided), attention: attention.map(sums), words: parts.map(([first, end]) => joinWords(words.slice(first, end))) }
}

/** Whether a word is the end of a contraction that begins with the one before. */
export function isContracted(text, before, { start, end }) {
  if (before?.end !== start || !CONTRACTED.has(text.slice(start, end).toLowerCase().replace("’", "'"))) return false
  return /\p{L}$/u.test(text.slice(before.start, start))
}

function joinWords(words) {
  return { start: words[0].start, end: words.at(-1).end, known: words.every(word => word.known), readAs: words.map(word => word.readAs).find(Boolean) }
}
