// The texts as a map: a rectangle drawn on it becomes a class with one key.

import { counted, element } from "../../page/dom.js"
import { SampleForm } from "./label_many.js"
import { MapView } from "../../page/map_view.js"

const ABOUT = "The two directions in which the texts differ most. Drag a rectangle; c makes a class of its texts without a label, the key of a class gives them that one. Click a dot to label its text."

export class LabelMap {
  constructor(page) {
    this.page = page
    this.root = element("div", {})
  }

  async show() {
    const { rows, places, labels } = await this.page.ask("map", {}), { classes } = this.page
    this.rows = rows
    this.free = labels.map(label => label === null)
    const groups = Int32Array.from(labels, label => (label === null ? classes.length : classes.indexOf(label)))
    const table = { rows: rows.length, places: Float32Array.from(places.flat()), groups: () => ({ values: groups, names: [...classes, "without a label"] }) }
    this.map = new MapView(table, { brush: box => this.brush(box), open: k => this.page.goTo(rows[k]), about: ABOUT })
    this.below = element("div", {})
    this.selected = []
    this.root.replaceChildren(element("section", { class: "card" }, element("h2", {}, "Map"), this.map.root, this.below))
    this.page.parts.view.replaceChildren(this.root) // it can be drawn only where it is seen
    this.map.show(new Uint8Array(rows.length).fill(1), { of: 0, box: null })
  }

  brush(box) {
    const { places } = this.map.table
    this.map.filter = { of: 0, box }
    this.map.drawFrame(box)
    const inside = k => places[2 * k] >= box[0] && places[2 * k] <= box[2] && places[2 * k + 1] >= box[1] && places[2 * k + 1] <= box[3]
    this.selected = box ? this.rows.filter((_, k) => this.free[k] && inside(k)) : []
    clearTimeout(this.waiting)
    this.waiting = setTimeout(() => this.page.guarded(() => this.look()), 200) // when the hand has come to rest
  }

  async look() {
    const { selected } = this
    if (!selected.length) return this.below.replaceChildren()
    const found = await this.page.ask("select", { rows: selected })
    if (selected !== this.selected) return
    this.name = found.words.slice(0, 2).join(" ") || "selection"
    this.below.replaceChildren(element("p", { class: "selected" }, `${counted(selected.length, "text")} without a label: ${found.words.join(", ")}`),
      new SampleForm(this.page, selected, found.sample, this.name, (label, rows, checked) => this.give(label, rows, checked)).root)
  }

  async give(label, rows = this.selected, checked = []) {
    await this.page.accept(rows, label, "group", checked)
    await this.show()
  }

  key(event) {
    const name = event.key === "c" ? this.name : this.page.classFor(event)
    if (!this.selected?.length || name === undefined) return false
    this.page.guarded(() => this.give(name))
    return true
  }
}
