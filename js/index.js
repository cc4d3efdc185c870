// A folder that Limelight saved, in Node or a browser: the same words, vectors and probabilities as in Python.
//
//   const reader = await load("path/to/reader")
//   reader.embed("I can't pay.")             // Float32Array of length 1
//   const model = await load("path/to/model")
//   model.predict("The soup was cold.")      // {label, probabilities}

import { readFolder } from "./folder.js"
import { TASKS } from "./known.js"
import { Network, joined, softmax } from "./page/network.js"
import { Tokenizer, UNKNOWN } from "./page/tokenizer.js"
import { pieces } from "./spelling.js"

const ACTIVATIONS = { Softmax: softmax, Sigmoid: z => z.map(x => 1 / (1 + Math.exp(-x))), "": z => z } // from logits to outputs
const MAX_SPELLED = 10_000 // words outside the vocabulary whose vectors are kept

/** Open a folder by its path or its address, in a browser relative to the page; or by a function from a file's name to a promise of its bytes. */
export async function load(folder) {
  const read = typeof folder === "function" ? folder : readerOf(String(folder))
  return new Model(await readFolder(async (name, most) => plain(await read(name, most))))
}

/** Bytes as a Uint8Array and nothing more: a Buffer is one too, but its slices are no copies. */
function plain(bytes) {
  return ArrayBuffer.isView(bytes) ? new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) : new Uint8Array(bytes)
}

