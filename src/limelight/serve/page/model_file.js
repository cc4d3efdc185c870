// Models and data as bytes, as serve/packed_model.py writes them: the length of a JSON header, the header, arrays.

export function fromBase64(text) {
  return Uint8Array.from(atob(text), letter => letter.charCodeAt(0))
}

export async function unzipped(packed) {
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}

/** The header, and in it `arrays`: name -> {shape, values}. */
export function parseArrays(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  let at = 4 + length
  const arrays = {}
  for (const { name, type, shape } of header.arrays) {
    const count = shape.reduce((a, b) => a * b, 1), size = count * { float32: 4, int32: 4, float16: 2, uint8: 1 }[type]
    arrays[name] = { shape, values: numbers(bytes.subarray(at, at + size), type) }
    at += size
  }
  return { ...header, arrays }
}

/** The header of a model, and in it `tensors`: name -> {shape, values}, and `vector`: word id -> vector. */
export function parseModel(bytes) {
  const { arrays, ...header } = parseArrays(bytes)
  const { "words.weight": words, "words.weight.scale": scale, ...tensors } = arrays
  return { ...header, tensors, vector: scale ? ofFourBits(words, scale) : ofNumbers(words) }
}

function numbers(bytes, type) {
  if (type === "uint8") return bytes
  if (type === "int32") return new Int32Array(bytes.slice().buffer)
  return type === "float32" ? new Float32Array(bytes.slice().buffer) : fromHalves(bytes)
}

/** float16: all first bytes, then all second bytes, which packs better. */
function fromHalves(bytes) {
  const n = bytes.length / 2, out = new Float32Array(n)
  const powers = Float64Array.from({ length: 32 }, (_, exponent) => 2 ** (exponent - 25))
  for (let k = 0; k < n; k++) {
    const high = bytes[n + k], exponent = (high >> 2) & 31, fraction = ((high & 3) << 8) | bytes[k]
    const size = exponent ? (1024 + fraction) * powers[exponent] : fraction * powers[1]
    out[k] = high & 128 ? -size : size
  }
  return out
}

function ofNumbers({ shape: [, d], values }) {
  return id => values.subarray(id * d, (id + 1) * d)
}

/** Two numbers to a byte, the first in its lower half, and a scale for each group (runtime/int4.py). */
function ofFourBits({ shape: [, half], values }, { shape: [, groups], values: scale }) {
  const group = 2 * half / groups
  return id => {
    const vector = new Float32Array(2 * half)
    for (let k = 0; k < 2 * half; k++) {
      const byte = values[id * half + (k >> 1)], number = k & 1 ? byte >> 4 : byte & 15
      vector[k] = (number - 8) * scale[id * groups + Math.floor(k / group)]
    }
    return vector
  }
}
