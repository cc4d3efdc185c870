// The filters of the data in the page's address; classes by name.

import { parseAddress } from "../../page/address.js"
import { ALL } from "./data_table.js"

const CHOICES = { learnt: ["yes", "no"], right: ["right", "wrong"], differ: ["differ", "agree", "first", "second"], sort: ["least", "most", "low", "high", "off", "best", "worst"], says: ["praised", "blamed", "not"] }

const BOXES = ["box", "area"] // on the map, and of true and predicted numbers

export function filterToAddress(filter, { labels, aspects }) {
  const parts = new URLSearchParams()
  for (const name of ["learnt", "right", "differ", "sort", "says", "find"]) if (filter[name]) parts.set(name, filter[name])
  for (const [name, key] of [["true", "truth"], ["predicted", "predicted"]]) if (filter[key] >= 0) parts.set(name, labels[filter[key]])
  if (filter.aspect >= 0) parts.set("aspect", aspects.names[filter.aspect])
  if (filter.of) parts.set("of", filter.of)
  if (filter.label >= 0) parts.set("label", labels[filter.label])
  if (filter.from > 0 || filter.to < 1) parts.set("confidence", `${filter.from}-${filter.to}`)
  for (const name of BOXES) if (filter[name]) parts.set(name, filter[name].map(place => Number(place.toPrecision(6))).join(","))
  return parts
}

/** Whatever does not fit the table is left out. */
export function filterFromAddress(address, table) {
  const { labels, models, truth, aspects, task } = table
  const parts = parseAddress(address), filter = { ...ALL, find: parts.get("find") ?? "" }
  for (const [name, values] of Object.entries(CHOICES)) if (values.includes(parts.get(name))) filter[name] = parts.get(name)
  filter.truth = labels.indexOf(parts.get("true"))
  filter.predicted = labels.indexOf(parts.get("predicted"))
  if (task.hasSeveral) filter.label = labels.indexOf(parts.get("label"))
  filter.aspect = aspects?.names.indexOf(parts.get("aspect")) ?? -1
  if (parts.get("of") === "1" && models > 1) filter.of = 1
  const [, from, to] = parts.get("confidence")?.match(/^([\d.]+)-([\d.]+)$/) ?? []
  if (from !== undefined) Object.assign(filter, { from: Number(from) || 0, to: Math.min(1, Number(to) || 1) })
  for (const name of BOXES) {
    const box = (parts.get(name) ?? "").split(",").map(Number)
    if (box.length === 4 && box.every(Number.isFinite)) filter[name] = box
  }
  if (!table.learnt) filter.learnt = ""
  if (!truth) Object.assign(filter, { right: "", truth: -1 })
  if (!truth || !task.isNumber) filter.area = null
  if (task.isNumber) Object.assign(filter, { right: "", truth: -1, predicted: -1, differ: "" })
  if (!task.figures.includes("calibration")) Object.assign(filter, { from: 0, to: 1 })
  if (models < 2 || (!truth && ["first", "second"].includes(filter.differ))) filter.differ = ""
  return table.fit(filter)
}
