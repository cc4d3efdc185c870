// Products of a matrix and many vectors, where nearly all of the time goes.
//
// `multiply` is the definition. The same loop in WebAssembly, four numbers at a time, is several times faster;
// it is assembled here from its instructions, so that there is no binary file and no compiler.

const CHUNK = 64 // vectors multiplied at once

/** Memory with matrices in it. A line is padded to a multiple of 4 numbers, and so is the number of lines. */
export class Products {
  /** `shapes` are the [rows, columns] of all matrices to come. */
  constructor(shapes) {
    const width = Math.max(16, ...shapes.flat().map(padded))
    const numbers = shapes.reduce((sum, [rows, columns]) => sum + padded(rows) * padded(columns), 0)
    this.inputs = 4 * numbers // bytes; the matrices come before it
    this.outputs = this.inputs + 4 * CHUNK * width
    this.used = 0
    const bytes = this.outputs + 4 * CHUNK * width
    this.product = assemble(bytes, view => { this.numbers = view })
  }

  /** Keep a matrix (rows, columns), given row by row. */
  add(values, rows, columns) {
    const matrix = { at: this.used, rows, columns, lines: padded(rows), bytes: 4 * padded(columns) }
    for (let j = 0; j < rows; j++) {
      this.numbers.set(values.subarray(j * columns, (j + 1) * columns), (this.used + j * matrix.bytes) / 4)
    }
    this.used += matrix.lines * matrix.bytes
    return matrix
  }

  /** X (n, columns) times the transposed matrix, (n, rows), written to `out`. */
  multiply(matrix, X, n, out = new Float32Array(n * matrix.rows)) {
    const { at, rows, columns, lines, bytes } = matrix, { numbers, inputs, outputs } = this
    for (let start = 0; start < n; start += CHUNK) {
      const count = Math.min(CHUNK, n - start)
      for (let t = 0; t < count; t++) {
        const from = (start + t) * columns, to = (inputs + t * bytes) / 4
        numbers.set(X.subarray(from, from + columns), to)
        numbers.fill(0, to + columns, to + bytes / 4)
      }
      this.product(at, inputs, outputs, lines, bytes, count)
      for (let t = 0; t < count; t++) {
        const from = outputs / 4 + t * lines
        out.set(numbers.subarray(from, from + rows), (start + t) * rows)
      }
    }
    return out
  }

  /** Each of the vectors times the transposed matrix. */
  multiplyEach(matrix, vectors) {
    const { rows, columns } = matrix, X = new Float32Array(vectors.length * columns)
    vectors.forEach((vector, i) => X.set(vector, i * columns))
    const out = this.multiply(matrix, X, vectors.length)
    return vectors.map((_, i) => out.subarray(i * rows, (i + 1) * rows))
  }
}

function padded(size) {
  return Math.ceil(size / 4) * 4
}

/** (W, X, out, lines, bytes, n): out (n, lines) = X (n, bytes / 4) times the transposed W. */
function multiply(numbers, W, X, out, lines, bytes, n) {
  const size = bytes / 4
  for (let t = 0; t < n; t++) {
    const x = X / 4 + t * size, o = out / 4 + t * lines
    for (let j = 0; j < lines; j += 4) {
      const w = W / 4 + j * size
      let a = 0, b = 0, c = 0, d = 0
      for (let k = 0; k < size; k++) {
        const v = numbers[x + k]
        a += v * numbers[w + k]
        b += v * numbers[w + size + k]
        c += v * numbers[w + 2 * size + k]
        d += v * numbers[w + 3 * size + k]
      }
      numbers.set([a, b, c, d], o + j)
    }
  }
}

/** The product over a new memory of this many bytes; `use` gets its numbers. */
function assemble(bytes, use) {
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil(bytes / 65536) })
    const module = new WebAssembly.Module(moduleBytes())
    const instance = new WebAssembly.Instance(module, { page: { memory } })
    use(new Float32Array(memory.buffer))
    return instance.exports.product
  } catch { // no WebAssembly, or none with SIMD
    const numbers = new Float32Array(Math.ceil(bytes / 4))
    use(numbers)
    return (...given) => multiply(numbers, ...given)
  }
}

// ---------------------------------------------------------------- WebAssembly

const I32 = 0x7f, V128 = 0x7b, NONE = 0x40
// the arguments and variables of the function, by number
const [W, X, OUT, LINES, BYTES, N, LEFT, T, IN, TO, LINE, END, A, V] = Array(14).keys()

const get = variable => [0x20, variable]
const set = variable => [0x21, variable]
const integer = value => [0x41, ...signed(value)]
const add = [0x6a], subtract = [0x6b], times = [0x6c], isLess = [0x49]
const loop = (...body) => [0x03, NONE, ...body.flat(), 0x0b]
const again = [0x0d, 0] // the innermost loop, if what was computed last is not 0
const increase = (variable, ...amount) => [...get(variable), ...amount.flat(), ...add, ...set(variable)]
const load = [0xfd, 0, 4, 0] // 16 bytes
const zero = [0xfd, 12, ...Array(16).fill(0)]
const addFour = [0xfd, 0xe4, 1], multiplyFour = [0xfd, 0xe6, 1]
const lane = k => [0xfd, 0x1f, k]

/** The line of W that is k lines below LINE. */
const lineBelow = k => [...get(LINE), ...integer(k), ...get(BYTES), ...times, ...add]
const accumulate = k => [...get(A + 1 + k), ...get(A), ...lineBelow(k), ...load, ...multiplyFour, ...addFour,
  ...set(A + 1 + k)]
/** Add up the four numbers of accumulator k and store them in its place at TO. */
const store = k => [...get(TO), ...[0, 1, 2, 3].flatMap(i => [...get(A + 1 + k), ...lane(i), ...(i ? [0x92] : [])]),
  0x38, 2, 4 * k]

function moduleBytes() {
  const four = [0, 1, 2, 3]
  const body = [
    ...get(LINES), ...set(LEFT),
    ...loop(
      get(N), set(T), get(X), set(IN), get(OUT), set(TO),
      loop(
        four.flatMap(k => [...zero, ...set(A + 1 + k)]),
        get(W), set(LINE), get(IN), get(BYTES), add, set(END),
        loop(
          get(IN), load, set(A), four.flatMap(accumulate), increase(LINE, integer(16)), increase(IN, integer(16)),
          get(IN), get(END), isLess, again,
        ),
        four.flatMap(store), increase(TO, get(LINES), integer(4), times),
        get(T), integer(1), subtract, [0x22, T], again,
      ),
      increase(W, get(BYTES), integer(4), times), increase(OUT, integer(16)),
      get(LEFT), integer(4), subtract, [0x22, LEFT], again,
    ),
    0x0b,
  ]
  const code = [2, 6, I32, V - A + 4, V128, ...body]
  return new Uint8Array([
    0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 6, ...Array(6).fill(I32), 0]), // one type: six integers, no result
    ...section(2, [1, ...name("page"), ...name("memory"), 2, 0, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name("product"), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ])
}

function section(number, content) {
  return [number, ...unsigned(content.length), ...content]
}

function name(text) {
  return [text.length, ...new TextEncoder().encode(text)]
}

/** LEB128. */
function unsigned(value) {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >> 7)]
}

function signed(value) {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >> 7)]
}
