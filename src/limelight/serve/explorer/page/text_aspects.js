// The aspects of the text: the effect of each that is mentioned, and its clauses.

import { aspectLines } from "./aspects.js"
import { colour, element, largestOf, percent } from "../../page/dom.js"

/** `opener(name)` gives what shows an aspect in the data; undefined where there is none. */
export function drawTextAspects(found, opener) {
  const mentioned = found.aspects.filter(aspect => aspect.mentioned), { effects } = aspectLines(found)
  const most = largestOf(mentioned.map(aspect => aspect.effect))
  const top = largestOf(mentioned.flatMap(aspect => (found.words ? aspect.weights : aspect.clauses.map(clause => clause.effect))))
  return element("ul", { class: "rows" }, mentioned.map((aspect, k) => element("li", { "data-aspect": aspect.name }, drawName(aspect.name, opener(aspect.name)),
    drawBar(aspect.effect, most), element("span", { class: "number" }, effects[k]),
    element("p", { class: "clauses", dir: "auto" }, aspect.clauses.flatMap((clause, at) => [at ? " … " : "", ...drawClause(found, aspect, clause, top)])))))
}

function drawName(name, open) {
  if (!open) return element("span", { class: "name" }, name)
  return element("button", { type: "button", class: "name", title: "See its clauses in all texts", onclick: open }, name)
}

/** To the right of the middle what raises the answer, to the left what lowers it. */
export function drawBar(effect, most) {
  const width = percent(most > 0 ? Math.abs(effect) / most / 2 : 0)
  return element("i", { class: "adds", "aria-hidden": "true" }, element("s", { class: effect < 0 ? "against" : "for", style: { width } }))
}

function drawClause({ text, words }, { weights }, { start, end, effect }, top) {
  if (!words) return [element("span", { class: `word ${colour(effect, top)}` }, text.slice(start, end))]
  const parts = []
  let from = start
  words.forEach((word, k) => {
    const first = Math.max(word.start, start), last = Math.min(word.end, end)
    if (first >= last) return
    parts.push(text.slice(from, first), element("span", { class: `word ${colour(weights[k], top)}` }, text.slice(first, last)))
    from = last
  })
  return [...parts, text.slice(from, end)]
}
