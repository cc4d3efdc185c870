// The texts of the page's data nearest to a text, as its model reads them: some by short vectors, the best of them by all of M.

import { dot } from "./decided.js"
import { joined } from "./network.js"

const COUNT = 8, LOOKED_AT = 24 // as in serve/explorer/explored.py

export class LocalNear {
  /** `vectors` (rows, k) have length 127; `directions` (k, 2u) make one from the sum of the rows of M. */
  constructor(model, table, { vectors, directions }) {
    Object.assign(this, { model, table, vectors, directions, where: "the data, as the model reads them" })
    this.read = new Map() // M of rows that were looked at
  }

  /** The nearest first: {texts, row, similarity}. */
  async find(texts) {
    const M = this.embed(texts), own = this.shorten(M), k = own.length, { values } = this.vectors
    const scores = Float32Array.from({ length: this.table.rows }, (_, row) => cosine(own, values.subarray(row * k, (row + 1) * k)))
    const order = [...scores.keys()].sort((a, b) => scores[b] - scores[a] || a - b).slice(0, COUNT + LOOKED_AT)
    const all = await this.table.texts(order)
    const hits = order.map((row, place) => ({ texts: all[place], row, similarity: scores[row] }))
      .filter(hit => hit.texts.some((text, side) => text !== texts[side])).slice(0, LOOKED_AT)
    if (texts.length > 1) return hits.slice(0, COUNT)
    for (const hit of hits) {
      if (!this.read.has(hit.row)) {
        this.read.set(hit.row, joined(...this.embed(hit.texts)))
        await new Promise(done => setTimeout(done)) // one may go on typing meanwhile
      }
      hit.similarity = cosine(joined(...M), this.read.get(hit.row))
    }
    return hits.sort((a, b) => b.similarity - a.similarity).slice(0, COUNT)
  }

  /** M of a text, or by how much those of a pair differ. */
  embed(texts) {
    const [M, M2] = texts.map(text => this.model.encode(text).M)
    return M2 ? M.map((row, r) => row.map((x, k) => Math.abs(x - M2[r][k]))) : M
  }

  shorten(M) {
    const { shape: [k, size], values } = this.directions
    const sum = M.reduce((total, row) => total.map((x, i) => x + row[i]), new Float32Array(size))
    return Float32Array.from({ length: k }, (_, d) => dot(sum, values.subarray(d * size, (d + 1) * size)))
  }
}

function cosine(a, b) {
  return dot(a, b) / (Math.sqrt(dot(a, a) * dot(b, b)) || 1)
}
