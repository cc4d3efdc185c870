// The files of a folder that Limelight saved: anyone may have written them, so that all is checked as docs/format.md says.

import { TASKS } from "./known.js"
import { fromHalf, ofFourBits, ofNumbers } from "./page/model_file.js"
import { optionsOf, shapesOf } from "./recipe.js"
import { tokenizerOf } from "./rules.js"
import { canonical, isObject, parseObject } from "./strict_json.js"

const FORMAT = 2
const FILES = { text: ["tokenizer.json", "model.safetensors", "model.onnx", "model.int8.onnx"], reader: ["tokenizer.json", "model.safetensors", "model.onnx"] }
const MAX_CONFIG = 2 ** 26, MAX_TOKENIZER = 2 ** 27, MAX_HEADER = 2 ** 20 // bytes
const MAX_FORBIDDEN = 10_000
const TABLES = ["words.weight", "grams.weight"], GROUP = 32 // numbers of a vector that have one scale
const TYPES = { F32: Float32Array, F16: Uint16Array, U8: Uint8Array, I8: Int8Array }

/** What is in a folder, all of it checked; `read(name, most)` gives the bytes of one of its files. */
export async function readFolder(read) {
  const { value: config, text } = parseObject(limited("config.json", await read("config.json", MAX_CONFIG), MAX_CONFIG), "config.json")
  checkConfig(config)
  if (await sha256(new TextEncoder().encode(canonical(text, "sha256"))) !== config.sha256) throw new Error("config.json was altered: its checksum does not match")
  const { kind, recipe } = config, options = { ...optionsOf(recipe, "text"), ...optionsOf(recipe, "model") }
  if ((options.head === "vector") !== (kind === "reader")) throw new Error(`the head of a model of the kind ${kind} is ${options.head}`)
  if (options.head === "pruned" && !options.row_units && !options.column_units) throw new Error("a pruned head needs row_units above 0")
  const labels = kind === "reader" ? [] : labelsOf(config, options.task), thresholds = thresholdsOf(config, options.task, labels)
  const tokenizer = tokenizerOf(parseObject(await checked("tokenizer.json", read, config, MAX_TOKENIZER), "tokenizer.json").value)
  const shapes = shapesOf(options, { words: tokenizer.words.length + 2, labels: labels.length, isPair: kind === "pair" })
  const most = 8 + MAX_HEADER + 4 * Object.values(shapes).reduce((sum, shape) => sum + size(shape), 0)
  const tensors = decoded(parseTensors(await checked("model.safetensors", read, config, most), shapes), shapes)
  return { kind, options, labels, thresholds, tokenizer, tensors, forbidden: forbiddenOf(config.facts) }
}

// ------------------------------------------------------------ config.json

function checkConfig(config) {
  if (!Number.isInteger(config.format) || config.format < 1 || !("limelight" in config)) throw new Error("config.json was not written by Limelight")
  if (config.format !== FORMAT) throw new Error(`the folder has format ${config.format}; this package reads ${FORMAT}`)
  for (const [name, is] of Object.entries({ kind: isText, labels: Array.isArray, recipe: isObject, facts: isObject, files: isObject, sha256: isText })) {
    if (!is(config[name])) throw new Error(`${name} in config.json is missing or of the wrong type`)
  }
  if (config.kind === "fast") throw new Error("a folder of the kind fast is not complete; save it again in Python: limelight.load(...).save(...)")
  if (!["text", "pair", "reader"].includes(config.kind)) throw new Error(`the kind in config.json is ${config.kind.slice(0, 60)}; it must be text, pair or reader`)
  const encoder = config.recipe.model?.encoder
  if (encoder === "module" || encoder === "word-module") throw new Error("a model with an encoder of its author's own runs in Python alone")
  const wanted = FILES[config.kind === "reader" ? "reader" : "text"]
  if (Object.keys(config.files).sort().join() !== [...wanted].sort().join()) throw new Error(`config.json must list exactly the files ${wanted.join(", ")}`)
  for (const name of wanted) {
    const entry = config.files[name]
    if (!isObject(entry) || Object.keys(entry).sort().join() !== "bytes,sha256" || !Number.isInteger(entry.bytes) || !isText(entry.sha256)) throw new Error(`config.json must give bytes and sha256 of ${name}`)
  }
}

