// What a reader makes of a word outside its vocabulary: known words in it, and n-grams of the rest (text/spelling.py).

const GRAM_SIZES = [3, 4, 5], REST_SIZES = [2, 3, 4, 5] // characters; beside a known word
const MAX_GRAMS = 32, MAX_STEMS = 4, SHORTEST_STEM = 4, LONGEST_STEM = 40
const MARKS = /[^\p{L}\p{N}]+/u

/** {grams: rows of the table of n-grams, from 1 on, stems: ids of known words}; `known`: word -> id, or null for no stems. */
export function pieces(word, known, buckets) {
  let grams = [], stems = []
  for (const part of known ? word.split(MARKS) : []) {
    if (part !== word && known.has(part)) stems.push(known.get(part))
    else if (part) {
      const letters = Array.from(part), [start, end] = findStems(letters, word, known)
      for (const stem of [letters.slice(0, start), letters.slice(end)]) if (stem.length) stems.push(known.get(stem.join("")))
      if (start < end) {
        const rest = ["<", ...letters, ">"].slice(start, end + 2)
        grams.push(...rows(rest, start || end < letters.length ? REST_SIZES : GRAM_SIZES, buckets))
      }
    }
  }
  if (!grams.length && !stems.length) grams = rows(["<", ...word, ">"], GRAM_SIZES, buckets)
  return { grams: grams.slice(0, MAX_GRAMS), stems: stems.slice(0, MAX_STEMS) }
}

/** Where the longest known word that begins the part ends, and where the one that ends it begins. */
function findStems(letters, word, known) {
  const size = letters.length
  const isStem = (from, to) => {
    const stem = letters.slice(from, to).join("")
    return stem !== word && known.has(stem)
  }
  let first = Math.min(size - 1, LONGEST_STEM), last = Math.max(1, size - LONGEST_STEM)
  while (first >= SHORTEST_STEM && !isStem(0, first)) first--
  if (first < SHORTEST_STEM) first = 0
  while (last <= size - SHORTEST_STEM && !isStem(last, size)) last++
  if (last > size - SHORTEST_STEM) last = size
  if (Math.max(first, size - last) < size / 2) return [0, size]
  if (first > last) return first >= size - last ? [first, size] : [0, last]
  return [first, last]
}

function rows(letters, sizes, buckets) {
  const found = []
  for (const size of sizes) {
    for (let k = 0; k + size <= letters.length; k++) found.push(crc32(letters.slice(k, k + size).join("")) % buckets + 1)
  }
  return found
}

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let k = 0; k < 8; k++) byte = byte & 1 ? byte >>> 1 ^ 0xedb88320 : byte >>> 1
  return byte
})

/** Of the text in UTF-8. */
export function crc32(text) {
  let found = 0xffffffff
  for (const byte of new TextEncoder().encode(text)) found = found >>> 8 ^ TABLE[(found ^ byte) & 255]
  return (found ^ 0xffffffff) >>> 0
}
