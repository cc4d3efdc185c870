// Rows of data with what one or two models predict for them, in typed arrays: filters and counts take milliseconds.

import { places } from "./edits.js"
import { number } from "../../page/dom.js"
import { taskOf } from "./tasks.js"

export const BINS = 10 // of confidence
export const ALL = Object.freeze({ of: 0, right: "", truth: -1, predicted: -1, label: -1, from: 0, to: 1, find: "", learnt: "", differ: "", box: null, area: null, aspect: -1, says: "", sort: "" })
const AT_ONCE = 200 // texts of a request

export class Table {
  /** `fetchTexts(rows)` and `find(words)`, the rows that have them, are promises. */
  constructor({ name, rows, ofRows, task, labels, values, models, aspects, told, arrays }, fetchTexts, find) {
    Object.assign(this, { name, rows, ofRows, labels, values, models, told, fetchTexts, find, task: taskOf({ task }) })
    const each = kind => Array.from({ length: models }, (_, k) => arrays[`${kind}${k}`]?.values), column = values => this.task.column(values, labels.length)
    this.predicted = each("predicted").map(column)
    this.confidence = each("confidence") // of the predicted class, or of each label; NaN where a model does not have it
    this.means = each("mean") // of ordered classes
    this.truth = arrays.truth && column(arrays.truth.values)
    this.range = this.task.isNumber ? limitsOf([...this.predicted, ...(this.truth ? [this.truth] : [])]) : undefined
    this.learnt = arrays.learnt?.values // 1 for each row that was learnt from, if some were and others not
    this.measured = this.learnt?.map(learnt => 1 - learnt) ?? new Uint8Array(rows).fill(1) // the rows that figures are of
    this.places = arrays.places.values // x, y, x, y, ...
    this.aspects = aspects ? new AspectTable(aspects, arrays) : undefined
    this.known = new Map() // texts of rows that were asked for
  }

  static inPage(data) {
    const low = data.texts.map(texts => texts.join("\n").toLowerCase())
    return new Table(data, async rows => rows.map(row => data.texts[row]),
      async words => [...low.keys()].filter(row => low[row].includes(words.toLowerCase())))
  }

  static onServer(data, ask) {
    return new Table(data, rows => ask("/explorer/texts", { rows }), text => ask("/explorer/find", { text }))
  }

  /** The texts of some rows, which are then known. */
  async texts(rows) {
    const missing = rows.filter(row => !this.known.has(row))
    for (let k = 0; k < missing.length; k += AT_ONCE) {
      const some = missing.slice(k, k + AT_ONCE), found = await this.fetchTexts(some)
      some.forEach((row, place) => this.known.set(row, found[place]))
    }
    return rows.map(row => this.known.get(row))
  }

  /** Of several labels, of one of them if that is given. */
  isRight(row, of, label = -1) {
    return this.task.isRight(this, row, of, label)
  }

  /** 1 for each row that passes; `found`: 1 for each row with the words looked for; filters in `without` do not count. */
  mask(filter, found, without = []) {
    const f = { ...filter }
    for (const name of without) f[name] = ALL[name]
    const { truth, places } = this, predicted = this.predicted[f.of], label = labelOf(f)
    const isSure = f.from > 0 || f.to < 1 ? this.between(f) : () => true
    const out = new Uint8Array(this.rows)
    for (let k = 0; k < this.rows; k++) {
      if (found && !found[k]) continue
      if (f.truth >= 0 && !truth.has(k, f.truth)) continue
      if (f.predicted >= 0 && !predicted.has(k, f.predicted)) continue
      if (f.right && this.isRight(k, f.of, label) !== (f.right === "right")) continue
      if (!isSure(k)) continue
      if (f.learnt && this.learnt[k] !== Number(f.learnt === "yes")) continue
      if (f.differ && !this.differs(k, f.differ)) continue
      if (f.aspect >= 0 && !this.aspects.says(k, f.aspect, f.says)) continue
      if (f.box && !isInside(f.box, places[2 * k], places[2 * k + 1])) continue
      if (f.area && !isInside(f.area, truth.values[k], predicted.values[k])) continue
      out[k] = 1
    }
    return out
  }

  /** Whether the confidence of a row is in a range; of several labels, that of one, or of any of them. */
  between({ of, label, from, to }) {
    const { size } = this.task.chances(this, of), confidence = this.confidence[of], isBetween = p => p <= to && (from === 0 || p > from)
    return row => (label < 0 ? confidence.subarray(row * size, (row + 1) * size).some(isBetween) : isBetween(confidence[row * size + label]))
  }

  differs(k, how) {
    const [first, second] = this.predicted
    if (how === "differ") return !first.isSame(second, k)
    if (how === "agree") return first.isSame(second, k)
    const [yes, no] = how === "first" ? [0, 1] : [1, 0]
    return this.isRight(k, yes) && !this.isRight(k, no)
  }

  /** The rows that pass, in the order asked for. */
  select(filter, found) {
    const mask = this.mask(filter, found), rows = new Int32Array(mask.reduce((sum, one) => sum + one, 0))
    let at = 0
    for (let k = 0; k < this.rows; k++) if (mask[k]) rows[at++] = k
    const [, sign, value] = this.orders(filter)[filter.sort] ?? []
    return sign ? rows.sort((a, b) => sign * (value(a) - value(b)) || a - b) : rows
  }

  /** Take back what needs an aspect or a label that a filter does not name. */
  fit(filter) {
    if (filter.aspect < 0) filter.says = ""
    if (!(filter.sort in this.orders(filter))) filter.sort = ""
    return filter
  }

