// A model behind HTTP, in the place of one that runs in the page (local_model.js).

import { servedAspects } from "./aspects.js"
import { places } from "./edits.js"
import { ask } from "../../page/server.js"
import { taskOf } from "./tasks.js"

export class ServedModel {
  constructor(about) {
    this.about = { ...about, title: about.id }
  }

  async read(texts, off = [], { label = null, against = null } = {}) {
    const { id, pair, labels } = this.about
    const found = await ask("/explain", { model: id, inputs: pair ? texts : texts[0], without_rows: off, truncate: true, joint: off.length === 0, label: labels[label], against: labels[against] })
    const sides = pair ? [found.first, found.second] : [found]
    const probabilities = labels.map(label => sides[0].probabilities[label])
    if (probabilities.includes(undefined)) throw new Error("The model was replaced by one with other classes; reload the page.")
    return { probabilities, ...taskOf(this.about).explained(probabilities, this.about, { label, against }), sides: sides.map((side, k) => sideOf(side, texts[k])), aspects: pair ? undefined : servedAspects(found, texts[0], places(texts[0])) }
  }

  nearest(word) {
    return ask("/explorer/words", { model: this.about.id, text: word })
  }
}

function sideOf({ offsets, known, decided, bias, attention, joint, row_weights: rows }, text) {
  const place = places(text)
  const words = ([first, end]) => text.slice(place(offsets[first][0]), place(offsets[end - 1][1]))
  const together = joint.map(({ first, second, ...falls }) => ({
    first: words(first), second: words(second), between: first[1] === second[0] ? " " : " … ", falls: [falls.without_first, falls.without_second, falls.without_both],
  }))
  return { text, joint: together, words: offsets.map(([start, end], k) => ({ start: place(start), end: place(end), known: known[k] })), decided, bias, attention, rows }
}
