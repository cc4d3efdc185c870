// Splitting text into words, by the same rules as in Python: text/rules.py writes them for JavaScript.

export const UNKNOWN = 1

export class Tokenizer {
  /** `words` are those from id 2 on; `characters` cuts scripts without spaces first, unless it is null. */
  constructor({ pattern, characters, lowercase, words }) {
    this.rules = new RegExp(pattern, "gu")
    this.characters = characters && new RegExp(characters, "gu")
    this.lowercase = lowercase
    this.words = ["<pad>", "<unk>", ...words]
    this.ids = new Map(this.words.map((word, id) => [word, id]))
  }

  /** The words of a text: [{word, start, end, id}], in UTF-16 units. One without words is one unknown at 0, 0. */
  locate(text) {
    const { lowered, places } = this.lower(text.toWellFormed?.() ?? wellFormed(text))
    const found = this.split(lowered).map(({ word, index }) => ({
      start: places ? places[index] : index,
      end: places ? places[index + word.length] : index + word.length,
      id: this.ids.get(word) ?? UNKNOWN,
      word,
    }))
    return found.length ? found : [{ start: 0, end: 0, id: UNKNOWN, word: "" }]
  }

  /** The words of each piece: of a character of a script without spaces, and of what is between them. */
  split(text) {
    const cuts = this.characters ? Array.from(text.matchAll(this.characters), m => [m.index, m.index + m[0].length]) : []
    const edges = [0, ...cuts.flat(), text.length], found = []
    for (let k = 1; k < edges.length; k++) {
      const from = edges[k - 1], piece = text.slice(from, edges[k])
      for (const { 0: word, index } of piece.matchAll(this.rules)) found.push({ word, index: from + index })
    }
    return found
  }

  /** Lower case, letter by letter as in Python; `places` where letters have become longer. */
  lower(text) {
    if (!this.lowercase) return { lowered: text }
    let lowered = ""
    for (const letter of text) lowered += letter.toLowerCase()
    if (lowered.length === text.length) return { lowered }
    const places = []
    let at = 0
    for (const letter of text) {
      for (const _ of letter.toLowerCase().split("")) places.push(at)
      at += letter.length
    }
    return { lowered, places: [...places, at] }
  }
}

/** Half a character is not text. */
function wellFormed(text) {
  return text.replace(/\p{Surrogate}/gu, "\ufffd")
}
