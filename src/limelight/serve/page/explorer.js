// The page: a text or a pair, the answer, what decided, what each row read, live at each pause in typing.

import { fromAddress, toAddress } from "./address.js"
import { drawAnswer } from "./answer.js"
import { element, largestOf, percent } from "./dom.js"
import { edited, weightsAt } from "./edits.js"
import { drawRows, rowTotals } from "./rows_view.js"
import { savePicture } from "./save.js"
import { drawTable } from "./table_view.js"
import { drawText, repaint, saysDecided } from "./text_view.js"
import { closeMenu, openMenu } from "./word_menu.js"

const PAUSE = 120 // ms without a key
const FIRST_ROWS = 10 // shown until one asks for all
// a row reads a word if it gives it so many times an even share, or so much
const TIMES = 2, SHARE = 0.15

export class Explorer {
  constructor(model, root) {
    this.model = model
    this.root = root
    this.parts = {}
    for (const part of root.querySelectorAll("[data-part]")) this.parts[part.dataset.part] = part
    this.inputs = [...root.querySelectorAll("textarea")].slice(0, this.sides)
    this.started = 0 // readings begun: only the latest is drawn
    this.introduce()
    this.listen()
    this.show(fromAddress(location.hash, this.sides, model.about.rows) ?? this.fresh(model.about.examples[0] ?? [""]))
  }

  get sides() {
    return this.model.about.pair ? 2 : 1
  }

  fresh(texts) {
    return { texts: [...texts], edits: texts.map(() => new Map()), off: new Set() }
  }

  /** What stays the same while one types. */
  introduce() {
    const { about } = this.model, { parts } = this
    parts.title.textContent = about.name
    parts.what.textContent = about.pair ? "two texts" : "a text"
    parts.rowsLine.textContent = `${about.rowsLine} The bar says how much a row adds to the answer. Point at a row to see its words; switch it off to see the answer without it.`
    this.root.classList.toggle("pair", about.pair)
    this.root.querySelectorAll("textarea")[1].closest("label").hidden = !about.pair
    const words = about.words < about.ofWords
      ? `The page has ${about.words.toLocaleString("en")} of the model's ${about.ofWords.toLocaleString("en")} words, the most frequent ones; all others are read as one unknown word.`
      : `The page has all of the model's ${about.words.toLocaleString("en")} words.`
    parts.about.replaceChildren(...[about.method, about.trust, words, "The model runs in this page. It needs no network, and nothing that is typed leaves it."]
      .map(sentence => element("p", {}, sentence)))
  }

  listen() {
    let waiting
    for (const input of this.inputs) {
      input.addEventListener("input", () => {
        clearTimeout(waiting)
        waiting = setTimeout(() => this.show({ ...this.fresh(this.inputs.map(each => each.value)), off: this.state.off }), PAUSE)
      })
    }
    addEventListener("hashchange", () => {
      const state = fromAddress(location.hash, this.sides, this.model.about.rows)
      if (state && toAddress(state) !== toAddress(this.state)) this.show(state)
    })
    const { examples, back, rest, table, svg, png, html } = this.parts
    examples.append(...this.model.about.examples.map(texts => element("button", { type: "button",
      onclick: () => this.show({ ...this.fresh(texts), off: this.state.off }) }, texts.join(" / "))))
    back.addEventListener("click", () => this.show(this.fresh(this.state.texts)))
    table.closest("details").addEventListener("toggle", () => this.drawTable())
    rest.addEventListener("click", () => {
      this.allRows = true
      this.draw()
    })
    for (const [kind, button] of Object.entries({ svg, png, html })) {
      button.addEventListener("click", () => savePicture(kind, this))
    }
  }

  /** Read and draw a state. */
  async show(state) {
    const turn = ++this.started
    const before = await this.model.read(state.texts)
    const plans = state.texts.map((text, k) => edited(text, before.sides[k].words, known(state.edits[k], before.sides[k])))
    const isChanged = state.off.size > 0 || state.edits.some(changes => changes.size > 0)
    const now = isChanged ? await this.model.read(plans.map(plan => plan.text), [...state.off]) : before
    if (turn !== this.started) return
    const moved = !this.state || state.texts.some((text, k) => text !== this.state.texts[k])
    Object.assign(this, { state, before, now, plans, isChanged })
    if (moved) this.order = [...rowTotals(now).keys()].sort((a, b) => Math.abs(rowTotals(now)[b]) - Math.abs(rowTotals(now)[a]))
    this.draw()
    try {
      history.replaceState(null, "", toAddress(state))
    } catch { // a frame without an address of its own, as in a notebook
    }
  }

  change(side, k, word) {
    const edits = this.state.edits.map(changes => new Map(changes))
    if (word === undefined) edits[side].delete(k)
    else edits[side].set(k, word)
    this.focused = [side, k]
    this.show({ ...this.state, edits })
  }

  toggle(row) {
    const off = new Set(this.state.off)
    if (!off.delete(row)) off.add(row)
    this.show({ ...this.state, off })
  }

