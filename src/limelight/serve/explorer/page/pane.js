// What one model makes of a text or a pair: the answer, what decided, what each row read.

import { drawAnswer } from "./answer.js"
import { aspectLines, NOT_HERE, STARS_LINE } from "./aspects.js"
import { choice, largestOf, partsOf, percent } from "../../page/dom.js"
import { at, edited, weightsAt } from "./edits.js"
import { joinContractions } from "./pieces.js"
import { drawRows, rowTotals } from "./rows_view.js"
import { coloursLine, differsLine, jointLine, rowsSummary, sumLine } from "./sentences.js"
import { drawTable } from "./table_view.js"
import { drawTextAspects } from "./text_aspects.js"
import { taskOf } from "./tasks.js"
import { drawText, repaint } from "./text_view.js"
import { openMenu } from "./word_menu.js"

const FIRST_ROWS = 10, FIRST_BESIDE = 5 // shown until one asks for all
const JOINT_PAUSE = 300 // ms after the answer
// a row reads a word if it gives it so many times an even share, or so much
const TIMES = 2, SHARE = 0.15

export class Pane {
  /** `on` has change(side, k, word), toggle(row) and ask({label, against}); `classes` are those of the first model. */
  constructor(model, on, classes) {
    Object.assign(this, { model, on, classes })
    this.root = document.getElementById("pane").content.firstElementChild.cloneNode(true)
    this.parts = partsOf(this.root)
    const { about } = model, { parts } = this
    parts.name.textContent = about.title
    parts.dotted.textContent = about.dotted
    parts.rowsLine.textContent = `${about.rowsLine} The bar says how much a row adds to the answer. Point at a row to see its words; switch it off to see the answer without it.`
    this.drawQuestion()
    parts.table.closest("details").addEventListener("toggle", () => this.drawTable())
    parts.fold.addEventListener("toggle", () => parts.columns.classList.toggle("unfolded", parts.fold.open))
    parts.rest.addEventListener("click", () => {
      this.allRows = true
      this.drawRows()
    })
  }

  /** What the model makes of the texts with their edits, without the rows in `off`; nothing is drawn yet. */
  async read({ texts, edits, label, against }, off) {
    const place = name => { const k = this.model.about.labels.indexOf(name); return k < 0 ? null : k }
    const asked = { label: place(label), against: place(label === against ? undefined : against) }
    const before = await this.ask(texts, [], asked)
    const own = edits.map((changes, k) => new Map([...changes].filter(([word]) => word < before.sides[k].words.length)))
    const plans = texts.map((text, k) => edited(text, before.sides[k].words, own[k]))
    const isChanged = off.size > 0 || own.some(changes => changes.size > 0)
    const now = isChanged ? await this.ask(plans.map(plan => plan.text), [...off], asked) : before
    return { texts, edits: own, off, before, now, plans, isChanged }
  }

  async ask(texts, off, asked) {
    const reading = await this.model.read(texts, off, asked)
    return { ...reading, joint: () => this.model.joint?.(texts, reading), sides: reading.sides.map(joinContractions) }
  }

  /** Draw a reading; `truth` is what the data says, and `aspects` what the data has of the text, if they are known. */
  draw(reading, truth, aspects) {
    const moved = !this.texts || reading.texts.some((text, k) => text !== this.texts[k])
    Object.assign(this, reading)
    const totals = rowTotals(this.now)
    if (moved) this.order = [...totals.keys()].sort((a, b) => Math.abs(totals[b]) - Math.abs(totals[a]))
    const { parts, now, before, isChanged, off } = this
    parts.answer.replaceChildren(...drawAnswer(this.model.about, now, { first: this.classes, before: isChanged && before, truth, ask: this.on.ask, range: this.on.range(), isOpen: Boolean(parts.answer.querySelector("details")?.open) }).filter(Boolean))
    this.sayQuestion()
    this.sayColours()
    this.drawWords()
    this.drawRows()
    this.drawTable()
    this.drawAspects(now.aspects ?? (isChanged || now.label !== null || now.against !== null ? undefined : aspects))
    parts.unknown.hidden = !now.sides.some(side => side.words.some(word => readAs(word) && word.end > word.start))
    sayIn(parts.sum, sumLine(now, this.model.about))
    sayIn(parts.joint, jointLine(now, this.model.about))
    if (this.model.joint && !off.size) setTimeout(() => this.sayJoint(now), JOINT_PAUSE)
    sayIn(parts.rowsSummary, rowsSummary(this.model.about, now, totals))
    if (off.size) parts.fold.open = true
    sayIn(parts.differs, differsLine(this.model.about, now))
  }

  /** A model in the page looks for words that are read together once it has answered, unless one has typed on. */
  sayJoint(now) {
    if (now !== this.now || now.sides[0].joint) return
    now.joint().forEach((found, k) => { now.sides[k].joint = found })
    sayIn(this.parts.joint, jointLine(now, this.model.about))
  }

  /** Where one chooses which answer is explained, and rather than which one; once, so that the focus stays there. */
  drawQuestion() {
    const { parts, model: { about } } = this, task = taskOf(about), all = [...about.labels.entries()]
    const ask = name => k => this.on.ask({ [name]: about.labels[k] })
    parts.question.hidden = Boolean(task.isNumber)
    parts.question.append(choice("Explain", [["", "the answer"], ...all], "", ask("label")),
      ...(task.asks === "against" ? [choice("rather than", [["", "any other"], ...all], "", ask("against"))] : []))
  }

