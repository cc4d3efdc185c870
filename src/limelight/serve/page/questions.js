// From logits to outputs, and what is asked as a function f of the logits, by task (network/outputs.py, reading/questions.py).

import { softmax } from "./network.js"

const sigmoid = x => 1 / (1 + Math.exp(-x))
const precise = z => softmax(Float64Array.from(z))

const ACTIVATIONS = { classification: softmax, ordinal: softmax, "multi-label": z => z.map(sigmoid), regression: z => z }

/** Probabilities, or the number. */
export function activate({ task }, logits) {
  return [...ACTIVATIONS[task](logits)]
}

/** {value, slope}: f and its gradient, of what `explained` (tasks.js) says: a class, one beside another alone, or the mean of ordered ones. */
export function question({ task, values }, { target, label, against }) {
  if (against !== null) return between(target, against)
  const ordinal = () => (label === null ? mean(values) : probability(target))
  return { classification: () => probability(target), ordinal, "multi-label": () => between(target), regression: () => NUMBER }[task]()
}

function probability(k) {
  return {
    value: z => precise(z)[k],
    slope: z => { const p = precise(z); return p.map((x, j) => p[k] * ((j === k) - x)) },
  }
}

/** Of class k if only k and `other` were possible; of a single label, without `other`. */
function between(k, other) {
  const value = z => sigmoid(z[k] - (z[other] ?? 0))
  return { value, slope: z => { const p = value(z); return Float64Array.from(z, (_, j) => p * (1 - p) * ((j === k) - (j === other))) } }
}

/** The mean of ordered classes. */
function mean(values) {
  const of = p => p.reduce((sum, x, j) => sum + x * values[j], 0)
  return { value: z => of(precise(z)), slope: z => { const p = precise(z), m = of(p); return p.map((x, j) => x * (values[j] - m)) } }
}

const NUMBER = { value: z => z[0], slope: z => Float64Array.from(z, (_, j) => Number(j === 0)) }