  // ------------------------------------------------------------ drawing

  draw() {
    const { parts, state, now, before, isChanged } = this, { about } = this.model
    this.inputs.forEach((input, k) => { if (input.value !== state.texts[k]) input.value = state.texts[k] })
    parts.answer.replaceChildren(...drawAnswer(about.labels, now, isChanged && before).filter(Boolean))
    parts.colours.textContent = `Orange words support “${about.labels[now.predicted]}”, blue words speak against it.`
    parts.back.hidden = !isChanged
    this.drawWords()
    const focusedRow = parts.rows.contains(document.activeElement) && document.activeElement.closest("[data-row]")?.dataset.row
    const order = this.allRows ? this.order : this.order.slice(0, FIRST_ROWS)
    parts.rows.replaceChildren(drawRows(about, now, state.off, order, {
      point: row => this.pointAtRow(row), leave: () => this.unpoint(), toggle: row => this.toggle(row),
    }))
    if (focusedRow) parts.rows.querySelector(`[data-row="${focusedRow}"] input`)?.focus()
    parts.rest.hidden = order.length === this.order.length
    parts.rest.textContent = `Show all ${this.order.length} rows`
    this.drawTable()
    parts.unknown.hidden = !now.sides.some(side => side.words.some(word => !word.known && word.end > word.start))
  }

  /** Thousands of cells: only for those who look at them. */
  drawTable() {
    const { table } = this.parts
    table.replaceChildren(...(table.closest("details").open ? drawTable(this.model.about, this.now) : []))
  }

  drawWords() {
    const { parts, state, before, now, plans } = this
    const weights = this.weights(side => side.decided), top = largestOf(weights.flat())
    this.texts = state.texts.map((text, k) => {
      const { words } = before.sides[k]
      const isKnown = weightsAt(plans[k].places, now.sides[k].words, now.sides[k].words.map(word => (word.known ? 0 : 1)))
      return drawText({ text, words, weights: weights[k], top, edits: state.edits[k], says: saysDecided,
        known: isKnown.map(unknown => !unknown) }, this.wordActions(k))
    })
    parts.words.replaceChildren(...this.texts)
    if (this.focused) {
      const [side, k] = this.focused
      this.texts[side].querySelector(`[data-word="${k}"]`)?.focus()
      this.focused = undefined
    }
  }

  wordActions(side) {
    return {
      point: k => this.pointAtWord(side, k),
      leave: () => this.unpoint(),
      leaveOut: k => this.change(side, k, this.state.edits[side].get(k) === "" ? undefined : ""),
      choose: (k, button) => {
        const { start, end } = this.before.sides[side].words[k]
        openMenu(this.parts.words, button, this.state.texts[side].slice(start, end), this.state.edits[side].get(k),
          word => this.model.nearest(word), change => this.change(side, k, change))
      },
    }
  }

  /** For each text, a weight for each of its words, from what the model read. */
  weights(of) {
    return this.now.sides.map((side, k) => weightsAt(this.plans[k].places, side.words, of(side)))
  }

  // ------------------------------------------------------------ pointing

  /** Light up the words of a row. */
  pointAtRow(row) {
    const weights = this.weights(side => side.attention[row]), top = largestOf(weights.flat())
    this.texts.forEach((holder, k) => repaint(holder, weights[k], top))
    this.parts.colours.textContent = `What row ${row + 1} read: the stronger the colour, the more.`
  }

  /** Light up the rows that read a word. */
  pointAtWord(side, k) {
    const even = 1 / this.now.sides[side].words.length
    const readers = []
    for (const item of this.parts.rows.querySelectorAll("[data-row]")) {
      const row = Number(item.dataset.row)
      const share = this.weights(each => each.attention[row])[side][k]
      const reads = share >= Math.min(SHARE, TIMES * even)
      item.classList.toggle("lit", reads)
      if (reads) readers.push(`row ${row + 1} (${percent(share)})`)
    }
    this.parts.readers.textContent = readers.length ? `Read by ${readers.slice(0, 4).join(", ")}${readers.length > 4 ? " …" : ""}` : "No row reads this word in particular."
  }

  unpoint() {
    const weights = this.weights(side => side.decided), top = largestOf(weights.flat())
    this.texts.forEach((holder, k) => repaint(holder, weights[k], top))
    this.parts.colours.textContent = `Orange words support “${this.model.about.labels[this.now.predicted]}”, blue words speak against it.`
    this.parts.readers.textContent = ""
    for (const item of this.parts.rows.querySelectorAll(".lit")) item.classList.remove("lit")
  }
}

/** The edits of words that there are: an address may name others. */
function known(edits, side) {
  for (const k of edits.keys()) if (k >= side.words.length) edits.delete(k)
  return edits
}

document.addEventListener("click", event => {
  if (!event.target.closest?.(".menu, .words")) document.querySelectorAll("[data-part=words]").forEach(closeMenu)
})
