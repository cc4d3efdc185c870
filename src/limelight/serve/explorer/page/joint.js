// Words that a model in the page reads together (explain/joint.py, which has the words and the limits, too).

import { isContracted } from "./pieces.js"

/**
 * For each text the pairs of words, as served_model.js has them. `words`: [{start, end, id}], `decided` (n) of each side;
 * `answerWithout(side, gone)`: the answer where `gone`, a Set of words, is left out.
 */
export function findJoint(rules, sides, answerWithout) {
  if (sides.reduce((sum, { words }) => sum + words.length, 0) > rules.maxWords) return sides.map(() => [])
  const before = answerWithout(0, new Set())
  return sides.map((side, k) => {
    const pieces = piecesOf(side), known = new Map()
    const fall = (...numbers) => {
      const gone = new Set(numbers.flatMap(number => pieces[number].words)), key = [...gone].join()
      if (!known.has(key)) known.set(key, before - answerWithout(k, gone))
      return known.get(key)
    }
    return strongest(rules, candidates(rules, pieces).map(([a, b]) => ({ a, b, falls: [fall(a), fall(b), fall(a, b)] })))
      .map(({ a, b, falls }) => ({ first: pieces[a].text, second: pieces[b].text, between: a + 1 === b ? " " : " … ", falls }))
  })
}

/** {text, words: their numbers, weight} of each piece. */
function piecesOf({ text, words, decided }) {
  const pieces = []
  words.forEach((word, k) => {
    if (!k || !isContracted(text, words[k - 1], word)) pieces.push({ words: [], start: word.start, weight: 0 })
    const piece = pieces.at(-1)
    piece.words.push(k)
    piece.weight += decided[k]
    piece.text = text.slice(piece.start, word.end)
  })
  return pieces
}

/** Neighbours that may be read together, each pair once; small words between them do not count. */
function candidates({ small, negating, strongest: most, negations, after }, pieces) {
  const negates = word => negating.includes(word) || word.endsWith("n't")
  const words = pieces.map(piece => piece.text.toLowerCase().replaceAll("’", "'"))
  const counts = word => word && (negates(word) || (/[\p{L}\p{N}]/u.test(word) && !small.includes(word)))
  const places = [...pieces.keys()].filter(k => counts(words[k])), weight = i => Math.abs(pieces[places[i]].weight)
  const order = [...places.keys()].sort((a, b) => weight(b) - weight(a)).slice(0, most)
  const found = order.flatMap(i => [[i - 1, i], [i, i + 1]])
  for (const i of [...places.keys()].filter(k => negates(words[places[k]])).slice(0, negations)) {
    for (let step = 1; step <= after; step++) found.push([i, i + step])
  }
  const distinct = new Map(found.map(pair => [pair.join(), pair]))
  return [...distinct.values()].filter(([i, j]) => i >= 0 && j < places.length).map(([i, j]) => [places[i], places[j]])
}

/** The pairs with the most effect together, each word only once. */
function strongest({ minJoint, minTimes, maxJoint }, found) {
  const together = ({ falls: [one, other, both] }) => Math.abs(both - one - other), kept = []
  for (const each of found.sort((a, b) => together(b) - together(a))) {
    const alone = Math.max(Math.abs(each.falls[0]), Math.abs(each.falls[1])), taken = kept.flatMap(({ a, b }) => [a, b])
    if (together(each) >= Math.max(minJoint, minTimes * alone) && !taken.includes(each.a) && !taken.includes(each.b)) kept.push(each)
  }
  return kept.slice(0, maxJoint)
}
