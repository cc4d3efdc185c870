// A model as bytes: what serve/one_file.py writes. Four bytes for the length of a JSON header, the header, arrays.

/** Base64 of gzip -> the header, and in it `tensors`: name -> {shape, values}, and `vector`: word id -> vector. */
export async function openModel(base64) {
  const packed = Uint8Array.from(atob(base64), letter => letter.charCodeAt(0))
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))
  return parseModel(new Uint8Array(await new Response(stream).arrayBuffer()))
}

export function parseModel(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true)
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)))
  let at = 4 + length
  const arrays = {}
  for (const { name, type, shape } of header.arrays) {
    const count = shape.reduce((a, b) => a * b, 1), size = count * { float32: 4, float16: 2, uint8: 1 }[type]
    arrays[name] = { shape, values: numbers(bytes.subarray(at, at + size), type) }
    at += size
  }
  const { "words.weight": words, "words.weight.scale": scale, ...tensors } = arrays
  return { ...header, tensors, vector: scale ? ofFourBits(words, scale) : ofNumbers(words) }
}

function numbers(bytes, type) {
  if (type === "uint8") return bytes
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
