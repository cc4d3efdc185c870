// The rules of a tokenizer.json as regular expressions of JavaScript.
//
// They are in the syntax of Oniguruma. JavaScript has no possessive quantifiers and no atomic groups, but a lookahead
// never gives back what it matched: `x++` becomes `(?=(?<a1>x+))\k<a1>`. text/rules.py does the same in Python.

import { CHARACTERS, WORD } from "./known.js"
import { isObject } from "./strict_json.js"

const HALF = /\p{Surrogate}/u

// Escapes, classes, openings of groups, quantifiers, other characters
const PIECES = /\\[xpu]\{\w+\}|\\u\w{4}|\\.|\[(?:\\.|[^\]\\])*\]|\(\?(?:[:=!>]|<[=!])|(?:[*+?]|\{[\d,]+\})[+?]?|./gs
const ESCAPES = { "\\s": "\\p{White_Space}", "\\z": "$", "\\#": "#", '\\"': '"', "\\x{": "\\u{" }

export function translate(rules) {
  const open = [{ opening: "", inside: [] }]
  let count = 0
  const atomic = inner => `(?:(?=(?<a${++count}>${inner}))\\k<a${count}>)`
  for (const piece of rules.match(PIECES)) {
    const { inside } = open.at(-1)
    if (piece.startsWith("(")) open.push({ opening: piece, inside: [] })
    else if (piece === ")") {
      const { opening, inside: parts } = open.pop(), inner = parts.join("")
      open.at(-1).inside.push(opening === "(?>" ? atomic(inner) : `${opening}${inner})`)
    } else if (/^[*+?]\+$/.test(piece)) inside.push(atomic(inside.pop() + piece[0]))
    else if (/^([*+?]|\{[\d,]+\})\??$/.test(piece)) inside.push(inside.pop() + piece)
    else inside.push(piece.replace(/\\(?:x\{|.)/g, escape => ESCAPES[escape] ?? escape))
  }
  return open[0].inside.join("")
}

/** What `Tokenizer` takes, from the content of a tokenizer.json: nothing in it may differ from what Limelight writes but its words. */
export function tokenizerOf({ model, ...parts }) {
  const lowercase = parts.normalizer !== null, cuts = parts.pre_tokenizer?.type === "Sequence" // scripts without spaces between words
  const expected = writtenBy(lowercase, cuts), { vocab, ...rest } = isObject(model) ? model : {}
  for (const name of new Set([...Object.keys(expected), ...Object.keys(parts), "model"])) {
    const isRight = name === "model" ? isSame(rest, MODEL) : Object.hasOwn(expected, name) && isSame(parts[name], expected[name])
    if (!isRight) throw new Error(`tokenizer.json was not written by Limelight: its part ${name.slice(0, 40)}`)
  }
  return { pattern: translate(WORD), characters: cuts ? translate(CHARACTERS) : null, lowercase, words: wordsOf(vocab) }
}

const MODEL = { type: "WordLevel", unk_token: "<unk>" }

function writtenBy(lowercase, cuts) {
  const split = (Regex, behavior, invert) => ({ type: "Split", pattern: { Regex }, behavior, invert })
  const find = split(WORD, "Removed", true)
  return {
    version: "1.0", truncation: null, padding: null, added_tokens: [], normalizer: lowercase ? { type: "Lowercase" } : null,
    pre_tokenizer: cuts ? { type: "Sequence", pretokenizers: [split(CHARACTERS, "Isolated", false), find] } : find,
    post_processor: null, decoder: null,
  }
}

/** The words from id 2 on, by their ids, which are 0, 1, 2, ... */
function wordsOf(vocab) {
  const words = []
  for (const [word, id] of isObject(vocab) ? Object.entries(vocab) : []) {
    if (!Number.isInteger(id) || id < 0 || words[id] !== undefined) throw new Error("tokenizer.json: the ids of its words are not 0, 1, 2, ...")
    if (HALF.test(word)) throw new Error("tokenizer.json: a word of its vocabulary is not text")
    words[id] = word
  }
  const count = Object.keys(words).length
  if (count !== words.length || words[0] !== "<pad>" || words[1] !== "<unk>") throw new Error("tokenizer.json: the ids of its words are not 0, 1, 2, ..., beginning with <pad> and <unk>")
  return words.slice(2)
}

/** Whether two values of JSON are the same, whatever the order of keys. */
function isSame(a, b) {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null || Array.isArray(a) !== Array.isArray(b)) return a === b
  const names = Object.keys(a)
  return names.length === Object.keys(b).length && names.every(name => Object.hasOwn(b, name) && isSame(a[name], b[name]))
}