  /** Ways to sort the rows: {key: [text, sign, value of a row]}. */
  orders(filter) {
    const { aspect } = filter, found = this.task.orders(this, filter.of, labelOf(filter))
    if (aspect < 0) return found
    const name = this.aspects.names[aspect], effect = row => this.aspects.effect(row, aspect)
    return { ...found, worst: [`${name}: lowest first`, 1, effect], best: [`${name}: highest first`, -1, effect] }
  }

  /** For each aspect, over the rows of a mask: how many mention it, {mentioned, mean, praised, blamed}. */
  aspectSummary(mask) {
    return this.aspects.names.map((_, aspect) => {
      let mentioned = 0, sum = 0, praised = 0, blamed = 0
      for (let k = 0; k < this.rows; k++) {
        if (!mask[k] || !this.aspects.says(k, aspect, "")) continue
        const effect = this.aspects.effect(k, aspect)
        mentioned++
        sum += effect
        praised += effect > 0
        blamed += effect < 0
      }
      return { mentioned, mean: mentioned ? sum / mentioned : 0, praised, blamed }
    })
  }

  /** What the counts of a figure are of, where some rows were learnt from and a filter does not say which it takes. */
  countsOf(filter) {
    if (!this.learnt || filter.learnt) return ""
    return `Counted over all rows, of which ${number(this.learnt.reduce((sum, one) => sum + one, 0))} were learnt from: better than on new texts.`
  }

  /** counts[true][predicted]. */
  confusion(mask, of) {
    const counts = this.labels.map(() => new Int32Array(this.labels.length)), truth = this.truth.values, predicted = this.predicted[of].values
    for (let k = 0; k < this.rows; k++) if (mask[k]) counts[truth[k]][predicted[k]]++
    return counts
  }

  /** For each label {real, predicted, right}: how many rows have it, are given it, and both. */
  counts(mask, of) {
    const counts = this.labels.map(() => ({ real: 0, predicted: 0, right: 0 })), predicted = this.predicted[of]
    for (let row = 0; row < this.rows; row++) {
      if (!mask[row]) continue
      for (const k of predicted.of(row)) counts[k].predicted++
      for (const k of this.truth?.of(row) ?? []) {
        counts[k].real++
        counts[k].right += predicted.has(row, k)
      }
    }
    return counts
  }

  /** By which rows are coloured, as MapView takes it. */
  groups(kind, of) {
    if (kind !== "right") return this.task.groups(this, kind, of)
    return { values: Int32Array.from({ length: this.rows }, (_, k) => (this.isRight(k, of) ? 0 : 1)), names: ["right", "wrong"] }
  }

  /** For each bin of confidence {count, right, confidence}, the last two as sums; of several labels, of one or of all together. */
  calibration(mask, of, label = -1) {
    const bins = Array.from({ length: BINS }, () => ({ count: 0, right: 0, confidence: 0 })), { size, isTrue } = this.task.chances(this, of)
    const [first, last] = label < 0 ? [0, size] : [label, label + 1]
    for (let row = 0; row < this.rows; row++) {
      if (!mask[row]) continue
      for (let k = first; k < last; k++) {
        const confidence = this.confidence[of][row * size + k]
        if (Number.isNaN(confidence)) continue
        const bin = bins[Math.min(BINS - 1, Math.max(0, Math.ceil(confidence * BINS) - 1))]
        bin.count++
        bin.confidence += confidence
        if (this.truth && isTrue(row, k)) bin.right++
      }
    }
    return bins
  }
}

/** The label that filters name, by which several labels are judged and sorted; -1 if they name none. */
function labelOf({ truth, predicted }) {
  return truth >= 0 ? truth : predicted
}

function isInside([x0, y0, x1, y1], x, y) {
  return x >= x0 && y >= y0 && x <= x1 && y <= y1
}

/** The lowest and the highest number of some columns. */
function limitsOf(columns) {
  let low = Infinity, high = -Infinity
  for (const { values } of columns) {
    for (const value of values) {
      low = Math.min(low, value)
      high = Math.max(high, value)
    }
  }
  return [low, high]
}

/** What each row says about each aspect (serve/explorer/explored.py). */
class AspectTable {
  constructor({ names, unit }, { aspectSums, aspectEffects, clauseEffects, clauseSpans }) {
    Object.assign(this, { names, unit, sums: aspectSums.values, effects: aspectEffects.values, clauseEffects: clauseEffects.values, spans: clauseSpans.values })
  }

  effect(row, aspect) {
    return this.effects[row * this.names.length + aspect]
  }

  clauseEffect(row, aspect) {
    return this.clauseEffects[row * this.names.length + aspect]
  }

  /** Where its clause with the largest effect is, in characters of Python's; an empty place if it is not mentioned. */
  span(row, aspect) {
    const at = 2 * (row * this.names.length + aspect)
    return [this.spans[at], this.spans[at + 1]]
  }

  says(row, aspect, how) {
    const [start, end] = this.span(row, aspect), effect = this.effect(row, aspect)
    if (how === "not" || end === start) return how === "not" && end === start
    return how === "praised" ? effect > 0 : how === "blamed" ? effect < 0 : true
  }

  /** As aspects.js has it, for a page that cannot work it out: of each aspect the clause with the largest effect. */
  ofRow(row, text) {
    const place = places(text), [bias, rest] = this.sums.subarray(2 * row, 2 * row + 2)
    const aspects = this.names.map((name, k) => {
      const [start, end] = this.span(row, k), mentioned = end > start
      return { name, mentioned, effect: this.effect(row, k), clauses: mentioned ? [{ start: place(start), end: place(end), effect: this.clauseEffect(row, k) }] : [] }
    })
    return { text, unit: this.unit, bias, rest, answer: aspects.reduce((sum, { effect }) => sum + effect, bias + rest), aspects }
  }
}
