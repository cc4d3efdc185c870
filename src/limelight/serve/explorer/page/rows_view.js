// What each row read: its name, what it adds to the answer, its words, and a switch.

import { element, largestOf, percent, withSign } from "../../page/dom.js"

const WORDS = 3, LEAST = 0.05 // of a row's attention

/** `reading` is the current one; `on` has point(r), leave() and toggle(r). Rows that matter most come first. */
export function drawRows(about, reading, off, order, on) {
  const totals = rowTotals(reading), top = largestOf(totals)
  return element("ol", { class: "rows" }, order.map(r => drawRow(r)))

  function drawRow(r) {
    const isOff = off.has(r), name = about.rowNames[r] || `Row ${r + 1}${about.rowNames.length ? `: ${about.noAspect}` : ""}`
    const fill = element("s", { class: totals[r] < 0 ? "against" : "for", style: { width: percent(top && Math.abs(totals[r]) / top / 2) } })
    return element("li", {
      class: isOff ? "off" : "", "data-row": r, onmouseenter: () => on.point(r), onmouseleave: on.leave,
      onfocusin: () => on.point(r), onfocusout: on.leave,
    },
    element("label", {}, element("input", { type: "checkbox", checked: !isOff, onchange: () => on.toggle(r) }),
      element("span", { class: "name" }, element("bdi", {}, name))),
    element("i", { class: "adds", "aria-hidden": "true" }, fill),
    element("span", { class: "number" }, isOff ? "off" : withSign(totals[r])),
    element("span", { class: "read" }, mostRead(reading, r)))
  }
}

/** What each row adds to the answer, over both texts of a pair. */
export function rowTotals(reading) {
  return reading.sides[0].rows.map((_, r) => reading.sides.reduce((sum, side) => sum + side.rows[r], 0))
}

function mostRead(reading, r) {
  return reading.sides.map(side => {
    const row = side.attention[r]
    const order = [...row.keys()].sort((a, b) => row[b] - row[a]).slice(0, WORDS).filter((t, k) => !k || row[t] >= LEAST)
    return order.map(t => `${side.text.slice(side.words[t].start, side.words[t].end)} ${percent(row[t], 0)}`).join(" · ")
  }).join(" — ")
}
