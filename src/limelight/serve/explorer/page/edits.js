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

/** For each place, what belongs to the words that begin there, by default themselves; all in the order of the text. */
export function at(places, words, of = words) {
  let t = 0
  return places.map(place => {
    const found = []
    if (place === null) return found
    while (t < words.length && words[t].start < place[0]) t++
    while (t < words.length && words[t].start < Math.max(place[1], place[0] + 1)) found.push(of[t++])
    return found
  })
}

/** For each place, the sum of the weights of the words that begin there. */
export function weightsAt(places, words, weights) {
  return at(places, words, weights).map(found => found.reduce((sum, weight) => sum + weight, 0))
}

/** From a place in characters, as Python counts, to one in UTF-16 units. */
export function places(text) {
  const characters = [...text]
  if (characters.length === text.length) return place => place
  const found = [0]
  for (const each of characters) found.push(found.at(-1) + each.length)
  return place => found[place]
}
