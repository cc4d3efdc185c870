// Texts by the confidence of their prediction: how many are right. A bar filters the list.

import { BINS } from "./data_table.js"
import { element, number, percent } from "./dom.js"

/** `choose(from, to)` gets a bin. */
export function drawCalibration({ truth }, bins, filter, choose) {
  const total = bins.reduce((sum, bin) => sum + bin.count, 0), most = Math.max(1, ...bins.map(bin => bin.count))
  const error = bins.reduce((sum, { right, confidence }) => sum + Math.abs(right - confidence), 0) / (total || 1)
  return element("div", { class: "calibration" },
    element("p", { class: "small" }, truth
      ? `Bars: the share that is right, for each tenth of confidence; the line is where it should be. On average ${percent(error)} apart. Click a bar to see its texts.`
      : "How many texts have which confidence. Click a bar to see its texts."),
    element("div", { class: "bins" }, bins.map(drawBin)),
    element("p", { class: "small axis", "aria-hidden": "true" }, element("span", {}, "0%"), element("span", {}, "confidence"), element("span", {}, "100%")))

  function drawBin({ count, right, confidence }, k) {
    const from = k / BINS, to = (k + 1) / BINS, isChosen = filter.from === from && filter.to === to
    const says = `confidence ${100 * from} to ${100 * to}%: ${number(count)} texts${truth && count ? `, ${percent(right / count)} right` : ""}`
    const filled = element("s", { style: { height: percent(count && (truth ? right / count : count / most)) } })
    const mark = truth && count && element("u", { style: { bottom: percent(confidence / count) } })
    return element("button", { type: "button", "aria-pressed": String(isChosen), "data-bin": k, title: says, "aria-label": says, disabled: !count,
      onclick: () => (isChosen ? choose(0, 1) : choose(from, to)) }, element("i", {}, filled, mark || ""), element("span", {}, count.toLocaleString("en", { notation: "compact" })))
  }
}
