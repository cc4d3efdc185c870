// The files of a folder that Limelight saved, as docs/format.md describes them.

import { fromHalf, ofFourBits, ofNumbers } from "./page/model_file.js"

const FORMAT = 2
const TYPES = { F32: Float32Array, F16: Uint16Array, U8: Uint8Array, I8: Int8Array }

/** {config, tokenizer, tensors, words, grams} of a folder; `read` gives the bytes of one of its files. */
export async function readFolder(read) {
  const json = bytes => JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))
  const config = json(await read("config.json"))
  if (config.format !== FORMAT) throw new Error(`the folder has format ${config.format}; this package reads ${FORMAT}`)
  if (!["text", "pair", "reader"].includes(config.kind)) {
    throw new Error(`a folder of kind ${config.kind} is not complete; save it again in Python: limelight.load(...).save(...)`)
  }
  const encoder = config.recipe.model.encoder ?? "bilstm"
  if (!["bilstm", "cnn", "words"].includes(encoder)) throw new Error(`a model with the encoder ${encoder} runs in Python alone`)
  const [tokenizer, weights] = await Promise.all(["tokenizer.json", "model.safetensors"].map(name => checked(name, read, config)))
  const { "words.weight": words, "grams.weight": grams, ...tensors } = decoded(parseTensors(weights))
  return { config, tokenizer: json(tokenizer), tensors, words, grams }
}

async function checked(name, read, config) {
  const bytes = await read(name), { bytes: size, sha256 } = config.files[name]
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes))
  const found = Array.from(digest, byte => byte.toString(16).padStart(2, "0")).join("")
  if (bytes.length !== size || found !== sha256) throw new Error(`${name} is damaged: its checksum does not match`)
  return bytes
}

/** The arrays of a safetensors file: name -> {shape, values, type}. */
function parseTensors(bytes) {
  const start = 8 + Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true))
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, start)))
  const entries = Object.entries(header).filter(([name]) => name !== "__metadata__")
  return Object.fromEntries(entries.map(([name, { dtype, shape, data_offsets: [from, to] }]) => {
    const values = new TYPES[dtype](bytes.slice(start + from, start + to).buffer) // a copy begins where numbers may
    return [name, { shape, type: dtype, values: dtype === "F16" ? ofHalves(values) : values }]
  }))
}

/** Numbers in 4 and 8 bits as float32; of words and n-grams, which are many, a function from a row to its vector. */
function decoded(tensors) {
  const found = {}
  for (const [name, tensor] of Object.entries(tensors)) {
    const scale = tensors[`${name}.scale`], { shape, values } = tensor
    if (name.endsWith(".scale")) continue
    if (name === "words.weight" || name === "grams.weight") {
      const row = tensor.type === "U8" ? ofFourBits(tensor, scale) : ofNumbers(tensor)
      found[name] = { count: shape[0], row }
    } else if (tensor.type === "I8") {
      found[name] = { shape, values: ofBytes(values, scale.values, shape.at(-1)) }
    } else found[name] = tensor
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
  for (let k = 0; k < halves.length; k++) found[k] = fromHalf(halves[k])
  return found
}
