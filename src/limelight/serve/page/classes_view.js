// The classes: how many texts, precision, recall and F1. A name filters the list.

import { element, number, percent } from "./dom.js"

/** `choose(k)` gets a class: a true one, or without labels a predicted one. */
export function drawClasses({ labels, truth }, counts, chosen, choose) {
  const sum = values => [...values].reduce((a, b) => a + b, 0)
  const rows = labels.map((label, k) => {
    const predicted = sum(counts.map(row => row[k])), real = truth ? sum(counts[k]) : 0, right = truth ? counts[k][k] : 0
    return { label, k, real, predicted, precision: right / predicted, recall: right / real, f1: 2 * right / (real + predicted) }
  })
  const score = value => (Number.isFinite(value) ? value.toFixed(2) : "–")
  const names = truth ? ["class", "texts", "predicted", "precision", "recall", "F1"] : ["class", "predicted"]
  return element("div", { class: "scroll" }, element("table", { class: "classes" },
    element("caption", {}, truth ? "Click a class to see the texts of it." : "Click a class to see the texts it is predicted for."),
    element("thead", {}, element("tr", {}, names.map(name => element("th", { scope: "col" }, name)))),
    element("tbody", {}, rows.map(({ label, k, real, predicted, precision, recall, f1 }) => element("tr", {},
      element("th", { scope: "row" }, element("button", { type: "button", "aria-pressed": String(chosen === k), onclick: () => choose(chosen === k ? -1 : k) }, element("bdi", {}, label))),
      truth && element("td", {}, number(real)), element("td", {}, number(predicted)),
      truth && [precision, recall].map(value => element("td", {}, score(value))), truth && element("td", {}, bar(f1), score(f1)))))))
}

function bar(share) {
  return element("i", { class: "share", "aria-hidden": "true" }, element("s", { style: { width: percent(share || 0) } }))
}
