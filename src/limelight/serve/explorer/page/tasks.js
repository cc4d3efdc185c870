// The tasks, one entry each (text/tasks.py): how an answer is decided, explained and told, and how the page shows rows of data.

import { percent, short } from "../../page/dom.js"
import { softmax } from "./network.js"
import { between, meanOf, NUMBER, probability, sigmoid } from "./questions.js"

export const NO_LABEL = "no label"

/** One value for each row: the number of a class, or a number. */
class Values {
  constructor(values) {
    this.values = values
  }

  has(row, k) {
    return this.values[row] === k
  }

  of(row) {
    return [this.values[row]]
  }

  isSame(other, row) {
    return this.values[row] === other.values[row]
  }
}

/** Any number of labels for each row: values (rows, labels). */
class Sets {
  constructor(values, size) {
    Object.assign(this, { values, size })
  }

  has(row, k) {
    return this.values[row * this.size + k] === 1
  }

  of(row) {
    return Array.from({ length: this.size }, (_, k) => k).filter(k => this.has(row, k))
  }

  isSame(other, row) {
    for (let at = row * this.size; at < (row + 1) * this.size; at++) if (this.values[at] !== other.values[at]) return false
    return true
  }
}

/** One class, the most probable. */
class OneClass {
  figures = ["confusion", "classes", "calibration", "map", "aspects"]
  one = "class"
  many = "classes"
  amount = "" // what words raise or lower, where that is not a probability
  asks = "against" // what a click on another class asks for, as /explain calls it
  lead = "; click a class to see why it was not chosen"

  /** Probabilities, or the number, from logits. */
  activate(logits) {
    return [...softmax(logits)]
  }

  decide(P) {
    return P.indexOf(Math.max(...P))
  }

  /** What is asked, of what `explained` says: a class, one beside another alone, or the task's own. */
  question(about, explained) {
    return explained.against === null ? this.asked(about, explained) : between(explained.target, explained.against)
  }

  asked(about, { target }) {
    return probability(target)
  }

  /** The class that what decided is about, `target`, and the one against which, from those that were asked for: null where none was. */
  explained(P, about, { label = null, against = null } = {}) {
    const predicted = this.decide(P), target = label ?? predicted
    return { predicted, target, label, against: against === target ? null : against }
  }

  /** The numbers of the classes that are the answer. */
  given(P) {
    return [this.decide(P)]
  }

  /** The answer in the user's words, and what is said after it. */
  tell({ probabilities: P }, about) {
    return [this.given(P, about).map(k => about.labels[k]).join(", ") || NO_LABEL, percent(P[this.decide(P)])]
  }

  column(values) {
    return new Values(values)
  }

  /** [name, what is said after it] of each label of a row. */
  ofRow({ labels, predicted, confidence }, row, of) {
    return [[labels[predicted[of].values[row]], ` ${percent(confidence[of][row], 0)}`]]
  }

  truth({ labels, truth }, row) {
    return truth.of(row).map(k => labels[k]).join(", ") || NO_LABEL
  }

  isRight({ truth, predicted }, row, of) {
    return truth.isSame(predicted[of], row)
  }

  /** How many probabilities a row has, and whether what one of them is about is so. */
  chances(table, of) {
    return { size: 1, isTrue: row => table.isRight(row, of) }
  }

  /** How good the predictions are, in a few words. */
  score(table, of) {
    return `${percent(mean(table, row => Number(table.isRight(row, of))), 2)} ${table.rows < table.ofRows && !table.learnt ? "of these " : ""}right`
  }

  /** Ways to sort the rows, for the label that the filters name: {key: [text, sign, value of a row]}. */
  orders({ confidence }, of) {
    const value = row => confidence[of][row]
    return { least: ["least certain first", 1, value], most: ["most certain first", -1, value] }
  }

  /** The group of each row, which has one colour on the map: {values, names, isOrdered}. */
  groups({ labels, truth, predicted }, kind, of) {
    return { values: (kind === "truth" ? truth : predicted[of]).values, names: labels }
  }
}

/** Classes in an order: the median, and their mean. */
class OrderedClass extends OneClass {
  amount = "mean"
  isOrdered = true

  decide(P) {
    let sum = 0
    const place = P.slice(0, -1).findIndex(p => (sum += p) >= 0.5)
    return place < 0 ? P.length - 1 : place // the last sum is 1, whatever the rounding
  }

  asked(about, explained) {
    return explained.label === null ? meanOf(about.values) : super.asked(about, explained)
  }

  mean(P, { values }) {
    return P.reduce((sum, p, k) => sum + p * values[k], 0)
  }

  tell(now, about) {
    const [name, share] = super.tell(now, about)
    return [name, `${share} · mean ${signed(this.mean(now.probabilities, about).toFixed(2))}`]
  }

  ofRow(table, row, of) {
    return [...super.ofRow(table, row, of), [`mean ${signed(table.means[of][row].toFixed(2))}`, ""]]
  }

  /** How far the mean is from the true class. */
  error({ truth, means, values }, row, of) {
    return Math.abs(means[of][row] - values[truth.values[row]])
  }

  score(table, of) {
    const classes = row => Math.abs(table.predicted[of].values[row] - table.truth.values[row]) // as `limelight evaluate` has it
    return `${super.score(table, of)}, mean error ${mean(table, classes).toFixed(3)}`
  }

  orders(table, of) {
    return { ...super.orders(table, of), ...amountOrders(this, table, of, row => table.means[of][row]) }
  }

