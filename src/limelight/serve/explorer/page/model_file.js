// Models and data, as serve/page/packed_arrays.py writes them: the length of a JSON header, the header, arrays.

const LETTERS = 91, BITS = 13 // two letters hold 13 bits
const TYPES = { float32: Float32Array, int32: Int32Array, float16: Uint16Array, int16: Int16Array, uint16: Uint16Array, uint8: Uint8Array, int8: Int8Array }
const LENGTH = 100 // steps of a factor

/** The bytes of a text that `to_text` made. */
export function fromText(text) {
  const values = new Uint8Array(128), bytes = new Uint8Array(Math.floor(text.length / 2 * BITS / 8))
  for (let code = 32, value = 0; value < LETTERS; code++) if (!'&<>"'.includes(String.fromCharCode(code))) values[code] = value++
  let held = 0, bits = 0, at = 0
  for (let k = 0; k < text.length; k += 2) {
    held = held << BITS | values[text.charCodeAt(k)] * LETTERS + values[text.charCodeAt(k + 1)]
    for (bits += BITS; bits >= 8; held &= (1 << bits) - 1) {
      bits -= 8
      bytes[at++] = held >> bits
    }
  }
  return bytes.subarray(4, 4 + new DataView(bytes.buffer).getUint32(0, true))
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
  for (const { name, type, shape, step } of header.arrays) {
    const size = shape.reduce((a, b) => a * b, 1) * TYPES[type].BYTES_PER_ELEMENT
    const values = numbers(bytes.subarray(at, at + size), type)
    arrays[name] = { shape, values: step ? Float32Array.from(values, count => count * step) : values }
    at += size
  }
  return { ...header, arrays }
}

/** The header of a model, and in it `tensors`: name -> {shape, values}, and `vector`: word id -> vector. */
export function parseModel(bytes) {
  const { arrays, ...header } = parseArrays(bytes)
  const { "words.weight": words, "words.weight.scale": scale, similar, factor, ...tensors } = arrays
  const kept = words.shape[0], own = scale ? ofFourBits(words, scale) : ofNumbers(words)
  const similarTo = id => (id < kept ? undefined : similar.values[id - kept] + 2) // after <pad> and <unk>
  const vector = id => (id < kept ? own(id) : own(similarTo(id)).map(x => x * factor.values[id - kept] / LENGTH))
  return { ...header, tensors, vector, similarTo }
}

/** Of two-byte numbers all first bytes come first, then all second bytes. */
function numbers(bytes, type) {
  const Type = TYPES[type]
  if (Type.BYTES_PER_ELEMENT !== 2) return new Type(bytes.slice().buffer)
  const n = bytes.length / 2, values = new Type(n)
  for (let k = 0; k < n; k++) values[k] = bytes[k] | bytes[n + k] << 8
  return type === "float16" ? Float32Array.from(values, fromHalf) : values
}

export function fromHalf(bits) {
  const exponent = bits >> 10 & 31, fraction = bits & 1023
  const size = exponent ? (1024 + fraction) * 2 ** (exponent - 25) : fraction * 2 ** -24
  return bits & 32768 ? -size : size
}

export function ofNumbers({ shape: [, d], values }) {
  return id => values.subarray(id * d, (id + 1) * d)
}

/** Two numbers to a byte, the first in its lower half, and a scale for each group (network/quantise.py). */
export function ofFourBits({ shape: [, half], values }, { shape: [, groups], values: scale }) {
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
