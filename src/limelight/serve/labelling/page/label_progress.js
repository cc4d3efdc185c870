// How far it is: estimated accuracy with its interval, how it grew, which classes need more.

import { counted, element, number, percent } from "../../page/dom.js"

const WIDTH = 240, HEIGHT = 90, NEEDS = 6

export function drawProgress(found, classes) {
  const [figure, basis] = estimate(found)
  return [
    element("h2", {}, "Progress"),
    element("p", { class: "big" }, element("strong", { "data-part": "accuracy" }, figure), " ", element("span", { class: "small" }, basis)),
    found.history.length > 1 ? plot(found.history) : false,
    element("p", { class: "advice" }, found.advice),
    element("p", { class: "small", "data-part": "counts" }, `${number(found.labelled)} of ${number(found.total)} labelled${found.skipped ? `, ${number(found.skipped)} skipped` : ""}${found.unsure ? `, ${number(found.unsure)} unsure` : ""}${found.read < found.total ? `; ${number(found.read)} read so far` : ""}`),
    element("i", { class: "meter", "aria-hidden": "true" }, element("s", { style: { width: percent(found.labelled / Math.max(1, found.total)) } })),
    needs(found, classes),
  ]
}

/** The accuracy, or its interval where one number would say too much; and what that rests on. */
export function estimate({ accuracy, low, high, drawn, near, estimate: words }) {
  if (low === null) return ["–", words]
  const range = `${percent(low, 0)} to ${percent(high, 0)}`
  const basis = `with 95% confidence, from ${counted(drawn, "text")} drawn at random${near === null ? "" : `; ${percent(near, 0)} at most one class away`}`
  return accuracy === null ? [range, `accuracy ${basis}`] : [percent(accuracy, 0), `accuracy, ${range} ${basis}`]
}

function needs({ needs: found, by_class: counts }, classes) {
  if (!classes.length) return false
  const some = found.slice(0, NEEDS)
  if (!some.length) return false
  const top = Math.max(1, ...Object.values(counts))
  return element("details", { open: true }, element("summary", {}, "Classes that need more"), element("ul", { class: "bars needs" }, some.map(each => element("li", {}, element("bdi", { title: each.confused_with ? `taken for ${each.confused_with}` : undefined }, each.name),
    element("i", { "aria-hidden": "true" }, element("s", { style: { width: percent(each.labels / top) } })), element("span", {}, `${number(each.labels)}${each.drawn ? `; ${number(each.right)} of ${number(each.drawn)} right` : ""}`)))),
    element("p", { class: "small" }, "Labels of each class; and of its texts drawn at random, how many the model gets right without having seen them."))
}

/** The estimate by the number of labels, and its interval as a band. */
function plot(history) {
  const last = history.at(-1).labels, first = history[0].labels
  const x = labels => 30 + (WIDTH - 38) * (labels - first) / Math.max(1, last - first), y = share => 6 + (HEIGHT - 24) * (1 - share)
  const line = points => points.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" ")
  const points = history.filter(each => each.accuracy !== null), shown = history.at(-1)
  const band = [...history.map(each => [x(each.labels), y(each.high)]), ...[...history].reverse().map(each => [x(each.labels), y(each.low)])]
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "growth", role: "img", "aria-label": `Accuracy after ${counted(last, "label")}: ${shown.accuracy !== null ? `${percent(shown.accuracy, 0)}, ` : ""}${percent(shown.low, 0)} to ${percent(shown.high, 0)}` },
    ...[0, 0.5, 1].flatMap(share => [svg("path", { class: "rule", d: `M30 ${y(share)}H${WIDTH - 8}` }), svg("text", { x: 26, y: y(share) + 3, class: "end" }, percent(share, 0))]),
    svg("polygon", { class: "band", points: line(band) }), svg("polyline", { class: "line", points: line(points.map(each => [x(each.labels), y(each.accuracy)])) }),
    svg("text", { x: 30, y: HEIGHT - 4 }, number(first)), svg("text", { x: WIDTH - 8, y: HEIGHT - 4, class: "end" }, counted(last, "label")))
}

function svg(tag, attributes, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag)
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value)
  made.append(...children)
  return made
}
