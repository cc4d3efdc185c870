// The data: ways in (confusion, classes, calibration, numbers, map), filters, and the list of texts.

import { parseAddress } from "../../page/address.js"
import { shownEffects, UNITS } from "./aspects.js"
import { ClauseLists, drawAspects, saysOptions } from "./aspects_view.js"
import { drawCalibration } from "./calibration_view.js"
import { drawClasses } from "./classes_view.js"
import { drawConfusion } from "./confusion_view.js"
import { ALL } from "./data_table.js"
import { choice, counted, element, number, percent } from "../../page/dom.js"
import { filterFromAddress, filterToAddress } from "./filter_address.js"
import { MapView } from "../../page/map_view.js"
import { ScatterView } from "./scatter_view.js"
import { VirtualList } from "./virtual_list.js"

const PAUSE = 150 // ms without a key
const MAPS = ["map", "scatter"] // which are drawn once and then repainted
const COUNTS = ["confusion", "classes", "calibration"]
const CONTROLS = "button, select"
const FIGURES = { confusion: "Confusion", scatter: "Predicted and true", classes: "Classes", calibration: "Calibration", map: "Map", aspects: "Aspects" }

export class DataPanel {
  constructor(table, root, explorer) {
    Object.assign(this, { table, root, explorer, filter: { ...ALL }, row: -1, complain: error => explorer.complain(error.message) })
    this.map = new MapView(table, { brush: box => this.change({ box }), open: row => this.open(row) })
    const given = { confusion: table.truth, scatter: table.truth, aspects: table.aspects }
    this.figures = table.task.figures.filter(name => !(name in given) || given[name])
    if (this.figures.includes("scatter")) this.scatter = new ScatterView(table, { brush: area => this.change({ area }), open: row => this.open(row) })
    this.figure = this.figures[0]
    this.clauses = table.aspects && new ClauseLists(table, row => this.open(row), this.complain)
    this.list = new VirtualList("Texts; arrow keys move, Enter goes to the words", {
      draw: row => this.drawItem(row), prepare: rows => this.prepare(rows), choose: row => this.openSoon(row), enter: () => this.enter(),
    })
    this.build()
  }

  build() {
    const { table, root } = this
    const shown = `${table.rows < table.ofRows ? `${number(table.rows)} of ` : ""}${counted(table.ofRows, "text")}`
    this.tabs = element("div", { class: "tabs", role: "group", "aria-label": "Ways into the data" }, this.figures.map(name => element("button",
      { type: "button", "data-figure": name, onclick: () => this.choose(name) }, name === "classes" && table.task.one === "label" ? "Labels" : FIGURES[name])))
    this.holder = element("div", { class: "figure" })
    this.count = element("p", { class: "small count", "aria-live": "polite" })
    this.search = element("input", { type: "search", placeholder: "words in the text", "aria-label": "Words in the text", maxlength: "200" })
    let waiting
    this.search.addEventListener("input", () => {
      clearTimeout(waiting)
      waiting = setTimeout(() => this.change({ find: this.search.value }), PAUSE)
    })
    this.choices = element("div", { class: "choices" })
    const filters = element("div", { class: "filters", role: "group", "aria-label": "Filters" }, element("label", { class: "wide" }, element("span", {}, "Find"), this.search), this.choices)
    root.replaceChildren(element("div", { class: "card" }, element("h2", {}, table.name, " ", element("span", { class: "small" }, `${shown}${this.accuracy()}`)),
      table.told && element("p", { class: "small", "data-part": "told" }, table.told),
      this.tabs, this.holder, filters, this.count, this.list.root))
    root.hidden = false
    const { toData } = this.explorer.parts
    toData.hidden = false
    toData.addEventListener("click", () => {
      root.scrollIntoView()
      this.list.root.focus({ preventScroll: true })
    })
    this.explorer.root.classList.add("with-data")
  }

  accuracy() {
    const { table } = this
    if (!table.truth) return ""
    const shares = table.predicted.map((_, of) => table.task.score(table, of))
    const told = shares.length > 1 ? shares.map((share, of) => `${this.nameOf(of)}: ${share}`).join(", ") : shares[0]
    return ` · ${told}${table.learnt ? `, of the ${counted(table.measured.reduce((sum, one) => sum + one, 0), "text")} not learnt from` : ""}`
  }

  nameOf(of) {
    return this.explorer.models[of].about.title
  }

  // ------------------------------------------------------------ state

  /** The filters, the figure and the row of an address. */
  show(address) {
    const parts = parseAddress(address), figure = parts.get("figure"), row = Number(parts.get("row") ?? -1)
    this.row = Number.isInteger(row) && row < this.table.rows ? row : -1
    if (this.figures.includes(figure)) this.figure = figure
    return this.change(filterFromAddress(address, this.table), true)
  }

