// The answer: what is predicted and the probabilities of all classes, with what they were before the changes.

import { element, percent, short } from "../../page/dom.js"
import { medianLine } from "./sentences.js"
import { taskOf } from "./tasks.js"

const SHOWN = 8, SHOWN_IN_ORDER = 20

/**
 * `first`: the classes of the first model, in its order. `before` is the reading before the changes, `truth` what the data
 * says, `range` the lowest and the highest number of the data, if there are any; `ask({against: label})` asks against this class, `ask({label})` about it.
 */
export function drawAnswer(about, now, { first, before, truth, ask, range, isOpen }) {
  const task = taskOf(about), [name, after] = task.tell(now, about), isRight = truth !== undefined && inOrder(name) === inOrder(truth)
  return [
    element("p", { class: "label" }, element("strong", {}, element("bdi", {}, name)), " ", after),
    truth !== undefined && element("p", { class: "truth" }, !task.isNumber && (isRight ? "✓ right" : "✗ wrong: "), (task.isNumber || !isRight) && ["the data says ", element("bdi", {}, truth)]),
    before && changed(task, about, now, before),
    ...(task.isNumber ? [drawAxis(now, before, range)] : drawBars(task, about, now, before, first, ask, isOpen)),
  ]
}

function changed(task, about, now, before) {
  const [name, after] = task.tell(before, about), was = before.predicted, isOther = task.asks === "against" && !task.isNumber && was !== now.predicted
  return element("p", { class: "changed" }, "Before the changes: ", element("bdi", {}, name), " ", after, isOther && [" — now ", percent(now.probabilities[was])])
}

/** In the order of the classes; the less probable ones of many in a fold. */
function drawBars(task, about, now, before, first, ask, isOpen) {
  const { labels } = about, P = now.probabilities, most = task.isOrdered ? SHOWN_IN_ORDER : SHOWN
  const place = k => (first.indexOf(labels[k]) + 1) || Infinity, above = k => P[k] - (task.threshold?.(about, k) ?? 0)
  const order = [...labels.keys()].sort((a, b) => place(a) === place(b) ? a - b : place(a) - place(b))
  const sorted = labels.length > most ? order.sort((a, b) => above(b) - above(a)) : order, given = task.given(P, about)
  const draw = some => element("ul", { class: "bars" }, some.map(k => bar(task, about, k, given.includes(k), now, before, ask)))
  const more = sorted.slice(most)
  return [
    draw(sorted.slice(0, most)),
    more.length > 0 && element("details", { open: isOpen }, element("summary", {}, `and ${more.length} less probable ${task.many}`), draw(more)),
    task.threshold && element("p", { class: "small" }, "A label is given from its threshold on: the mark on its bar."),
    task.isOrdered && element("p", { class: "small median" }, medianLine(now, about)),
  ]
}

function bar(task, about, k, isGiven, now, before, ask) {
  const P = now.probabilities, least = task.threshold?.(about, k)
  const filled = element("s", { style: { width: percent(P[k]) } })
  const was = before && element("u", { title: `before: ${percent(before.probabilities[k])}`, style: { left: percent(before.probabilities[k]) } })
  const mark = least !== undefined && element("b", { title: `given from ${percent(least)} on`, style: { left: percent(least) } })
  return element("li", { class: isGiven ? "predicted" : "" }, name(task, about.labels[k], k, now, ask),
    element("i", { "aria-hidden": "true" }, filled, mark, was || ""), element("span", {}, percent(P[k]), least !== undefined && element("small", {}, ` from ${percent(least, 0)}`)))
}

/** The name of a class, which can be asked for: another one than what decided is about or, of several labels, any. */
function name(task, label, k, now, ask) {
  const isShown = k === now.target, several = task.asks === "label", isAsked = several ? isShown : k === now.against
  if (isShown && !several) return element("bdi", {}, label)
  return element("button", { type: "button", "aria-pressed": String(isAsked), title: several ? "What speaks for this label?" : isAsked ? "Back to what decided" : "Why not this class?",
    onclick: () => ask({ [task.asks]: isAsked ? undefined : label }) }, element("bdi", {}, label))
}

/** Where a number is between the lowest and the highest of the data, if there are data. */
function drawAxis({ probabilities: [value] }, before, range) {
  if (!range) return false
  const known = [value, ...(before ? before.probabilities : []), ...range], low = Math.min(...known), high = Math.max(...known)
  const share = x => percent(high > low ? (x - low) / (high - low) : 0.5)
  const filled = element("s", { style: { width: share(value) } }), was = before && element("u", { title: `before: ${short(before.probabilities[0])}`, style: { left: share(before.probabilities[0]) } })
  return element("ul", { class: "bars" }, element("li", { class: "predicted", title: "from the lowest to the highest number of the data" },
    element("span", {}, short(low)), element("i", { "aria-hidden": "true" }, filled, was || ""), element("span", {}, short(high))))
}

/** Names of labels as one string, whatever their order: two models may have another. */
function inOrder(names) {
  return names.split(", ").sort().join(", ")
}