function isText(value) {
  return typeof value === "string"
}

function labelsOf({ labels }, task) {
  const { isNumber, hasSeveral } = TASKS[task]
  const isLabel = label => ["string", "boolean", "number"].includes(typeof label)
  if (!labels.every(isLabel)) throw new Error("a label in config.json is not a text, a number or a boolean")
  if (labels.some(label => Number.isInteger(label) && !Number.isSafeInteger(label))) throw new Error("a label in config.json is an integer that JavaScript cannot hold")
  if (new Set(labels.map(String)).size !== labels.length) throw new Error("the labels in config.json are not distinct")
  if (isNumber ? labels.join("\n") !== "value" : labels.length < (hasSeveral ? 1 : 2)) throw new Error(`the number of labels in config.json, ${labels.length}, does not fit the task ${task}`)
  return labels
}

function thresholdsOf({ thresholds }, task, labels) {
  if (!TASKS[task].hasSeveral || thresholds === undefined || thresholds === null) return undefined
  const isShare = x => typeof x === "number" && x >= 0 && x <= 1
  if (!Array.isArray(thresholds) || thresholds.length !== labels.length || !thresholds.every(isShare)) throw new Error("thresholds in config.json must be a number from 0 to 1 for each label")
  return thresholds
}

/** The words that a model must not read. */
function forbiddenOf({ forbidden }) {
  if (forbidden === undefined || forbidden === null) return new Set()
  const { words, history } = forbidden
  const isRight = isObject(forbidden) && Object.keys(forbidden).sort().join() === "history,words" && Array.isArray(history) && Array.isArray(words)
  if (!isRight || words.length > MAX_FORBIDDEN || !words.every(word => isText(word) && word)) throw new Error("the forbidden words in config.json are not as Limelight writes them")
  return new Set(words)
}

// ------------------------------------------------------------ bytes

/** A file that has the size and the checksum of its entry in config.json. */
async function checked(name, read, { files: { [name]: entry } }, most) {
  const bytes = limited(name, await read(name, most), most)
  if (bytes.length !== entry.bytes) throw new Error(`${name} has ${bytes.length} bytes, not the ${String(entry.bytes).slice(0, 20)} it was saved with`)
  if (await sha256(bytes) !== entry.sha256) throw new Error(`${name} was altered: its checksum does not match`)
  return bytes
}

function limited(name, bytes, most) {
  if (bytes.length > most) throw new Error(`${name} has ${bytes.length} bytes; at most ${most} are expected`)
  return bytes
}

async function sha256(bytes) {
  if (!globalThis.crypto?.subtle) throw new Error("checksums need a page from https or localhost: browsers have no crypto.subtle elsewhere")
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
  return Array.from(digest, byte => byte.toString(16).padStart(2, "0")).join("")
}

// ------------------------------------------------------------ model.safetensors

function size(shape) {
  return shape.reduce((product, each) => product * each, 1)
}

/** The arrays of a safetensors file, name -> {shape, values, type}: exactly those of the shapes, side by side. */
function parseTensors(bytes, shapes) {
  const file = "model.safetensors"
  if (bytes.length < 8) throw new Error(`${file} is not a safetensors file: it is ${bytes.length} bytes long`)
  const length = new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true)
  if (length > BigInt(Math.min(MAX_HEADER, bytes.length - 8)) || length % 4n) throw new Error(`${file} is damaged: its header claims to be ${length} bytes long`)
  const start = 8 + Number(length), { value: { __metadata__: _, ...header } } = parseObject(bytes.subarray(8, start), `the header of ${file}`)
  const layout = layoutOf(header, shapes)
  for (const name of Object.keys(layout)) if (!Object.hasOwn(header, name)) throw new Error(`the weights lack ${name}, which the recipe needs`)
  for (const name of Object.keys(header)) if (!Object.hasOwn(layout, name)) throw new Error(`the weights include ${name.slice(0, 60)}, which the recipe does not have`)
  const found = Object.entries(layout).map(([name, [type, shape]]) => ({ name, type, shape, ...placeOf(name, header[name], type, shape) }))
  let end = 0
  for (const { from, to } of [...found].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (from !== end) throw new Error(`the tensors in ${file} overlap or leave gaps`)
    end = to
  }
  if (start + end !== bytes.length) throw new Error(`${file} has ${bytes.length} bytes; its header describes ${start + end}`)
  return Object.fromEntries(found.map(({ name, type, shape, from, to }) => {
    const values = new TYPES[type](bytes.slice(start + from, start + to).buffer) // a copy begins where numbers may
    return [name, { type, shape, values: finite(name, type === "F16" ? ofHalves(values) : values) }]
  }))
}

