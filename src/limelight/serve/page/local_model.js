// A model that runs in the page. A page uses any model by what is here: `about`, `read` and `nearest`.

import { decidePair, decideText, dot, withZeros } from "./decided.js"
import { Network, softmax } from "./network.js"
import { Tokenizer, UNKNOWN } from "./tokenizer.js"

export class LocalModel {
  constructor(file) {
    this.about = file.about // title, labels, pair, rowNames, captions, ...
    this.recipe = file.recipe
    this.tokenizer = new Tokenizer(file.tokenizer)
    this.network = new Network(file.recipe, file.tensors, file.vector)
    this.vector = file.vector
    this.directions = []
  }

  /**
   * Read a text or a pair, without the rows whose numbers are in `off`: {probabilities, predicted, sides}.
   * A side is {text, words: [{start, end, known}], decided (n), attention (r of n), rows (r)}.
   */
  async read(texts, off = []) {
    const { network } = this
    const sides = texts.map(text => this.encode(text))
    const M = sides.map(side => withZeros(side.M, off))
    const [units] = network.classify([M])
    const probabilities = softmax(units.logits)
    const predicted = probabilities.indexOf(Math.max(...probabilities))
    const decided = this.about.pair
      ? decidePair(network, units, predicted, sides, M, off)
      : [decideText(network, units, predicted, sides[0], M[0], off)]
    return {
      probabilities: [...probabilities],
      predicted,
      sides: sides.map((side, k) => ({
        text: texts[k],
        words: side.located.map(({ start, end, id }) => ({ start, end, known: id !== UNKNOWN })),
        decided: [...decided[k].words],
        attention: side.A.map(row => [...row]),
        rows: decided[k].rows,
      })),
    }
  }

  encode(text) {
    const located = this.tokenizer.locate(text).slice(0, this.recipe.maxLength || undefined)
    return { located, ...this.network.encode(located.map(word => word.id)) }
  }

  /** The words whose vectors point most nearly the same way. */
  async nearest(word, count = 6) {
    const [{ id }] = this.tokenizer.locate(word)
    if (id === UNKNOWN) return []
    const { words } = this.tokenizer, own = this.direction(id), scores = new Float32Array(words.length)
    for (let k = UNKNOWN + 1; k < words.length; k++) scores[k] = k === id ? -1 : dot(own, this.direction(k))
    const order = [...words.keys()].slice(UNKNOWN + 1).sort((a, b) => scores[b] - scores[a])
    return order.slice(0, count).map(k => words[k])
  }

  /** A word's vector with length 1. */
  direction(id) {
    return (this.directions[id] ??= unit(this.vector(id)))
  }
}

function unit(vector) {
  const length = Math.sqrt(dot(vector, vector)) || 1
  return vector.map(x => x / length)
}
