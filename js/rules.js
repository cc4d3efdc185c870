// The rules of a tokenizer.json as regular expressions of JavaScript.
//
// They are in the syntax of Oniguruma. JavaScript has no possessive quantifiers and no atomic groups, but a lookahead
// never gives back what it matched: `x++` becomes `(?=(?<a1>x+))\k<a1>`. text/rules.py does the same in Python.

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

/** What `Tokenizer` takes, from the content of a tokenizer.json. */
export function tokenizerOf({ normalizer, pre_tokenizer: splitter, model }) {
  const splits = splitter.type === "Sequence" ? splitter.pretokenizers : [splitter]
  const rules = splits.map(({ pattern }) => translate(pattern.Regex))
  const words = Object.keys(model.vocab).sort((a, b) => model.vocab[a] - model.vocab[b])
  const characters = rules.length > 1 ? rules[0] : null // cuts scripts without spaces between words
  return { pattern: rules.at(-1), characters, lowercase: normalizer !== null, words: words.slice(2) }
}