  sayQuestion() {
    const [first, second] = this.parts.question.querySelectorAll("select"), { label, target, against } = this.now
    first.value = label ?? ""
    if (!second) return
    second.value = against ?? ""
    for (const option of second.options) option.disabled = option.value === String(target)
  }

  sayColours() {
    this.parts.colours.textContent = coloursLine(this.now, this.model.about)
  }

  /** Of a text that is not as it was in the data, a page that cannot work them out says so. */
  drawAspects(found) {
    const { parts, model: { about } } = this, lines = found && aspectLines(found)
    parts.aspectsCard.hidden = !found && !about.notHere
    parts.aspects.replaceChildren(...(found ? [drawTextAspects(found, this.on.showAspect)] : []))
    sayIn(parts.aspectsLine, found?.unit === "stars" ? STARS_LINE : "")
    sayIn(parts.aspectsSum, lines?.sum ?? "")
    sayIn(parts.aspectsMissing, lines?.missing ?? NOT_HERE)
  }

  drawRows() {
    const { parts, now, off } = this
    const focused = parts.rows.contains(document.activeElement) && document.activeElement.closest("[data-row]")?.dataset.row
    const order = this.allRows ? this.order : this.order.slice(0, parts.name.hidden ? FIRST_ROWS : FIRST_BESIDE)
    parts.rows.replaceChildren(drawRows(this.model.about, now, off, order, {
      point: row => this.pointAtRow(row), leave: () => this.unpoint(), toggle: row => this.on.toggle(row),
    }))
    if (focused) parts.rows.querySelector(`[data-row="${focused}"] input`)?.focus()
    parts.rest.hidden = order.length === this.order.length
    parts.rest.textContent = `Show all ${this.order.length} rows`
  }

  /** Thousands of cells: only for those who look at them. */
  drawTable() {
    const { table } = this.parts
    table.replaceChildren(...(table.closest("details").open && this.now ? drawTable(this.model.about, this.now) : []))
  }

  drawWords() {
    const { parts, before, now, plans } = this
    const weights = this.weights(side => side.decided), top = largestOf(weights.flat())
    this.notes = now.sides.map(({ words }, k) => at(plans[k].places, words).map(found => found.map(readAs).find(Boolean) ?? ""))
    this.holders = this.texts.map((text, k) => drawText({ text, words: before.sides[k].words, weights: weights[k], top,
      edits: this.edits[k], notes: this.notes[k] }, this.wordActions(k)))
    parts.words.replaceChildren(...this.holders)
  }

  wordActions(side) {
    return {
      point: k => this.pointAtWord(side, k),
      leave: () => this.unpoint(),
      leaveOut: k => this.on.change(side, k, this.edits[side].get(k) === "" ? undefined : ""),
      choose: (k, button) => {
        const { start, end } = this.before.sides[side].words[k]
        openMenu(this.parts.words, button, this.texts[side].slice(start, end), this.edits[side].get(k),
          word => this.model.nearest(word), change => this.on.change(side, k, change))
      },
    }
  }

  focusWord(side, k) {
    this.holders[side].querySelector(`[data-word="${k}"]`)?.focus()
  }

  /** For each text, a weight for each of its words, from what the model read. */
  weights(of) {
    return this.now.sides.map((side, k) => weightsAt(this.plans[k].places, side.words, of(side)))
  }

  // ------------------------------------------------------------ pointing

  /** Colour the words by other weights. */
  paint(of) {
    const weights = this.weights(of), top = largestOf(weights.flat())
    this.holders.forEach((holder, k) => repaint(holder, weights[k], top))
  }

  /** Light up the words of a row. */
  pointAtRow(row) {
    this.paint(side => side.attention[row])
    this.parts.colours.textContent = `What row ${row + 1} read: the stronger the colour, the more.`
  }

  /** Light up the rows that read a word. */
  pointAtWord(side, k) {
    if (!this.parts.fold.open) {
      this.parts.readers.textContent = this.notes[side][k].replace("r", "R")
      return
    }
    const even = 1 / this.now.sides[side].words.length, readers = []
    for (const item of this.parts.rows.querySelectorAll("[data-row]")) {
      const row = Number(item.dataset.row)
      const share = this.weights(each => each.attention[row])[side][k]
      const reads = share >= Math.min(SHARE, TIMES * even)
      item.classList.toggle("lit", reads)
      if (reads) readers.push(`row ${row + 1} (${percent(share)})`)
    }
    const by = readers.length ? `by ${readers.slice(0, 4).join(", ")}${readers.length > 4 ? " …" : ""}` : "by no row in particular"
    this.parts.readers.textContent = `${this.notes[side][k] || "read"} ${by}`.replace("r", "R")
  }

  unpoint() {
    this.paint(side => side.decided)
    this.sayColours()
    this.parts.readers.textContent = ""
    for (const item of this.parts.rows.querySelectorAll(".lit")) item.classList.remove("lit")
  }
}

function sayIn(part, line) {
  part.textContent = line
  part.hidden = !line
}

/** How a word is read that the model does not have in full. */
function readAs({ known, readAs: other }) {
  return other ? `read as “${other}”` : known ? "" : "read as an unknown word"
}
