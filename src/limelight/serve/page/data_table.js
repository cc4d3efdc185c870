// Rows of data with what one or two models predict for them, in typed arrays: filters and counts take milliseconds.

export const BINS = 10 // of confidence
export const ALL = Object.freeze({ of: 0, right: "", truth: -1, predicted: -1, from: 0, to: 1, find: "", differ: "", box: null, sort: "" })
const AT_ONCE = 200 // texts of a request

export class Table {
  /** `fetchTexts(rows)` and `find(words)`, the rows that have them, are promises. */
  constructor({ name, rows, ofRows, labels, models, arrays }, fetchTexts, find) {
    Object.assign(this, { name, rows, ofRows, labels, models, fetchTexts, find })
    const each = kind => Array.from({ length: models }, (_, k) => arrays[`${kind}${k}`].values)
    this.predicted = each("predicted")
    this.confidence = each("confidence")
    this.truth = arrays.truth?.values
    this.places = arrays.places.values // x, y, x, y, ...
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
    const confidence = this.confidence[filter.of], sign = filter.sort === "least" ? 1 : -1
    return rows.sort((a, b) => sign * (confidence[a] - confidence[b]) || a - b)
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
