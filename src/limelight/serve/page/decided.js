// What decided: how much of the predicted class's logit comes from each word (runtime/decided.py has the why).

import { addTimes, largest, transposed } from "./network.js"

/** W for each M, (rows of 2u): <W, M>, summed over both texts, is the logit of class `k` without biases. */
export function linearPart(network, k, M, M2, units) {
  if (!M2) return [ofHead(network, k, M, units)]
  if (network.recipe.pair !== "gated") {
    const W = ofHead(network, k, network.features(M, M2), units)
    if (network.recipe.pair !== "vectors") return ofConcat(W, M, M2)
    const first = network.scaledVector(M), second = network.scaledVector(M2)
    const [U, V] = ofConcat(W, [first.v], [second.v])
    return [ofVector(network, U[0], first.scale, M.length), ofVector(network, V[0], second.scale, M.length)]
  }
  const first = network.grouped(M, "gate.W_fp"), second = network.grouped(M2, "gate.W_fh")
  const W = ofHead(network, k, network.features(M, M2), units)
  const half = (name, other) => back(network, W.map((row, r) => row.map((x, i) => x * other[r][i] / 2)), name)
  return [half("gate.W_fp", second), half("gate.W_fh", first)]
}

/** From weights W of the features [u; v; |u-v|; u*v] to those of u and of v. */
function ofConcat(W, u, v) {
  const part = (row, q) => W[row].subarray(q * u[row].length, (q + 1) * u[row].length)
  const change = (r, i) => Math.sign(u[r][i] - v[r][i]) * part(r, 2)[i]
  return [
    u.map((row, r) => row.map((_, i) => part(r, 0)[i] + change(r, i) + v[r][i] * part(r, 3)[i] / 2)),
    u.map((row, r) => row.map((x, i) => part(r, 1)[i] - change(r, i) + x * part(r, 3)[i] / 2)),
  ]
}

/** From weights of a vector to those of the M it is of, row by row. */
function ofVector(network, weights, scale, rows) {
  const own = split(lines(network, "vector.W_rows", weights.map(x => x * scale)), rows)
  return own.map(row => lines(network, "vector.W_shared", row))
}

/** The weight of each word: the sum over rows of A_rt <W_r, h_t>; of a max-pooled row, the units it won. */
export function wordWeights({ n, H, A }, W, size, maxRows) {
  const found = new Float32Array(n), attention = A.length - maxRows
  for (let r = 0; r < attention; r++) {
    for (let t = 0; t < n; t++) found[t] += A[r][t] * dot(W[r], H.subarray(t * size, (t + 1) * size))
  }
  if (maxRows) largest(H, n, size).forEach((t, i) => { found[t] += W[attention][i] * H[t * size + i] })
  return found
}

/** The weight of each row: <W_r, M_r>. */
export function rowWeights(W, M) {
  return M.map((row, r) => dot(W[r], row))
}

/** The same shape as the features F. */
function ofHead(network, k, F, { hidden, v, h, mix }) {
  const { head } = network.recipe
  if (head === "linear") return split(line(network, "head.W_o", k), F.length)
  if (head === "full") {
    return split(throughUnits(network, line(network, "head.W_2", k), hidden, "head.W_1"), F.length)
  }
  let W = line(network, "head.W_o", k)
  if (mix) W = throughUnits(network, W, mix, "head.W_m")
  const total = F.map(row => new Float32Array(row.length))
  let start = 0
  const take = before => before.map(row => row.map(x => (x > 0 ? W[start++] : (start++, 0))))
  if (v.length) addAll(total, back(network, take(v), "head.W_v_0"))
  if (h.length) addAll(total, transposed(back(network, take(h), "head.W_h_0")))
  return total
}

/** Row k of a matrix. */
function line(network, name, k) {
  const { shape: [, columns], values } = network.tensors[name]
  return values.subarray(k * columns, (k + 1) * columns)
}

/** The lines of W of the units that are on, weighted and added. */
function throughUnits(network, weights, before, name) {
  return lines(network, name, weights.map((x, j) => (before[j] > 0 ? x : 0)))
}

/** The lines of a matrix, weighted and added. */
function lines(network, name, weights) {
  const { shape: [, columns], values } = network.tensors[name]
  const out = new Float32Array(columns)
  weights.forEach((x, j) => { if (x) addTimes(out, x, values, j * columns) })
  return out
}

/** Each row of X (groups of out) times the transposed weights of its group. */
function back(network, X, name) {
  const { shape: [, from, to], values } = network.tensors[name]
  return X.map((row, g) => Float32Array.from({ length: from }, (_, k) =>
    dot(row, values.subarray((g * from + k) * to, (g * from + k + 1) * to))))
}

function addAll(total, part) {
  total.forEach((row, r) => addTimes(row, 1, part[r], 0))
}

function split(values, rows) {
  const size = values.length / rows
  return Array.from({ length: rows }, (_, r) => values.subarray(r * size, (r + 1) * size))
}

export function dot(a, b) {
  let sum = 0
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k]
  return sum
}
