// The network, one text at a time: the equations of limelight/network/, described in its parts.py.

import { Products } from "./kernel.js"

const CACHED = 2000 // words whose products with the input weights are kept: typing changes few words

/** The poolings, one entry each (POOLINGS of parts.py): A (r of n) of the rows of M that are A H, and whether a row of maxima follows. */
const POOLINGS = {
  "self-attention": { attention: (network, H, n) => network.attention(H, n), maxima: recipe => (recipe.max_row ? 1 : 0) },
  max: { attention: () => [], maxima: () => 1 },
}

export class Network {
  /** `tensors`: name -> {shape, values}; `words`: id -> its vector. */
  constructor(recipe, tensors, words) {
    this.recipe = recipe
    this.words = words
    this.tensors = tensors
    this.size = recipe.encoder === "words" ? recipe.projection || words(0).length : 2 * recipe.hidden // of a state
    this.pooling = POOLINGS[recipe.pooling]
    this.maxRows = this.pooling.maxima(recipe) // the last row of M
    const matrices = Object.entries(tensors).flatMap(matricesOf)
    this.products = new Products(matrices.map(([, rows, columns]) => [rows, columns]))
    this.matrices = {}
    for (const [name, rows, columns, values] of matrices) {
      this.matrices[name] = this.products.add(values, rows, columns)
    }
    this.inputs = new Map()
  }

  vector(name) {
    return this.tensors[name].values
  }

  /** ids (n) -> H (n, 2u), A (r, n), M (r, 2u); the encoder `words` has word vectors for states. */
  encode(ids) {
    const n = ids.length, { recipe, size } = this
    const H = recipe.encoder === "bilstm" ? this.bilstm(ids) : this.convolved(ids.map(id => this.word(id)))
    const A = this.pooling.attention(this, H, n), M = A.map(row => weightedSum(row, H, n, size))
    if (this.maxRows) {
      const winners = largest(H, n, size), share = new Float32Array(n)
      for (const t of winners) share[t] += 1 / size
      A.push(share)
      M.push(Float32Array.from(winners, (t, k) => H[t * size + k]))
    }
    return { n, H, A, M }
  }

  /** Equations 2 to 4. Each layer reads the words and the layers below it. */
  bilstm(ids) {
    const n = ids.length, u = this.recipe.hidden
    const below = [...ids].map(id => this.word(id)) // (n) of (d)
    let H
    for (let layer = 0; layer < this.recipe.layers; layer++) {
      H = new Float32Array(n * 2 * u)
      for (const side of [0, 1]) {
        const inputs = layer ? this.project(below, layer, side) : ids.map(id => this.firstInput(id, side))
        this.direction(inputs, layer, side, H)
      }
      for (let t = 0; t < n; t++) below[t] = joined(below[t], H.subarray(t * 2 * u, (t + 1) * 2 * u))
    }
    return H
  }

  /** Each word and its neighbours, with zeros outside the text; of the encoder `words`, the words alone. */
  convolved(S) {
    if (this.recipe.encoder === "words") return joined(...S)
    const none = new Float32Array(S[0].length), size = this.size
    const sides = [-1, 0, 1].map(far => joined(...S.map((_, t) => S[t + far] ?? none)))
    const parts = sides.map((X, k) => this.products.multiply(this.matrices[`encoder.W.${k}`], X, S.length))
    const bias = this.vector("encoder.b")
    return parts[0].map((x, k) => Math.max(0, x + parts[1][k] + parts[2][k] + bias[k % size]))
  }

  /** A word's vector, projected if the model does. */
  word(id) {
    const vector = this.words(id)
    if (!this.recipe.projection) return vector
    return relu(plus(this.products.multiply(this.matrices["projection.W"], vector, 1), this.vector("projection.b")))
  }

  /** W_ih x + b of a word. */
  firstInput(id, side) {
    const key = 2 * id + side
    if (!this.inputs.has(key)) {
      if (this.inputs.size > 2 * CACHED) this.inputs.clear()
      this.inputs.set(key, this.project([this.word(id)], 0, side)[0])
    }
    return this.inputs.get(key)
  }

