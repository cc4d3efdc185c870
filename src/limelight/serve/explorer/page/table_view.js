// The same weights as a table, for screen readers and for copying.

import { element, withSign } from "../../page/dom.js"

export function drawTable(about, reading) {
  return reading.sides.map((side, k) => element("table", {},
    element("caption", {}, reading.sides.length > 1 ? `Text ${k + 1}` : "Weights of the words"),
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "word"), element("th", { scope: "col" }, "decided"),
      side.attention.map((_, r) => element("th", { scope: "col", title: about.rowNames[r] || "" }, `row ${r + 1}`)))),
    element("tbody", {}, side.words.map(({ start, end }, t) => element("tr", {},
      element("th", { scope: "row" }, side.text.slice(start, end) || "(no words)"),
      element("td", {}, withSign(side.decided[t])), side.attention.map(row => element("td", {}, row[t].toFixed(2))))),
    typeof side.bias === "number" && element("tr", {}, element("th", { scope: "row" }, "without a word"),
      element("td", {}, withSign(side.bias)), side.attention.map(() => element("td"))))))
}