/** The type and shape that each tensor must have, by the way the header says it is stored. */
function layoutOf(header, shapes) {
  const found = {}
  for (const [name, shape] of Object.entries(shapes)) {
    const type = Object.hasOwn(header, name) ? header[name]?.dtype : undefined, isTable = TABLES.includes(name)
    if (type === "U8" && isTable && shape[1] % GROUP === 0) {
      Object.assign(found, { [name]: ["U8", [shape[0], shape[1] / 2]], [`${name}.scale`]: ["F16", [shape[0], shape[1] / GROUP]] })
    } else if (type === "I8" && !isTable && shape.length > 1) {
      Object.assign(found, { [name]: ["I8", shape], [`${name}.scale`]: ["F16", [...shape.slice(0, -1), 1]] })
    } else found[name] = ["F32", shape]
  }
  return found
}

function placeOf(name, entry, type, shape) {
  if (entry?.dtype !== type || JSON.stringify(entry.shape) !== JSON.stringify(shape)) {
    throw new Error(`${name} in model.safetensors is ${String(isObject(entry) ? `${entry.dtype} [${entry.shape}]` : entry).slice(0, 80)}; the recipe needs ${type} [${shape}]`)
  }
  const places = entry.data_offsets
  if (!Array.isArray(places) || places.length !== 2 || !places.every(Number.isInteger)) throw new Error(`${name} in model.safetensors has no valid data_offsets`)
  const [from, to] = places, bytes = size(shape) * TYPES[type].BYTES_PER_ELEMENT
  if (from < 0 || to - from !== bytes) throw new Error(`${name} in model.safetensors is at ${from} to ${to}, which is not ${bytes} bytes`)
  return { from, to }
}

/** A loop, because `every` takes long for millions: what is not finite times 0 is not 0. */
function finite(name, values) {
  let sum = 0
  if (values instanceof Float32Array) for (let k = 0; k < values.length; k++) sum += values[k] * 0
  if (sum !== 0) throw new Error(`weight ${name} has numbers that are not finite`)
  return values
}

/** Numbers in 4 and 8 bits as float32; of words and n-grams, which are many, a function from a row to its vector. */
function decoded(tensors, shapes) {
  const found = {}
  for (const name of Object.keys(shapes)) {
    const tensor = tensors[name], scale = tensors[`${name}.scale`], { shape, values, type } = tensor
    if (TABLES.includes(name)) found[name] = { count: shape[0], row: type === "U8" ? ofFourBits(tensor, scale) : ofNumbers(tensor) }
    else found[name] = type === "I8" ? { shape, values: ofBytes(values, scale.values, shape.at(-1)) } : tensor
  }
  return found
}

/** Bytes times the number of their line: a loop, because `Float32Array.from` takes seconds for millions. */
function ofBytes(bytes, scale, line) {
  const found = new Float32Array(bytes.length)
  for (let row = 0, k = 0; row < scale.length; row++) {
    for (const end = k + line; k < end; k++) found[k] = bytes[k] * scale[row]
  }
  return found
}

function ofHalves(halves) {
  const found = new Float32Array(halves.length)
  for (let k = 0; k < halves.length; k++) found[k] = (halves[k] & 0x7c00) === 0x7c00 ? NaN : fromHalf(halves[k])
  return found
}
