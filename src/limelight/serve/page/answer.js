// The answer: the predicted class and the probabilities of all, with what they were before the changes.

import { element, percent } from "./dom.js"

const SHOWN = 8

/** `first`: the classes of the first model, in its order. `before` is the reading before the changes, `truth` the true class, if there are any; `ask(label)` asks why not this class. */
export function drawAnswer(labels, first, now, before, truth, ask) {
  const place = k => (first.indexOf(labels[k]) + 1) || Infinity
  const order = [...labels.keys()].sort((a, b) => place(a) === place(b) ? a - b : place(a) - place(b))
  const sorted = labels.length > SHOWN ? order.sort((a, b) => now.probabilities[b] - now.probabilities[a]) : order
  const bars = sorted.slice(0, SHOWN).map(k => bar(labels[k], k, now, before, ask))
  const more = labels.length - bars.length
  return [
    element("p", { class: "label" }, element("strong", {}, element("bdi", {}, labels[now.predicted])), " ",
      percent(now.probabilities[now.predicted])),
    truth !== undefined && element("p", { class: "truth" }, labels[now.predicted] === truth ? "✓ right" : ["✗ wrong: the data says ", element("bdi", {}, truth)]),
    changed(labels, now, before),
    element("ul", { class: "bars" }, bars),
    more > 0 && element("p", { class: "small" }, `and ${more} less probable classes`),
  ]
}

function changed(labels, now, before) {
  if (!before) return false
  const was = before.predicted
  const same = was === now.predicted
  return element("p", { class: "changed" }, "Before the changes: ", element("bdi", {}, labels[was]), " ",
    percent(before.probabilities[was]), !same && [" — now ", percent(now.probabilities[was])])
}

function bar(label, k, now, before, ask) {
  const filled = element("s", { style: { width: percent(now.probabilities[k]) } })
  const was = before && element("u", { title: `before: ${percent(before.probabilities[k])}`, style: { left: percent(before.probabilities[k]) } })
  return element("li", { class: k === now.predicted ? "predicted" : "" }, name(label, k, now, ask),
    element("i", { "aria-hidden": "true" }, filled, was || ""), element("span", {}, percent(now.probabilities[k])))
}

/** The name of a class; another one than the predicted can be asked against. */
function name(label, k, now, ask) {
  if (k === now.predicted) return element("bdi", {}, label)
  const asked = k === now.against
  return element("button", { type: "button", "aria-pressed": String(asked), title: asked ? "Back to what decided" : "Why not this class?",
    onclick: () => ask(asked ? undefined : label) }, element("bdi", {}, label))
}
