// The confusion matrix; with many classes, the most frequent confusions. A cell filters the list.

import { colour, element, number, percent } from "../../page/dom.js"

const MOST = 14, PAIRS = 25

/** `choose(truth, predicted)` gets a cell; the chosen one again takes the filter back. */
export function drawConfusion({ labels }, counts, filter, choose) {
  const cell = (truth, predicted, text, extra = {}) => element("button", {
    type: "button", "aria-pressed": String(filter.truth === truth && filter.predicted === predicted),
    "data-truth": truth, "data-predicted": predicted, title: says(truth, predicted), "aria-label": says(truth, predicted),
    onclick: () => (filter.truth === truth && filter.predicted === predicted ? choose(-1, -1) : choose(truth, predicted)), ...extra,
  }, text)
  const totals = counts.map(row => row.reduce((a, b) => a + b, 0))
  return labels.length > MOST ? mostFrequent() : matrix()

  function says(truth, predicted) {
    return `${labels[truth]} predicted ${truth === predicted ? "correctly" : `as ${labels[predicted]}`}: ${number(counts[truth][predicted])} of ${number(totals[truth])} (${percent(counts[truth][predicted] / (totals[truth] || 1))})`
  }

  function matrix() {
    const head = label => element("span", { class: "turned", title: label }, label)
    return element("div", { class: "scroll" }, element("table", { class: "confusion" },
      element("caption", {}, "Rows: true class. Columns: predicted class. Click a cell to see its texts."),
      element("thead", {}, element("tr", {}, element("td"), labels.map(label => element("th", { scope: "col" }, head(label))))),
      element("tbody", {}, labels.map((label, truth) => element("tr", {}, element("th", { scope: "row", title: label }, element("bdi", {}, label)),
        labels.map((_, predicted) => element("td", {}, cell(truth, predicted, number(counts[truth][predicted]),
          { class: `${colour(counts[truth][predicted], totals[truth])}${truth === predicted ? " right" : ""}` }))))))))
  }

  function mostFrequent() {
    const pairs = counts.flatMap((row, truth) => [...row].map((count, predicted) => ({ truth, predicted, count })))
      .filter(({ truth, predicted, count }) => truth !== predicted && count).sort((a, b) => b.count - a.count).slice(0, PAIRS)
    return element("div", {}, element("p", { class: "small" }, `The most frequent confusions of ${labels.length} classes. Click one to see its texts.`),
      element("ol", { class: "pairs" }, pairs.map(({ truth, predicted, count }) => element("li", {},
        cell(truth, predicted, [element("bdi", {}, labels[truth]), " → ", element("bdi", {}, labels[predicted]), ` ${number(count)}`])))))
  }
}