function readerOf(folder) {
  const inNode = Boolean(globalThis.process?.versions?.node), isAddress = /^https?:\/\//i.test(folder)
  if (inNode && !isAddress) return (name, most) => readFile(/^file:\/\//i.test(folder) ? new URL(name, `${folder}/`) : `${folder}/${name}`, most)
  const base = new URL(`${folder.replace(/\/+$/, "")}/`, inNode ? undefined : globalThis.document?.baseURI ?? globalThis.location?.href)
  return (name, most) => fetchFile(new URL(name, base), most)
}

/** A file of a disk: neither a pipe, which may never end, nor one that is larger than it can be. */
async function readFile(path, most) {
  const { open } = await import("node:fs/promises"), { O_RDONLY, O_NONBLOCK } = (await import("node:fs")).constants
  const file = await open(path, O_RDONLY | (O_NONBLOCK ?? 0))
  try {
    const about = await file.stat()
    if (!about.isFile()) throw new Error(`${path} is not a regular file`)
    if (about.size > most) throw new Error(`${path} has ${about.size} bytes; at most ${most} are expected`)
    return await file.readFile()
  } finally {
    await file.close()
  }
}

async function fetchFile(address, most) {
  const answer = await fetch(address), bytes = Number(answer.headers.get("content-length"))
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`)
  if (bytes > most) throw new Error(`${address} has ${bytes} bytes; at most ${most} are expected`)
  return answer.arrayBuffer()
}

export class Model {
  /** Of what `readFolder` gives. */
  constructor({ kind, options, labels, thresholds, tokenizer, forbidden, tensors: { "words.weight": words, "grams.weight": grams, ...tensors } }) {
    this.kind = kind // "text", "pair" or "reader"
    this.labels = labels
    this.task = options.task
    this.thresholds = thresholds
    this.maxLength = options.max_length
    this.forbidden = forbidden
    this.tokenizer = new Tokenizer(tokenizer)
    this.spelled = grams && new Spelled(this.tokenizer, words, grams, options.stems)
    const vector = id => (id < words.count ? words.row(id) : this.spelled.vector(id))
    this.network = new Network(options, tensors, vector)
  }

  /** The words of a text: [{word, start, end, id}], in UTF-16 units; `word` is as the vocabulary has it. */
  words(text) {
    if (typeof text !== "string") throw new TypeError(`a text must be a string, not ${text}`)
    const found = this.tokenizer.locate(text).filter(({ word }) => !isForbidden(word, this.forbidden))
    const words = found.length ? found : [{ word: "", start: 0, end: 0, id: UNKNOWN }]
    return words.slice(0, this.maxLength || undefined)
  }

  /** {words, A: rows of one weight a word, M: as many rows}. */
  encode(text) {
    const words = this.words(text)
    if (this.spelled?.isFull) this.spelled.clear(this.network) // never within a text, whose words have ids by then
    const ids = words.map(({ word, id }) => (this.spelled && word && id === UNKNOWN ? this.spelled.id(word) : id))
    const { A, M } = this.network.encode(ids)
    return { words, A, M: M.map(finite) }
  }

  /** The vector of a text: a reader's, of length 1; a classifier's is M, its rows one after the other. */
  embed(text) {
    const { M } = this.encode(text)
    if (this.kind !== "reader") return joined(...M)
    const v = finite(this.network.oneVector(M)), length = Math.hypot(...v) || 1
    return v.map(x => x / length)
  }

  /** The answer to a text, or to two of a model of pairs: {label, probabilities}, or {value} of a number. */
  predict(...texts) {
    const wanted = { text: 1, pair: 2, reader: 0 }[this.kind]
    if (!wanted) throw new Error("a reader has no labels; use embed")
    if (texts.length !== wanted) throw new Error(`this model reads ${wanted === 1 ? "one text" : "two texts"}; got ${texts.length}`)
    const [{ logits }] = this.network.classify([texts.map(text => this.encode(text).M)])
    return this.decide(finite(logits))
  }

  decide(logits) {
    const { activation, isNumber, hasSeveral, isOrdered } = TASKS[this.task]
    const probabilities = [...ACTIVATIONS[activation](Float64Array.from(logits))]
    if (isNumber) return { value: probabilities[0] }
    if (hasSeveral) {
      return { label: this.labels.filter((_, k) => probabilities[k] >= (this.thresholds?.[k] ?? 0.5)), probabilities }
    }
    let sum = 0
    const best = isOrdered
      ? probabilities.findIndex(p => (sum += p) >= 0.5) // the median
      : probabilities.indexOf(Math.max(...probabilities))
    return { label: this.labels.at(best), probabilities }
  }
}

/** Vectors of words outside a reader's vocabulary, which get ids after those in it. */
class Spelled {
  constructor(tokenizer, words, grams, stems) {
    Object.assign(this, { words, grams, known: stems ? tokenizer.ids : null, ids: new Map(), vectors: [] })
  }

  get isFull() {
    return this.ids.size >= MAX_SPELLED
  }

  clear(network) {
    this.ids.clear()
    this.vectors = []
    network.inputs.clear()
  }

  id(word) {
    if (!this.ids.has(word)) {
      const { grams, stems } = pieces(word, this.known, this.grams.count - 1)
      this.ids.set(word, this.words.count + this.vectors.length)
      const [a, b] = [mean(grams, this.grams), mean(stems, this.words)]
      this.vectors.push(a.map((x, k) => x + b[k]))
    }
    return this.ids.get(word)
  }

  vector(id) {
    return this.vectors[id - this.words.count]
  }
}

function mean(rows, table) {
  const sum = new Float32Array(table.row(0).length)
  for (const row of rows) table.row(row).forEach((x, k) => { sum[k] += x })
  return sum.map(x => x / Math.max(rows.length, 1))
}

function finite(values) {
  if (!values.every(Number.isFinite)) throw new Error("the model's numbers are not finite for this text")
  return values
}

/** Whether a word, or a part of it between marks, is one of those that a model must not read. */
function isForbidden(word, forbidden) {
  if (!forbidden.size) return false
  const folded = word.toLowerCase().replaceAll("ß", "ss")
  const edges = [-1, ...Array.from(folded.matchAll(/[!-/:-@[-`{-~\u2010-\u2027]/g), mark => mark.index), folded.length]
  return edges.some((start, k) => edges.slice(k + 1).some(end => forbidden.has(folded.slice(start + 1, end))))
}
