// What a text says about the aspects of a model, and what it adds up to, in words.
//
// {unit: "stars", "points" or "number", bias, rest, answer, text, words: [{start, end}], aspects: [{name, effect, mentioned,
// clauses: [{start, end}], weights: one for each word}]}; without `words`, a clause has one colour, by `clauses[].effect`.

export const NOT_HERE = "This file has the aspects of its rows as they are. limelight explore without --save reads those of any text."

/** What the colours mean, where effects are in stars and what decided is a probability. */
export const STARS_LINE = "Orange words raise the stars, blue words lower them."

/** What is said after an effect, of aspects that raise or lower the answer, of their clauses, and of all effects. */
export const UNITS = {
  stars: { after: " stars", says: ["praised", "blamed"], clauses: ["Raise the stars most", "Lower the stars most"], are: "in stars" },
  points: { after: " points", says: ["for the answer", "against the answer"], clauses: ["Most for the answer", "Most against it"], are: "in points" },
  number: { after: "", says: ["raises it", "lowers it"], clauses: ["Raise the value most", "Lower the value most"], are: "those on the value" },
}

/** Numbers as they are shown: rounded so that the rounded ones add up, too (reading/captions.py). */
export function shownEffects(parts, unit) {
  const digits = unit === "points" ? 1 : 2, exact = parts.map(part => part * (unit === "points" ? 1000 : 100))
  const counts = exact.map(Math.floor), total = Math.floor(exact.reduce((a, b) => a + b, 0) + 0.5)
  const order = [...exact.keys()].sort((a, b) => counts[a] - exact[a] - (counts[b] - exact[b]))
  for (const k of order.slice(0, total - counts.reduce((a, b) => a + b, 0))) counts[k]++
  return counts.map(x => `${x < 0 ? "−" : x > 0 ? "+" : ""}${(Math.abs(x) / 10 ** digits).toFixed(digits)}`)
}

/** The effects of the aspects that are mentioned, and the sum in a line. */
export function aspectLines({ unit, bias, rest, answer, aspects }) {
  const mentioned = aspects.filter(aspect => aspect.mentioned)
  const [first, ...effects] = shownEffects([bias, ...mentioned.map(aspect => aspect.effect), rest], unit)
  const percent = unit === "points" ? "%" : "", names = [...mentioned.map(aspect => aspect.name), "rest"]
  const terms = effects.map((effect, k) => ` ${effect[0] === "−" ? "−" : "+"} ${effect.replace(/^[+−]/, "")} ${names[k]}`)
  const [total] = shownEffects([answer], unit), others = aspects.filter(aspect => !aspect.mentioned).map(aspect => aspect.name)
  return {
    effects: effects.slice(0, -1).map(effect => `${effect}${UNITS[unit].after}`),
    sum: `${first.replace("+", "")}${percent} without a word${terms.join("")} = ${total.replace("+", "")}${percent || UNITS[unit].after}`,
    missing: others.length ? `Not mentioned: ${others.join(", ")}.` : "",
  }
}

/** Of a reading over HTTP; `place` finds where a place of Python's is in `text`. */
export function servedAspects({ aspects: found, offsets }, text, place) {
  if (!found) return undefined
  return { ...found, text, unit: { mean: "stars", number: "number" }[found.unit] ?? "points", words: offsets.map(([start, end]) => ({ start: place(start), end: place(end) })),
    aspects: found.aspects.map(aspect => ({ ...aspect, clauses: aspect.clauses.map(({ span: [start, end], effect }) => ({ start: place(start), end: place(end), effect })) })) }
}
