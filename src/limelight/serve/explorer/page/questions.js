// What is asked as a function f of the logits (text/questions.py): {value, slope}, f and its gradient.

import { softmax } from "./network.js"

export const sigmoid = x => 1 / (1 + Math.exp(-x))
const precise = z => softmax(Float64Array.from(z))

/** Of class k, one of several that exclude each other. */
export function probability(k) {
  return {
    value: z => precise(z)[k],
    slope: z => { const p = precise(z); return p.map((x, j) => p[k] * ((j === k) - x)) },
  }
}

/** Of class k if only k and `other` were possible; of a single label, without `other`. */
export function between(k, other) {
  const value = z => sigmoid(z[k] - (z[other] ?? 0))
  return { value, slope: z => { const p = value(z); return Float64Array.from(z, (_, j) => p * (1 - p) * ((j === k) - (j === other))) } }
}

/** The mean of ordered classes. */
export function meanOf(values) {
  const of = p => p.reduce((sum, x, j) => sum + x * values[j], 0)
  return { value: z => of(precise(z)), slope: z => { const p = precise(z), m = of(p); return p.map((x, j) => x * (values[j] - m)) } }
}

/** The number itself. */
export const NUMBER = { value: z => z[0], slope: z => Float64Array.from(z, (_, j) => Number(j === 0)) }