  groups(...given) {
    return { ...super.groups(...given), isOrdered: true }
  }
}

/** Every label whose probability reaches its threshold. */
class SeveralLabels extends OneClass {
  figures = ["classes", "calibration", "map"]
  hasSeveral = true
  one = "label"
  many = "labels"
  asks = "label"
  lead = "; click a label to see which words speak for it"

  activate(logits) {
    return Array.from(logits, sigmoid)
  }

  asked(about, { target }) {
    return between(target)
  }

  threshold({ thresholds }, k) {
    return thresholds?.[k] ?? 0.5
  }

  given(P, about) {
    return [...P.keys()].filter(k => P[k] >= this.threshold(about, k))
  }

  /** The label furthest above its threshold, whether it reaches that or not. */
  explained(P, about, { label = null } = {}) {
    const above = P.map((p, k) => p - this.threshold(about, k)), target = label ?? above.indexOf(Math.max(...above))
    return { predicted: target, target, label, against: null }
  }

  tell({ probabilities: P }, about) {
    return [this.given(P, about).map(k => about.labels[k]).join(", ") || NO_LABEL, ""]
  }

  column(values, size) {
    return new Sets(values, size)
  }

  ofRow({ labels, predicted, confidence }, row, of) {
    const found = predicted[of].of(row).map(k => [labels[k], ` ${percent(confidence[of][row * labels.length + k], 0)}`])
    return found.length ? found : [[NO_LABEL, ""]]
  }

  /** Of one label, or of all together. */
  isRight({ truth, predicted }, row, of, label) {
    return label < 0 ? truth.isSame(predicted[of], row) : truth.has(row, label) === predicted[of].has(row, label)
  }

  chances({ labels, truth }) {
    return { size: labels.length, isTrue: (row, k) => truth.has(row, k) }
  }

  score(table, of) {
    let right = 0, all = 0
    for (const each of table.counts(table.measured, of)) {
      right += each.right
      all += each.real + each.predicted
    }
    return `micro F1 ${(2 * right / Math.max(all, 1)).toFixed(3)}, all labels right for ${percent(mean(table, row => Number(table.isRight(row, of))), 2)}`
  }

  orders({ confidence, labels }, of, label) {
    if (label < 0) return {}
    const value = row => confidence[of][row * labels.length + label]
    return { most: [`${labels[label]}: most probable first`, -1, value], least: [`${labels[label]}: least probable first`, 1, value] }
  }

  /** By the first true label, or the surest that is given. */
  groups({ rows, labels, truth, predicted, confidence }, kind, of) {
    const size = labels.length, share = (row, k) => confidence[of][row * size + k]
    const first = kind === "truth" ? row => truth.of(row)[0] : row => predicted[of].of(row).sort((a, b) => share(row, b) - share(row, a))[0]
    return { values: Int32Array.from({ length: rows }, (_, row) => first(row) ?? size), names: [...labels, NO_LABEL] }
  }
}

const BINS = 6 // of numbers, by colour

/** The number itself. */
class AnyNumber extends OneClass {
  figures = ["scatter", "map", "aspects"]
  one = "number"
  many = "numbers"
  amount = "value"
  isNumber = true
  lead = ""

  activate(logits) {
    return [...logits]
  }

  decide() {
    return 0
  }

  asked() {
    return NUMBER
  }

  tell({ probabilities: [value] }) {
    return [short(value), ""]
  }

  ofRow({ predicted }, row, of) {
    return [[short(predicted[of].values[row]), ""]]
  }

  truth({ truth }, row) {
    return short(truth.values[row])
  }

  error({ truth, predicted }, row, of) {
    return Math.abs(predicted[of].values[row] - truth.values[row])
  }

  score(table, of) {
    const centre = mean(table, row => table.truth.values[row]), square = value => mean(table, row => value(row) ** 2)
    const variance = square(row => table.truth.values[row] - centre), r2 = variance ? 1 - square(row => this.error(table, row, of)) / variance : 0
    return `R² ${signed(r2.toFixed(3))}, mean error ${short(mean(table, row => this.error(table, row, of)))}`
  }

  orders(table, of) {
    return amountOrders(this, table, of, row => table.predicted[of].values[row])
  }

  /** By the part of the range that a number is in. */
  groups({ rows, truth, predicted, range: [low, high] }, kind, of) {
    const { values } = kind === "truth" ? truth : predicted[of], step = (high - low) / BINS || 1
    const names = Array.from({ length: BINS }, (_, k) => `${short(low + k * step)} to ${short(low + (k + 1) * step)}`)
    return { values: Int32Array.from({ length: rows }, (_, row) => Math.min(BINS - 1, Math.floor((values[row] - low) / step))), names, isOrdered: true }
  }
}

function amountOrders(task, table, of, value) {
  const error = table.truth && { off: ["furthest off first", -1, row => task.error(table, row, of)] }
  return { low: ["lowest first", 1, value], high: ["highest first", -1, value], ...error }
}

/** Over the rows that were not learnt from, if there are any. */
function mean({ measured }, value) {
  let sum = 0, count = 0
  measured.forEach((one, row) => {
    if (!one) return
    sum += value(row)
    count++
  })
  return sum / count
}

/** With a minus sign rather than a hyphen. */
export function signed(text) {
  return text.replace("-", "−")
}

const TASKS = { classification: new OneClass(), ordinal: new OrderedClass(), "multi-label": new SeveralLabels(), regression: new AnyNumber() }

export function taskOf({ task }) {
  return TASKS[task]
}
