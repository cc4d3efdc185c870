// The classes or labels: how many texts, precision, recall and F1. A name filters the list.

import { element, number, percent } from "../../page/dom.js"

/** `counts`: what `Table.counts` gives; `choose(k)` gets a class: a true one, or without labels a predicted one. */
export function drawClasses({ labels, truth, task: { one } }, counts, chosen, choose) {
  const rows = counts.map(({ real, predicted, right }, k) => ({ label: labels[k], k, real, predicted, precision: right / predicted, recall: right / real, f1: 2 * right / (real + predicted) }))
  const score = value => (Number.isFinite(value) ? value.toFixed(2) : "–")
  const names = truth ? [one, "texts", "predicted", "precision", "recall", "F1"] : [one, "predicted"]
  return element("div", { class: "scroll" }, element("table", { class: "classes" },
    element("caption", {}, `Click a ${one} to see the texts ${truth ? "that have it" : "it is predicted for"}.`),
    element("thead", {}, element("tr", {}, names.map(name => element("th", { scope: "col" }, name)))),
    element("tbody", {}, rows.map(({ label, k, real, predicted, precision, recall, f1 }) => element("tr", {},
      element("th", { scope: "row" }, element("button", { type: "button", "aria-pressed": String(chosen === k), onclick: () => choose(chosen === k ? -1 : k) }, element("bdi", {}, label))),
      truth && element("td", {}, number(real)), element("td", {}, number(predicted)),
      truth && [precision, recall].map(value => element("td", {}, score(value))), truth && element("td", {}, bar(f1), score(f1)))))))
}

function bar(share) {
  return element("i", { class: "share", "aria-hidden": "true" }, element("s", { style: { width: percent(share || 0) } }))
}