  address() {
    const parts = filterToAddress(this.filter, this.table)
    if (this.figure !== this.figures[0]) parts.set("figure", this.figure)
    if (this.row >= 0) parts.set("row", this.row)
    return parts.size ? `&${parts}` : ""
  }

  async change(changes, reveal = false) {
    const filter = this.filter = { ...this.filter, ...changes }
    this.table.fit(filter)
    if (filter.find !== this.looked) {
      const found = filter.find && await this.table.find(filter.find).catch(this.complain)
      if (filter !== this.filter || found === undefined) return
      this.looked = filter.find
      this.found = found ? maskOf(found, this.table.rows) : undefined
    }
    this.rows = this.table.select(filter, this.found)
    if (this.search.value !== filter.find) this.search.value = filter.find
    this.list.show(this.rows, this.row, reveal)
    this.drawFigure()
    this.drawFilters()
    this.explorer.writeAddress()
  }

  choose(figure) {
    this.figure = figure
    this.drawFigure()
    this.explorer.writeAddress()
  }

  /** Show an aspect's clauses in all texts. */
  async showAspect(name) {
    this.figure = "aspects"
    await this.change({ aspect: this.table.aspects.names.indexOf(name), says: "" })
    const { top } = this.root.getBoundingClientRect()
    if (top < 0 || top > innerHeight - 200) this.root.scrollIntoView()
  }

  // ------------------------------------------------------------ texts

  /** Whether texts had to be fetched. */
  async prepare(rows) {
    if (rows.every(row => this.table.known.has(row))) return false
    await this.table.texts(rows).catch(this.complain)
    return true
  }

  openSoon(row) {
    clearTimeout(this.opening)
    this.opening = setTimeout(() => this.open(row), 60)
  }

  async open(row) {
    this.row = row
    const [texts] = await this.table.texts([row]).catch(this.complain) ?? []
    if (!texts || row !== this.row) return // another one was opened meanwhile
    this.list.active = this.rows.indexOf(row)
    if (this.list.active >= 0) this.list.reveal()
    this.list.paint()
    await this.explorer.show(this.explorer.fresh(texts))
    const { top, bottom } = this.explorer.parts.panes.getBoundingClientRect()
    if (bottom < 80 || top > innerHeight - 80) this.explorer.root.scrollIntoView()
  }

  async openFirst() {
    await this.open(this.rows.length ? this.rows[0] : 0)
  }

  enter() {
    this.explorer.panes[0].focusWord(0, 0)
  }

  /** What the data says of the row that is open, while its texts are as they are in the data. */
  truthOf(texts) {
    const { table, row } = this
    if (!table.truth || !this.isOwn(texts)) return undefined
    return table.task.truth(table, row)
  }

  /** The aspects of the row that is open, in the same way. */
  aspectsOf(texts) {
    return this.table.aspects && this.isOwn(texts) ? this.table.aspects.ofRow(this.row, texts[0]) : undefined
  }

  isOwn(texts) {
    return Boolean(this.table.known.get(this.row)?.every((text, k) => text === texts[k]))
  }

  // ------------------------------------------------------------ drawing

  drawItem(row) {
    const { table } = this, { task } = table, texts = table.known.get(row), isJudged = table.truth && !task.isNumber
    const answers = table.predicted.map((_, of) => {
      const isRight = isJudged && table.isRight(row, of)
      return element("span", { class: isJudged ? (isRight ? "is-right" : "is-wrong") : "" }, isJudged && (isRight ? "✓ " : "✗ "),
        task.ofRow(table, row, of).flatMap(([name, after], k) => [k ? ", " : "", element("bdi", {}, name), after]))
    })
    const anyWrong = table.truth && (task.isNumber || table.predicted.some((_, of) => !table.isRight(row, of)))
    return [element("span", { class: "text", dir: "auto" }, texts ? texts.join(" — ").slice(0, 300) : "…"),
      element("span", { class: "answers" }, answers.flatMap((answer, k) => (k ? [" · ", answer] : [answer])),
        anyWrong && [" · true: ", element("bdi", {}, task.truth(table, row))], this.aspectOf(row))]
  }

  /** What a row says about the aspect chosen. */
  aspectOf(row) {
    const { table: { aspects }, filter: { aspect } } = this
    if (aspect < 0 || !aspects.says(row, aspect, "")) return false
    return [" · ", element("bdi", {}, aspects.names[aspect]), ` ${shownEffects([aspects.effect(row, aspect)], aspects.unit)[0]}${UNITS[aspects.unit].after}`]
  }

