// What a folder's config.json says about the network: every option checked, and the tensors that follow from it.

import { OPTIONS } from "./known.js"
import { isObject } from "./strict_json.js"

/** The options of a section, "text" or "model"; a missing one has its default. */
export function optionsOf(recipe, section) {
  const given = isObject(recipe) ? recipe[section] ?? {} : undefined, known = OPTIONS[section]
  if (!isObject(given)) throw new Error(`the recipe's ${section} in config.json is not an object`)
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(known, name)) throw new Error(`there is no option ${name.slice(0, 60)}; a newer version of this package may know it`)
    checkOption(name, given[name], known[name])
  }
  return { ...Object.fromEntries(Object.entries(known).map(([name, about]) => [name, about.default])), ...given }
}

function checkOption(name, value, { type, default: usual, choices, low = -Infinity, high = Infinity }) {
  const isRight = typeof value === typeof usual && (type !== "int" || Number.isInteger(value))
  if (isRight && (choices?.includes(value) ?? true) && !(value < low) && !(value > high)) return
  const bounds = `${low > -Infinity ? `, at least ${low}` : ""}${high < Infinity ? `, at most ${high}` : ""}`
  const values = choices ? `one of ${choices.join(", ")}` : { int: "an integer", float: "a number", bool: "true or false", str: "a text" }[type] + bounds
  throw new Error(`${name} in config.json is ${String(JSON.stringify(value)).slice(0, 60)}; it must be ${values}`)
}

/** name -> shape of every tensor: the table of docs/format.md. `words` are those of the vocabulary, `labels` how many there are. */
export function shapesOf(recipe, { words, labels, isPair }) {
  const { word_size: d, projection, hidden: u, vector_size: v, vector_rank: e } = recipe
  const c = projection || d, attends = recipe.pooling === "self-attention"
  const Z = recipe.encoder === "words" ? c : 2 * u, R = attends ? recipe.rows + (recipe.max_row ? 1 : 0) : 1
  const found = { "words.weight": [words, d] }
  if (recipe.head === "vector" && recipe.buckets) found["grams.weight"] = [recipe.buckets + 1, d]
  if (projection) Object.assign(found, { "projection.W": [c, d], "projection.b": [c] })
  if (recipe.encoder === "cnn") Object.assign(found, { "encoder.W": [Z, c, 3], "encoder.b": [Z] })
  for (let k = 0; recipe.encoder === "bilstm" && k < recipe.layers; k++) {
    Object.assign(found, { [`encoder.W_ih_${k}`]: [2, 4 * u, c + 2 * u * k], [`encoder.W_hh_${k}`]: [2, 4 * u, u], [`encoder.b_${k}`]: [2, 4 * u] })
  }
  if (attends) {
    Object.assign(found, { "pooling.W_s1": [recipe.attention_hidden, Z], "pooling.W_s2": [recipe.rows, recipe.attention_hidden] })
    if (recipe.author_code) Object.assign(found, { "pooling.b_s1": [recipe.attention_hidden], "pooling.b_s2": [recipe.rows] })
  }
  if (isPair && recipe.pair === "gated") Object.assign(found, { "gate.W_fp": [R, Z, Z], "gate.W_fh": [R, Z, Z] })
  if (recipe.head === "vector" || isPair && recipe.pair === "vectors") Object.assign(found, { "vector.W_shared": [e, Z], "vector.W_rows": [v, R * e] })
  const [rows, size] = !isPair || recipe.pair === "gated" ? [R, Z] : recipe.pair === "vectors" ? [1, 4 * v] : [R, 4 * Z]
  return { ...found, ...headOf(recipe, rows, size, labels) }
}

function headOf({ head, head_hidden: b, row_units: p, column_units: q, mix_units: m }, rows, size, labels) {
  if (head === "vector") return {}
  if (head === "linear") return { "head.W_o": [labels, rows * size], "head.b_o": [labels] }
  if (head === "full") return { "head.W_1": [b, rows * size], "head.b_1": [b], "head.W_2": [labels, b], "head.b_2": [labels] }
  const units = rows * p + size * q
  return {
    ...(p ? { "head.W_v_0": [rows, size, p], "head.b_v_0": [rows, p] } : {}),
    ...(q ? { "head.W_h_0": [size, rows, q], "head.b_h_0": [size, q] } : {}),
    ...(m ? { "head.W_m": [m, units], "head.b_m": [m] } : {}),
    "head.W_o": [labels, m || units], "head.b_o": [labels],
  }
}