  project(vectors, layer, side) {
    const gates = 4 * this.recipe.hidden
    const all = this.products.multiply(this.matrices[`encoder.W_ih_${layer}.${side}`], joined(...vectors), vectors.length)
    const bias = this.vector(`encoder.b_${layer}`).subarray(side * gates, (side + 1) * gates)
    return vectors.map((_, t) => plus(all.subarray(t * gates, (t + 1) * gates), bias))
  }

  /** One direction of one layer; gates in the order input, forget, cell, output. */
  direction(inputs, layer, side, H) {
    const u = this.recipe.hidden, n = inputs.length, W = this.matrices[`encoder.W_hh_${layer}.${side}`]
    const h = new Float32Array(u), c = new Float32Array(u), gates = new Float32Array(4 * u)
    for (let step = 0; step < n; step++) {
      const t = side ? n - 1 - step : step, x = inputs[t]
      this.products.multiply(W, h, 1, gates)
      for (let k = 0; k < u; k++) {
        const i = sigmoid(gates[k] + x[k]), f = sigmoid(gates[u + k] + x[u + k])
        c[k] = f * c[k] + i * Math.tanh(gates[2 * u + k] + x[2 * u + k])
        h[k] = sigmoid(gates[3 * u + k] + x[3 * u + k]) * Math.tanh(c[k])
      }
      H.set(h, t * 2 * u + side * u)
    }
  }

  /** Equation 6: A = softmax(W_s2 tanh(W_s1 H^T)), row by row. */
  attention(H, n) {
    const { products, matrices, recipe } = this
    const d = matrices["pooling.W_s1"].rows, r = recipe.rows
    const hidden = products.multiply(matrices["pooling.W_s1"], H, n)
    if (recipe.author_code) for (let t = 0; t < n; t++) plus(hidden.subarray(t * d, (t + 1) * d), this.vector("pooling.b_s1"))
    const scores = products.multiply(matrices["pooling.W_s2"], hidden.map(Math.tanh), n) // (n, r)
    // a bias of W_s2 is the same for all words of a row: softmax takes no notice
    return Array.from({ length: r }, (_, k) => softmax(Float32Array.from({ length: n }, (_, t) => scores[t * r + k])))
  }

  // ------------------------------------------------------------ M to a label

  /** What the head makes of texts or pairs, each [M] or [M, M2] (r of 2u): its units before each ReLU, its logits. */
  classify(given) {
    const { head, row_units: rowUnits, column_units: columnUnits, mix_units: mixUnits } = this.recipe
    const F = this.features(given), flat = () => F.map(each => joined(...each))
    if (head === "linear") return this.dense(flat(), "head.W_o", "head.b_o").map(logits => ({ logits }))
    if (head === "full") {
      const hidden = this.dense(flat(), "head.W_1", "head.b_1")
      return this.dense(hidden.map(relu), "head.W_2", "head.b_2").map((logits, i) => ({ hidden: hidden[i], logits }))
    }
    const v = rowUnits ? this.grouped(F, "head.W_v_0", "head.b_v_0") : F.map(() => [])
    const h = columnUnits ? this.grouped(F.map(transposed), "head.W_h_0", "head.b_h_0") : F.map(() => [])
    let units = F.map((_, i) => relu(joined(...v[i], ...h[i]))), mix = []
    if (mixUnits) {
      mix = this.dense(units, "head.W_m", "head.b_m")
      units = mix.map(relu)
    }
    return this.dense(units, "head.W_o", "head.b_o").map((logits, i) => ({ v: v[i], h: h[i], mix: mix[i], logits }))
  }

  /** The features (rows of size) of each [M] or [M, M2]. */
  features(given) {
    if (given[0].length === 1) return given.map(([M]) => M)
    if (this.recipe.pair === "vectors") given = given.map(both => both.map(M => [this.scaledVector(M)]))
    if (this.recipe.pair !== "gated") return given.map(([M, M2]) => M.map((row, r) => compared(row, M2[r])))
    const first = this.grouped(given.map(([M]) => M), "gate.W_fp")
    const second = this.grouped(given.map(([, M2]) => M2), "gate.W_fh")
    return first.map((F, i) => F.map((row, r) => row.map((x, k) => x * second[i][r][k])))
  }

  /** One vector for M, as a reader gives it. */
  oneVector(M) {
    const { products, matrices } = this
    const rows = products.multiply(matrices["vector.W_shared"], joined(...M), M.length)
    return products.multiply(matrices["vector.W_rows"], rows, 1)
  }

