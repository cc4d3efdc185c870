// What decided: how much of an answer, asked as questions.js has it, rests on each word (runtime/decided.py has the why).

import { addTimes, largest, transposed } from "./network.js"

const LITTLE = 1e-3 // attention on all words but one
const AT_ONCE = 64 // words left out: for each there is an M in memory
const POINTS = 256 // on the way from the logits that no word gives, for each 60 that they are apart

/** What decided in a text: the weights of its words (n) and rows (r), from M without the rows in `off`, and the bias: what is asked, without a word. */
export function decideText(network, units, asked, side, M, off) {
  const direction = mean(asked, noWords(network, units), units.logits)
  const W = withZeros(linearPart(network, direction, M, units), off), rows = M.map((row, r) => dot(W[r], row))
  const bias = rows.reduce((left, weight) => left - weight, asked.value(units.logits))
  return { words: wordWeights(side, W, network.size, network.maxRows), rows, bias }
}

/** The same for each text of a pair: what is lost without a word, or without a row of both, half in each. */
export function decidePair(network, { logits }, asked, sides, M, off) {
  const losses = (count, changed) => {
    const found = []
    while (found.length < count) {
      const some = Array.from({ length: Math.min(AT_ONCE, count - found.length) }, (_, i) => changed(found.length + i))
      found.push(...network.classify(some).map(without => asked.value(logits) - asked.value(without.logits)))
    }
    return found
  }
  const rows = losses(M[0].length, r => M.map(each => withZeros(each, [r]))).map(loss => loss / 2)
  return sides.map((side, s) => {
    const without = leaveOut(side, network.size, network.maxRows)
    return { words: losses(side.n, t => M.map((each, i) => (i === s ? withZeros(without(t), off) : each))), rows }
  })
}

/** The mean of the gradient on the straight way between two logits. */
function mean(asked, from, to) {
  const sum = new Float64Array(to.length), apart = Math.max(...to.map((z, k) => Math.abs(z - from[k])))
  const points = POINTS * Math.min(Math.max(Math.ceil(apart / 60), 1), 64)
  for (let i = 0; i < points; i++) {
    const share = (i + 0.5) / points
    addTimes(sum, 1 / points, asked.slope(to.map((z, k) => from[k] + share * (z - from[k]))), 0)
  }
  return sum
}

/** The logits that no word gives: those of the biases, through the units that are on. */
function noWords(network, { hidden, v, h, mix }) {
  const { head } = network.recipe, b = name => network.vector(`head.${name}`)
  const through = (x, name, bias) => b(bias).map((start, j) => start + dot(line(network, `head.${name}`, j), x))
  if (head === "linear") return b("b_o")
  if (head === "full") return through(hidden.map((x, j) => (x > 0 ? b("b_1")[j] : 0)), "W_2", "b_2")
  const alone = (before, name) => before.flatMap(row => [...row]).map((x, j) => (x > 0 ? b(name)[j] : 0))
  let units = Float32Array.from([...alone(v, "b_v_0"), ...alone(h, "b_h_0")])
  if (mix) units = through(units, "W_m", "b_m").map((x, j) => (mix[j] > 0 ? x : 0))
  return through(units, "W_o", "b_o")
}

/** M with some of its rows zero. */
export function withZeros(M, off) {
  return M.map((row, r) => (off.includes(r) ? new Float32Array(row.length) : row))
}

/** t -> M (r of 2u) without word t: attention on the other words scaled to 1, of a maximum the next best word. */
function leaveOut({ n, H, A, M }, size, maxRows) {
  const attention = A.slice(0, A.length - maxRows), sums = attention.map(row => row.reduce((a, b) => a + b, 0))
  const winners = maxRows && largest(H, n, size), second = maxRows && nextBest(H, n, size, winners)
  return t => {
    const h = H.subarray(t * size, (t + 1) * size)
    const rows = attention.map((row, r) => {
      const left = sums[r] - row[t]
      return left < LITTLE ? meanOfOthers(row, t, H, n, size) : M[r].map((x, i) => (x - row[t] * h[i]) / left)
    })
    return maxRows ? [...rows, M[attention.length].map((x, i) => (winners[i] === t ? second[i] : x))] : rows
  }
}

/** A row's mean of the other words, summed up: of little attention a difference would lose the digits. */
function meanOfOthers(row, t, H, n, size) {
  const mean = new Float32Array(size), left = row.reduce((sum, a, s) => (s === t ? sum : sum + a), 0) || 1
  for (let s = 0; s < n; s++) if (s !== t) addTimes(mean, row[s] / left, H, s * size)
  return mean
}

/** The second largest number of each column of H (n, size); 0 if there is no second. */
function nextBest(H, n, size, winners) {
  return Float32Array.from(winners, (winner, i) => {
    let best = n > 1 ? -Infinity : 0
    for (let t = 0; t < n; t++) if (t !== winner) best = Math.max(best, H[t * size + i])
    return best
  })
}

/** The weight of each word: the sum over rows of A_rt <W_r, h_t>; of a max-pooled row, the units it won. */
function wordWeights({ n, H, A }, W, size, maxRows) {
  const found = new Float32Array(n), attention = A.length - maxRows
  for (let r = 0; r < attention; r++) {
    for (let t = 0; t < n; t++) found[t] += A[r][t] * dot(W[r], H.subarray(t * size, (t + 1) * size))
  }
  if (maxRows) largest(H, n, size).forEach((t, i) => { found[t] += W[attention][i] * H[t * size + i] })
  return found
}

/** W (rows of 2u): <W, M> is <direction, logits> of a single text without biases. */
function linearPart(network, direction, M, { hidden, v, h, mix }) {
  const { head } = network.recipe
  if (head === "linear") return split(mixed(network, "head.W_o", direction), M.length)
  if (head === "full") {
    return split(throughUnits(network, mixed(network, "head.W_2", direction), hidden, "head.W_1"), M.length)
  }
  let W = mixed(network, "head.W_o", direction)
  if (mix) W = throughUnits(network, W, mix, "head.W_m")
  const total = M.map(row => new Float32Array(row.length))
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

/** The rows of a matrix, weighted and added. */
function mixed(network, name, weights) {
  const { shape: [, columns], values } = network.tensors[name], out = new Float32Array(columns)
  weights.forEach((weight, k) => addTimes(out, weight, values, k * columns))
  return out
}

/** The lines of W of the units that are on, weighted and added. */
function throughUnits(network, weights, before, name) {
  const { shape: [units, columns], values } = network.tensors[name]
  const out = new Float32Array(columns)
  for (let j = 0; j < units; j++) if (before[j] > 0) addTimes(out, weights[j], values, j * columns)
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
