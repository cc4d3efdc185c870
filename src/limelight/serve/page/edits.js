// Words left out and replaced: what the model then reads, and where each word of the text is in it.

/** `edits`: number of a word -> "" (left out) or another word. Returns {text, places: [[start, end] or null]}. */
export function edited(text, words, edits) {
  let out = "", from = 0
  const places = words.map(({ start, end }, k) => {
    const word = edits.get(k) ?? text.slice(start, end)
    out += text.slice(from, start)
    from = end
    out += word
    return word ? [out.length - word.length, out.length] : null
  })
  return { text: out + text.slice(from), places }
}

/** For each place, the sum of the weights of the words that begin there. */
export function weightsAt(places, words, weights) {
  return places.map(place => place === null ? 0 : words.reduce(
    (sum, { start }, t) => (start >= place[0] && start < Math.max(place[1], place[0] + 1) ? sum + weights[t] : sum), 0))
}
