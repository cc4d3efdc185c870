// A model that runs in the page. A page uses any model by what is here: `about`, `read` and `nearest`.

import { decidePair, decideText, dot, withZeros } from "./decided.js"
import { findJoint } from "./joint.js"
import { Network } from "./network.js"
import { taskOf } from "./tasks.js"
import { Tokenizer, UNKNOWN } from "./tokenizer.js"

export class LocalModel {
  constructor(file) {
    this.about = { ...file.about, title: file.about.name } // task, labels, pair, rowNames, captions, ...
    this.recipe = file.recipe
    this.tokenizer = new Tokenizer(file.tokenizer)
    this.network = new Network(file.recipe, file.tensors, file.vector)
    this.vector = file.vector
    this.similarTo = file.similarTo
  }

  /**
   * Read a text or a pair, without the rows whose numbers are in `off`: {probabilities, predicted, target, label, against, sides}.
   * What decided is about the class `target`: `label` if one asked for it, else the predicted one; rather than `against`
   * if that is not null. Of a number, `probabilities` has it alone.
   * A side is {text, words: [{start, end, known, readAs}], decided (n), bias, attention (r of n), rows (r)}; a pair has no bias.
   */
  async read(texts, off = [], wanted = {}) {
    const { network } = this
    const sides = texts.map(text => this.encode(text))
    const M = sides.map(side => withZeros(side.M, off))
    const [units] = network.classify([M])
    const task = taskOf(this.about), probabilities = task.activate(units.logits)
    const explained = task.explained(probabilities, this.about, wanted), asked = task.question(this.about, explained)
    const decided = this.about.pair
      ? decidePair(network, units, asked, sides, M, off)
      : [decideText(network, units, asked, sides[0], M[0], off)]
    return {
      ...explained,
      probabilities,
      sides: sides.map((side, k) => ({
        text: texts[k],
        words: side.located.map(({ start, end, id }) => ({ start, end, known: id !== UNKNOWN, readAs: this.tokenizer.words[this.similarTo(id)] })),
        decided: [...decided[k].words],
        bias: decided[k].bias,
        attention: side.A.map(row => [...row]),
        rows: decided[k].rows,
      })),
    }
  }

  /** Words that are read together, for each text, as `jointLine` tells them; it takes a while. */
  joint(texts, { sides, ...explained }) {
    const rules = this.about.joint, minJoint = explained.label === null && explained.against === null ? rules.minAnswer : rules.minJoint
    if (minJoint === null) return texts.map(() => []) // a number has no scale of its own to say what is much
    const asked = taskOf(this.about).question(this.about, explained)
    const located = texts.map(text => this.locate(text)), M = located.map(words => this.network.encode(words.map(word => word.id)).M)
    return findJoint({ ...rules, minJoint }, located.map((words, k) => ({ text: texts[k], words, decided: sides[k].decided })), (side, gone) => {
      const ids = located[side].filter((_, k) => !gone.has(k)).map(word => word.id)
      const changed = gone.size ? M.map((own, k) => (k === side ? this.network.encode(ids.length ? ids : [UNKNOWN]).M : own)) : M
      return asked.value(this.network.classify([changed])[0].logits)
    })
  }

  locate(text) {
    return this.tokenizer.locate(text).slice(0, this.recipe.max_length || undefined)
  }

  encode(text) {
    const located = this.locate(text)
    return { located, ...this.network.encode(located.map(word => word.id)) }
  }

  /** The words whose vectors point most nearly the same way. */
  async nearest(word, count = 6) {
    const [{ id }] = this.tokenizer.locate(word)
    if (id === UNKNOWN) return []
    const { words } = this.tokenizer, own = this.vector(id), found = []
    for (let k = UNKNOWN + 1; k < words.length && this.similarTo(k) === undefined; k++) { // only those it has in full
      const vector = this.vector(k)
      if (k !== id) found.push([dot(own, vector) / (Math.sqrt(dot(vector, vector)) || 1), words[k]])
    }
    return found.sort((a, b) => b[0] - a[0]).slice(0, count).map(([, other]) => other)
  }
}