  /** The same, with a mean square of 1. */
  scaledVector(M) {
    const v = this.oneVector(M)
    const scale = Math.sqrt(v.length) / Math.max(Math.hypot(...v), 1e-12)
    return v.map(x => x * scale)
  }

  /** Each of the vectors times W, plus a bias. */
  dense(vectors, W, b) {
    return this.products.multiplyEach(this.matrices[W], vectors).map(out => plus(out, this.vector(b)))
  }

  /** Each row of every X times the weights of its own group, W (groups, in, out). */
  grouped(Xs, name, bias) {
    const [groups, , to] = this.tensors[name].shape, found = Xs.map(() => [])
    for (let g = 0; g < groups; g++) {
      const b = bias && this.vector(bias).subarray(g * to, (g + 1) * to)
      const all = this.products.multiplyEach(this.matrices[`${name}.${g}`], Xs.map(X => X[g]))
      all.forEach((out, i) => found[i].push(b ? plus(out, b) : out))
    }
    return found
  }
}

/** [u; v; |u - v|; u * v] */
function compared(u, v) {
  const size = u.length, all = new Float32Array(4 * size)
  for (let k = 0; k < size; k++) {
    all[k] = u[k]
    all[size + k] = v[k]
    all[2 * size + k] = Math.abs(u[k] - v[k])
    all[3 * size + k] = u[k] * v[k]
  }
  return all
}

/** What the kernel multiplies by: [name, rows, columns, values], for the LSTM one of each direction, else of each group. */
function matricesOf([name, { shape, values }]) {
  if (shape.length === 2 && !/\.b_/.test(name)) return [[name, ...shape, values]]
  if (shape.length !== 3) return []
  const [count, rows, columns] = shape
  if (name === "encoder.W") { // of a convolution: (2u, c, 3)
    const part = k => Float32Array.from({ length: count * rows }, (_, at) => values[at * columns + k])
    return [0, 1, 2].map(k => [`${name}.${k}`, count, rows, part(k)])
  }
  const parts = Array.from({ length: count }, (_, k) => values.subarray(k * rows * columns, (k + 1) * rows * columns))
  if (name.startsWith("encoder.")) return parts.map((part, side) => [`${name}.${side}`, rows, columns, part])
  return parts.map((part, g) => [`${name}.${g}`, columns, rows, swapped(part, rows, columns)])
}

/** A matrix (rows, columns) as (columns, rows). */
function swapped(values, rows, columns) {
  return Float32Array.from(values, (_, k) => values[(k % rows) * columns + Math.floor(k / rows)])
}

/** The word with the largest number of each column of H (n, size); the first of equals. */
export function largest(H, n, size) {
  const winners = new Int32Array(size)
  for (let t = 1; t < n; t++) {
    for (let k = 0; k < size; k++) if (H[t * size + k] > H[winners[k] * size + k]) winners[k] = t
  }
  return winners
}

export function softmax(scores) {
  const top = Math.max(...scores), powers = scores.map(x => Math.exp(x - top))
  const sum = powers.reduce((a, b) => a + b, 0)
  return powers.map(x => x / sum)
}

export function transposed(rows) {
  return Array.from(rows[0], (_, k) => Float32Array.from(rows, row => row[k]))
}

/** Vectors end to end. */
export function joined(...vectors) {
  const all = new Float32Array(vectors.reduce((sum, vector) => sum + vector.length, 0))
  let at = 0
  for (const vector of vectors) {
    all.set(vector, at)
    at += vector.length
  }
  return all
}

/** out += factor * values[at ...] */
export function addTimes(out, factor, values, at) {
  if (factor) for (let k = 0; k < out.length; k++) out[k] += factor * values[at + k]
}

function weightedSum(weights, H, n, size) {
  const out = new Float32Array(size)
  for (let t = 0; t < n; t++) addTimes(out, weights[t], H, t * size)
  return out
}

function plus(values, bias) {
  for (let k = 0; k < values.length; k++) values[k] += bias[k]
  return values
}

function relu(values) {
  return values.map(x => Math.max(x, 0))
}

function sigmoid(x) {
  return 1 / (1 + Math.exp(-x))
}
