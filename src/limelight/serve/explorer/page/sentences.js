// What a pane and its saved picture say in sentences (reading/captions.py).

import { percent } from "../../page/dom.js"
import { signed, taskOf } from "./tasks.js"

const NAMED = 3 // words that are read as others
const MOST_FOR = 2 // rows that are named where the others are folded away

/** That an answer among ordered classes is the median, where it is. */
export function medianLine({ probabilities: P }, about) {
  const { labels } = about, task = taskOf(about), most = P.indexOf(Math.max(...P)), answer = labels[task.decide(P)]
  if (!task.isOrdered) return ""
  const line = `The answer is the median: added up in order, the probabilities reach 50% at “${answer}”.`
  return labels[most] === answer ? line : `${line} The most probable is “${labels[most]}”, with ${percent(P[most])}.`
}

/** What the words add up to; empty for a pair, where nothing adds up. */
export function sumLine(now, about) {
  const { predicted, target, against, sides: [{ decided, bias }] } = now, { labels } = about
  if (bias === undefined || bias === null) return ""
  const amount = amountOf(about, now), whole = x => percent(Math.min(Math.max(x, 0), 1), 0)
  const words = decided.reduce((sum, weight) => sum + weight, 0)
  const of = `${target === predicted ? "" : ` of “${labels[target]}”`}${against === null ? "" : ` beside “${labels[against]}” alone`}`
  if (amount) return `Without a word the ${amount} would be ${signed(bias.toFixed(2))}; the words bring it to ${signed((bias + words).toFixed(2))}.`
  return `Without a word the probability${of} would be ${whole(bias)}; the words bring it to ${whole(bias + words)}.`
}

/** What the colours mean. */
export function coloursLine(now, about) {
  const { labels } = about, { target, against } = now, label = `“${labels[target]}”`, amount = amountOf(about, now)
  if (amount) return `Orange words raise the ${amount}, blue words lower it.`
  if (against === null) return `Orange words support ${label}, blue words speak against it.`
  return `Orange words speak for ${label} rather than “${labels[against]}”, blue words for “${labels[against]}”.`
}

/** Words that are read together, where the model looked for them, and how the answer changes without them. */
export function jointLine({ sides, ...explained }, about) {
  const isAmount = amountOf(about, explained), unit = isAmount ? "" : " points", size = fall => (isAmount ? Math.abs(fall).toFixed(2) : String(Math.round(Math.abs(100 * fall))))
  const change = fall => `${Number(size(fall)) ? (fall > 0 ? "−" : "+") : ""}${size(fall)}`
  const told = sides.flatMap(side => side.joint ?? []).map(({ first, second, between, falls: [one, other, both] }) =>
    `“${first}${between}${second}” (without both ${change(both)}${unit}; without “${first}” ${change(one)}, without “${second}” ${change(other)})`)
  return told.length ? `Read together: ${told.join("; ")}.` : ""
}

/** What words raise or lower, where that is not the probability of a class. */
function amountOf(about, { label, against }) {
  return label === null && against === null ? taskOf(about).amount : ""
}

/** The rows in a line, from what each adds to the answer. */
export function rowsSummary({ rowNames }, { sides }, totals) {
  const order = [...totals.keys()].sort((a, b) => totals[b] - totals[a]).filter(r => totals[r] > 0)
  const name = r => (rowNames[r] ? `“${rowNames[r]}”` : `row ${r + 1} (here “${mostRead(sides, r)}”)`)
  const most = [...new Set(order.map(name))].slice(0, MOST_FOR).join(", ")
  return `What each row read: ${totals.length} ${totals.length === 1 ? "row" : "rows"}${most && `; most for this answer: ${most}`}`
}

/** The word that a row read most. */
function mostRead(sides, r) {
  const shares = sides.map(side => Math.max(...side.attention[r])), { text, words, attention } = sides[shares.indexOf(Math.max(...shares))]
  const { start, end } = words[attention[r].indexOf(Math.max(...attention[r]))]
  return text.slice(start, end)
}

/** That an answer may not be the model's, where the page does not have a word that the model has. */
export function differsLine({ lostWords }, { sides }) {
  const found = new Map()
  for (const { text, words } of sides) {
    for (const { start, end, known, readAs: other } of words) {
      if (end > start && (other || (lostWords && !known))) found.set(text.slice(start, end), other ? `“${other}”` : "an unknown word")
    }
  }
  if (!found.size) return ""
  const named = [...found].slice(0, NAMED).map(([word, other]) => `“${word}” as ${other}`).join(", ")
  return `The full model may answer differently. To stay small, this page reads ${named}${found.size > NAMED ? ` and ${found.size - NAMED} more words as others` : ""}.`
}
