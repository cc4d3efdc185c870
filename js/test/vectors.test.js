// node --test: the package gives what Python gave, text by text.

import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { load } from "../index.js"
import { crc32, pieces } from "../spelling.js"

const READER = new URL("../../src/limelight/bundled/reader", import.meta.url).pathname
const { texts } = JSON.parse(readFileSync(new URL("vectors.json", import.meta.url)))
const reader = await load(READER)

/** Where each UTF-16 unit is in characters. */
function characters(text) {
  const places = []
  Array.from(text).forEach((letter, k) => { for (let unit = 0; unit < letter.length; unit++) places.push(k) })
  return [...places, Array.from(text).length]
}

for (const { text, words, offsets, ids, spelled, vector } of texts) {
  test(JSON.stringify(text), () => {
    const found = reader.words(text), places = characters(text)
    assert.deepEqual(found.map(({ word }) => word), words)
    assert.deepEqual(found.map(({ id }) => id), ids)
    assert.deepEqual(found.map(({ start, end }) => [places[start], places[end]]), offsets)
    for (const [word, expected] of Object.entries(spelled)) {
      assert.deepEqual(pieces(word, reader.tokenizer.ids, 10000), expected)
    }
    const own = reader.embed(text)
    assert.equal(own.length, vector.length)
    vector.forEach((x, k) => assert.ok(Math.abs(own[k] - x) < 2e-5, `${k}: ${own[k]}, not ${x}`))
  })
}

test("a word keeps its vector when it comes again, and CRC-32 is that of zlib", () => {
  assert.deepEqual(reader.embed("zorbleflux"), reader.embed("zorbleflux"))
  assert.equal(crc32("123456789"), 0xcbf43926)
})

test("bytes come as a Buffer, an ArrayBuffer or a Uint8Array", async () => {
  const read = name => readFileSync(`${READER}/${name}`), expected = reader.embed("Cold soup.")
  for (const each of [read, name => new Uint8Array(read(name)).buffer, name => new Uint8Array(read(name))]) {
    assert.deepEqual((await load(each)).embed("Cold soup."), expected)
  }
})

test("what is wrong is said", async () => {
  assert.throws(() => reader.predict("soup"), /reader has no labels/)
  assert.throws(() => reader.embed(null), /must be a string/)
  await assert.rejects(load(READER.replace(/reader$/, "reader-fast")), /not complete/)
  await assert.rejects(load("no/such/folder"), /ENOENT/)
  const file = name => new Uint8Array(readFileSync(`${READER}/${name}`))
  await assert.rejects(load(async name => file(name).map((byte, k) => (name === "tokenizer.json" && k === 9 ? 0 : byte))), /checksum/)
})
