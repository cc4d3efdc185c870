// A text whose words can be marked as the reason: with a stroke of the mouse or finger, or with the keys.
// Places are counted in characters as Python counts them, which are not those of JavaScript.

import { colour, element, largestOf, withSign } from "../../page/dom.js"

const ALONE = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/u // scripts without spaces: each character is a word

/** [{start, end, text}] of the words of a text. */
export function wordsOf(text) {
  const found = [], characters = [...text]
  let from = -1
  const end = at => {
    if (from >= 0) found.push({ start: from, end: at, text: characters.slice(from, at).join("") })
    from = -1
  }
  characters.forEach((character, at) => {
    if (/\s/u.test(character) || ALONE.test(character)) end(at)
    if (!/\s/u.test(character) && from < 0) from = at
    if (ALONE.test(character)) end(at + 1)
  })
  end(characters.length)
  return found
}

export class MarkedText {
  constructor(text, marks = []) {
    this.words = wordsOf(text)
    this.marked = new Set(this.words.flatMap(({ start, end }, k) => (marks.some(([from, to]) => from < end && start < to) ? [k] : [])))
    this.at = -1 // the word that the arrow keys are at
    this.root = this.draw(text)
  }

  /** Neighbouring words are one span. */
  get marks() {
    const spans = []
    for (const k of [...this.marked].sort((a, b) => a - b)) {
      const last = spans.at(-1)
      if (last && this.marked.has(k - 1)) last[1] = this.words[k].end
      else spans.push([this.words[k].start, this.words[k].end])
    }
    return spans
  }

  draw(text) {
    const characters = [...text], parts = []
    let from = 0
    this.spans = this.words.map(({ start, end, text: word }, k) => {
      parts.push(characters.slice(from, start).join(""))
      from = end
      const span = element("span", { class: "markable", "data-word": k }, word)
      parts.push(span)
      return span
    })
    parts.push(characters.slice(from).join(""))
    const root = element("p", { class: "words", dir: "auto", "aria-label": "The text. Shift and the arrow keys mark words as the reason." }, parts)
    this.listen(root)
    this.paint()
    return root
  }

  listen(root) {
    let first
    const wordAt = event => Number(document.elementFromPoint(event.clientX, event.clientY)?.closest("[data-word]")?.dataset.word ?? NaN)
    root.addEventListener("pointerdown", event => {
      const k = wordAt(event)
      if (Number.isNaN(k)) return
      event.preventDefault() // no selection of text
      first = { word: k, on: !this.marked.has(k), before: new Set(this.marked) }
      root.setPointerCapture(event.pointerId)
      this.stroke(first, k)
    })
    root.addEventListener("pointermove", event => {
      const k = wordAt(event)
      if (first && !Number.isNaN(k)) this.stroke(first, k)
    })
    root.addEventListener("pointerup", () => { first = undefined })
  }

  /** From the word where it began to word k, marked or not as the first one becomes. */
  stroke({ word, on, before }, k) {
    this.marked = new Set(before)
    for (let each = Math.min(word, k); each <= Math.max(word, k); each++) on ? this.marked.add(each) : this.marked.delete(each)
    this.paint()
  }

  /** Arrow keys move, with Shift they mark; true if the key was used. */
  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
    if (!step || !this.words.length) return false
    const to = this.at < 0 ? (step > 0 ? 0 : this.words.length - 1) : this.at + step
    if (to >= 0 && to < this.words.length) this.at = to
    if (event.shiftKey) {
      this.marked.has(this.at) && event.repeat === false && to === this.at && this.lastStep && this.lastStep !== step ? this.marked.delete(this.at) : this.marked.add(this.at)
    }
    this.lastStep = step
    this.paint()
    return true
  }

  /** Mark or free the word that the arrow keys are at. */
  toggle() {
    if (this.at < 0) return false
    this.marked.delete(this.at) || this.marked.add(this.at)
    this.paint()
    return true
  }

  paint() {
    this.spans.forEach((span, k) => {
      span.classList.toggle("marked", this.marked.has(k))
      span.classList.toggle("at", k === this.at)
    })
  }
}

/** A text with the words of an answer, coloured by what they add. */
export function drawDecided(text, words) {
  const characters = [...text], parts = [], top = largestOf(words.map(each => each.weight))
  let from = 0
  for (const { start, end, weight } of words) {
    if (end <= start) continue
    parts.push(characters.slice(from, start).join(""), element("span", { class: `word ${colour(weight, top)}`, title: withSign(weight) }, characters.slice(start, end).join("")))
    from = end
  }
  parts.push(characters.slice(from).join(""))
  return element("p", { class: "words", dir: "auto" }, parts)
}