  drawFigure() {
    const { table, filter, found } = this, { of } = filter
    for (const tab of this.tabs.children) tab.setAttribute("aria-pressed", String(tab.dataset.figure === this.figure))
    const draw = {
      confusion: () => drawConfusion(table, table.confusion(table.mask(filter, found, ["truth", "predicted", "right"]), of), filter,
        (truth, predicted) => this.change({ truth, predicted, right: "" })),
      classes: () => drawClasses(table, table.counts(table.mask(filter, found, ["truth", "predicted"]), of), table.truth ? filter.truth : filter.predicted,
        k => this.change(table.truth ? { truth: k } : { predicted: k })),
      calibration: () => drawCalibration(table, table.calibration(table.mask(filter, found, ["from", "to"]), of, filter.label), filter, changes => this.change(changes)),
      scatter: () => this.scatter.root,
      map: () => this.map.root,
      aspects: () => drawAspects(table, table.aspectSummary(table.mask(filter, found, ["aspect", "says"])), filter, (aspect, says) => this.change({ aspect, says })),
    }[this.figure]
    const focused = this.holder.contains(document.activeElement) && !MAPS.includes(this.figure) ? placeOf(this.holder) : -1
    const made = draw()
    const withClauses = this.figure === "aspects" && filter.aspect >= 0 && filter.says !== "not"
    if (withClauses) this.clauses.show(this.rows, filter.aspect)
    const ofAll = COUNTS.includes(this.figure) && table.countsOf(filter)
    const note = ofAll && element("p", { class: "small", "data-part": "of-all" }, ofAll, " ", element("button", { type: "button", onclick: () => this.change({ learnt: "no" }) }, "Only the others"))
    if (this.holder.firstChild !== made) this.holder.replaceChildren(made, ...(note ? [note] : []), ...(withClauses ? [this.clauses.root] : []))
    if (this.figure === "map") this.map.show(table.mask(filter, found, ["box"]), filter)
    if (this.figure === "scatter") this.scatter.show(table.mask(filter, found, ["area"]), { ...filter, box: filter.area })
    if (focused >= 0) this.holder.querySelectorAll(CONTROLS)[focused]?.focus()
  }

  drawFilters() {
    const { table, filter } = this, { isNumber } = table.task, classes = [["-1", "any"], ...table.labels.map((label, k) => [k, label])]
    const active = this.choices.contains(document.activeElement) && document.activeElement.closest("label")?.firstElementChild.textContent
    const select = (label, name, options, number) => choice(label, options, filter[name], value => this.change({ [name]: number ? Number(value) : value }))
    this.choices.replaceChildren(...[
      table.truth && !isNumber && select("Result", "right", [["", "right or wrong"], ["right", "right"], ["wrong", "wrong"]]),
      table.truth && !isNumber && select("True", "truth", classes, true),
      !isNumber && select("Predicted", "predicted", classes, true),
      table.learnt && select("Learnt from", "learnt", [["", "any"], ["yes", "yes"], ["no", "no"]]),
      table.models > 1 && !isNumber && select("Models", "differ", [["", "all texts"], ["differ", "they differ"], ["agree", "they agree"],
        ...(table.truth ? [["first", `only ${this.nameOf(0)} is right`], ["second", `only ${this.nameOf(1)} is right`]] : [])]),
      table.models > 1 && select("Predictions of", "of", [0, 1].map(of => [of, this.nameOf(of)]), true),
      table.aspects && select("Aspect", "aspect", [["-1", "any"], ...table.aspects.names.map((name, k) => [k, name])], true),
      filter.aspect >= 0 && select("It is", "says", saysOptions(table.aspects)),
      select("Order", "sort", [["", "as in the data"], ...Object.entries(table.orders(filter)).map(([name, [text]]) => [name, text])]),
    ].filter(Boolean))
    if (active) [...this.choices.children].find(label => label.firstElementChild.textContent === active)?.querySelector("select").focus()
    const chip = (text, changes) => element("button", { type: "button", onclick: () => this.change(changes) }, `${text} ×`)
    const isFiltered = Object.keys(ALL).some(name => !["sort", "of", "label"].includes(name) && filter[name] !== ALL[name])
    this.count.replaceChildren(...[`${number(this.rows.length)} of ${counted(table.rows, "text")}`,
      (filter.from > 0 || filter.to < 1) && chip(`${table.task.hasSeveral ? `probability ${filter.label < 0 ? "of a label" : `of ${table.labels[filter.label]}`}` : "confidence"} ${percent(filter.from, 0)} to ${percent(filter.to, 0)}`, { from: 0, to: 1 }),
      filter.area && chip("in the rectangle of numbers", { area: null }),
      filter.box && chip("in the rectangle of the map", { box: null }),
      isFiltered && element("button", { type: "button", "data-part": "clear", onclick: () => this.change({ ...ALL, sort: filter.sort, of: filter.of }) }, "Clear filters")].filter(Boolean))
  }
}

function maskOf(rows, count) {
  const mask = new Uint8Array(count)
  for (const row of rows) mask[row] = 1
  return mask
}

/** Which of its controls has the focus. */
function placeOf(holder) {
  return [...holder.querySelectorAll(CONTROLS)].indexOf(document.activeElement)
}
