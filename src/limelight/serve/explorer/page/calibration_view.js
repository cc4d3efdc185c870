// Texts by the confidence of their prediction, or labels by their probability: how many are right. A bar filters the list.

import { BINS } from "./data_table.js"
import { choice, element, number, percent } from "../../page/dom.js"

/** `choose({ from, to })` gets a bin, `choose({ label })` one of several labels. */
export function drawCalibration({ truth, labels, task: { hasSeveral } }, bins, filter, choose) {
  const total = bins.reduce((sum, bin) => sum + bin.count, 0), most = Math.max(1, ...bins.map(bin => bin.count))
  const error = bins.reduce((sum, { right, confidence }) => sum + Math.abs(right - confidence), 0) / (total || 1)
  const about = filter.label >= 0 ? `“${labels[filter.label]}”` : ""
  const { scale, counted, right, share } = !hasSeveral ? { scale: "confidence", counted: "texts", right: "right", share: "the share that is right" }
    : about ? { scale: `probability of ${about}`, counted: "texts", right: "have it", share: `the share of texts that have ${about}` }
    : { scale: "probability", counted: "labels", right: "true", share: "of all labels of all texts, the share that is true" }
  return element("div", { class: "calibration" },
    hasSeveral && choice("Label", [["-1", "all labels"], ...labels.map((label, k) => [k, label])], filter.label, label => choose({ label: Number(label), from: 0, to: 1 })),
    element("p", { class: "small" }, !total ? (about ? `This model gives none of these texts a probability of ${about}.` : "No texts.") : truth
      ? `Bars: ${share}, for each tenth of ${hasSeveral ? "probability" : "confidence"}; the line is where it should be. On average ${percent(error)} apart. Click a bar to see its texts.`
      : `How many ${counted} have which ${scale}. Click a bar to see its texts.`),
    element("div", { class: "bins" }, bins.map(drawBin)),
    element("p", { class: "small axis", "aria-hidden": "true" }, element("span", {}, "0%"), element("span", {}, scale), element("span", {}, "100%")))

  function drawBin({ count, right: found, confidence }, k) {
    const from = k / BINS, to = (k + 1) / BINS, isChosen = filter.from === from && filter.to === to
    const says = `${scale} ${100 * from} to ${100 * to}%: ${number(count)} ${counted}${truth && count ? `, ${percent(found / count)} ${right}` : ""}`
    const filled = element("s", { style: { height: percent(count && (truth ? found / count : count / most)) } })
    const mark = truth && count && element("u", { style: { bottom: percent(confidence / count) } })
    return element("button", { type: "button", "aria-pressed": String(isChosen), "data-bin": k, title: says, "aria-label": says, disabled: !count,
      onclick: () => choose(isChosen ? { from: 0, to: 1 } : { from, to }) }, element("i", {}, filled, mark || ""), element("span", {}, count.toLocaleString("en", { notation: "compact" })))
  }
}
