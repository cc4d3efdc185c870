// The filters of the data in the page's address; classes by name.

import { parseAddress } from "./address.js"
import { ALL, isByAspect } from "./data_table.js"

const CHOICES = { right: ["right", "wrong"], differ: ["differ", "agree", "first", "second"], sort: ["least", "most", "best", "worst"], says: ["praised", "blamed", "not"] }

export function filterToAddress(filter, { labels, aspects }) {
  const parts = new URLSearchParams()
  for (const name of ["right", "differ", "sort", "says", "find"]) if (filter[name]) parts.set(name, filter[name])
  for (const [name, key] of [["true", "truth"], ["predicted", "predicted"]]) if (filter[key] >= 0) parts.set(name, labels[filter[key]])
  if (filter.aspect >= 0) parts.set("aspect", aspects.names[filter.aspect])
  if (filter.of) parts.set("of", filter.of)
  if (filter.from > 0 || filter.to < 1) parts.set("confidence", `${filter.from}-${filter.to}`)
  if (filter.box) parts.set("box", filter.box.map(place => Number(place.toFixed(4))).join(","))
  return parts
}

/** Whatever does not fit the table is left out. */
export function filterFromAddress(address, { labels, models, truth, aspects }) {
  const parts = parseAddress(address), filter = { ...ALL, find: parts.get("find") ?? "" }
  for (const [name, values] of Object.entries(CHOICES)) if (values.includes(parts.get(name))) filter[name] = parts.get(name)
  filter.truth = labels.indexOf(parts.get("true"))
  filter.predicted = labels.indexOf(parts.get("predicted"))
  filter.aspect = aspects?.names.indexOf(parts.get("aspect")) ?? -1
  if (filter.aspect < 0) Object.assign(filter, { says: "", sort: isByAspect(filter.sort) ? "" : filter.sort })
  if (parts.get("of") === "1" && models > 1) filter.of = 1
  const [, from, to] = parts.get("confidence")?.match(/^([\d.]+)-([\d.]+)$/) ?? []
  if (from !== undefined) Object.assign(filter, { from: Number(from) || 0, to: Math.min(1, Number(to) || 1) })
  const box = (parts.get("box") ?? "").split(",").map(Number)
  if (box.length === 4 && box.every(Number.isFinite)) filter.box = box
  if (!truth) Object.assign(filter, { right: "", truth: -1 })
  if (models < 2 || (!truth && ["first", "second"].includes(filter.differ))) filter.differ = ""
  return filter
}
