// Rows of data with what one or two models predict for them, in typed arrays: filters and counts take milliseconds.

import { places } from "./edits.js"

export const BINS = 10 // of confidence
export const ALL = Object.freeze({ of: 0, right: "", truth: -1, predicted: -1, from: 0, to: 1, find: "", differ: "", box: null, aspect: -1, says: "", sort: "" })
const AT_ONCE = 200 // texts of a request

export class Table {
  /** `fetchTexts(rows)` and `find(words)`, the rows that have them, are promises. */
  constructor({ name, rows, ofRows, labels, models, aspects, arrays }, fetchTexts, find) {
    Object.assign(this, { name, rows, ofRows, labels, models, fetchTexts, find })
    const each = kind => Array.from({ length: models }, (_, k) => arrays[`${kind}${k}`].values)
    this.predicted = each("predicted")
    this.confidence = each("confidence")
    this.truth = arrays.truth?.values
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

  isRight(row, of) {
    return this.truth[row] === this.predicted[of][row]
  }

  /** 1 for each row that passes; `found`: 1 for each row with the words looked for; filters in `without` do not count. */
  mask(filter, found, without = []) {
    const f = { ...filter }
    for (const name of without) f[name] = ALL[name]
    const { truth, places } = this, predicted = this.predicted[f.of], confidence = this.confidence[f.of]
    const out = new Uint8Array(this.rows)
    for (let k = 0; k < this.rows; k++) {
      if (found && !found[k]) continue
      if (f.truth >= 0 && truth[k] !== f.truth) continue
      if (f.predicted >= 0 && predicted[k] !== f.predicted) continue
      if (f.right && (truth[k] === predicted[k]) !== (f.right === "right")) continue
      if (confidence[k] > f.to || (f.from > 0 && confidence[k] <= f.from)) continue
      if (f.differ && !this.differs(k, f.differ)) continue
      if (f.aspect >= 0 && !this.aspects.says(k, f.aspect, f.says)) continue
      if (f.box && !(places[2 * k] >= f.box[0] && places[2 * k + 1] >= f.box[1] && places[2 * k] <= f.box[2] && places[2 * k + 1] <= f.box[3])) continue
      out[k] = 1
    }
    return out
  }

  differs(k, how) {
    const [first, second] = this.predicted
    if (how === "differ") return first[k] !== second[k]
    if (how === "agree") return first[k] === second[k]
    const [yes, no] = how === "first" ? [first, second] : [second, first]
    return yes[k] === this.truth[k] && no[k] !== this.truth[k]
  }

  /** The rows that pass, in the order asked for. */
  select(filter, found) {
    const mask = this.mask(filter, found), rows = new Int32Array(mask.reduce((sum, one) => sum + one, 0))
    let at = 0
    for (let k = 0; k < this.rows; k++) if (mask[k]) rows[at++] = k
    if (!filter.sort) return rows
    const confidence = this.confidence[filter.of], sign = ["least", "worst"].includes(filter.sort) ? 1 : -1
    const value = isByAspect(filter.sort) ? row => this.aspects.effect(row, filter.aspect) : row => confidence[row]
    return rows.sort((a, b) => sign * (value(a) - value(b)) || a - b)
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

  /** counts[true][predicted]; without labels, counts[0][predicted]. */
  confusion(mask, of) {
    const counts = Array.from({ length: this.truth ? this.labels.length : 1 }, () => new Int32Array(this.labels.length))
    for (let k = 0; k < this.rows; k++) if (mask[k]) counts[this.truth ? this.truth[k] : 0][this.predicted[of][k]]++
    return counts
  }

  /** For each bin of confidence {count, right, confidence}, the last two as sums. */
  calibration(mask, of) {
    const bins = Array.from({ length: BINS }, () => ({ count: 0, right: 0, confidence: 0 }))
    for (let k = 0; k < this.rows; k++) {
      if (!mask[k]) continue
      const confidence = this.confidence[of][k], bin = bins[Math.min(BINS - 1, Math.max(0, Math.ceil(confidence * BINS) - 1))]
      bin.count++
      bin.confidence += confidence
      if (this.truth && this.isRight(k, of)) bin.right++
    }
    return bins
  }
}

/** Whether an order is that of an aspect's effect. */
export function isByAspect(sort) {
  return sort === "best" || sort === "worst"
}

/** What each row says about each aspect (serve/aspect_table.py). */
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
