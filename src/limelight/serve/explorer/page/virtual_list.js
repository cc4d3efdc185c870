// A list of any length: only the rows in sight are in the page. Arrow keys, Page Up, Page Down, Home and End move.

import { element } from "../../page/dom.js"

const MARGIN = 6 // rows drawn above and below those in sight

export class VirtualList {
  /** `draw(row)` gives the parts of an item, `prepare(rows)` is a promise of what they need, `choose(row)` gets the active row. */
  constructor(label, { draw, prepare, choose, enter }) {
    Object.assign(this, { draw, prepare, choose, rows: new Int32Array(0), active: -1 })
    this.space = element("div", { class: "space", role: "presentation" })
    this.root = element("div", { class: "list", role: "listbox", tabindex: "0", "aria-label": label, onscroll: () => this.paint() }, this.space)
    this.root.addEventListener("keydown", event => this.key(event, enter))
    this.root.addEventListener("click", event => {
      const item = event.target.closest("[data-place]")
      if (item) this.move(Number(item.dataset.place))
    })
    new ResizeObserver(() => this.paint()).observe(this.root)
  }

  get height() {
    return parseFloat(getComputedStyle(this.root).getPropertyValue("--item")) || 56
  }

  /** Show these rows from the first one on; `row` is active if it is among them, and in sight with `reveal`. */
  show(rows, row = -1, reveal = false) {
    this.rows = rows
    this.active = rows.indexOf(row)
    this.space.style.height = `${rows.length * this.height}px`
    this.root.scrollTop = 0
    if (reveal && this.active >= 0) this.reveal()
    this.paint()
  }

  reveal() {
    const top = this.active * this.height, { scrollTop, clientHeight } = this.root
    if (top < scrollTop) this.root.scrollTop = top
    else if (top + this.height > scrollTop + clientHeight) this.root.scrollTop = top + this.height - clientHeight
  }

  async paint() {
    const { height, root, rows } = this
    const first = Math.max(0, Math.floor(root.scrollTop / height) - MARGIN)
    const last = Math.min(rows.length, Math.ceil((root.scrollTop + root.clientHeight) / height) + MARGIN)
    const shown = [...rows.subarray(first, last)], turn = this.turn = (this.turn ?? 0) + 1
    this.fill(first, shown)
    if (await this.prepare(shown) && turn === this.turn) this.fill(first, shown)
  }

  fill(first, shown) {
    const { height } = this
    this.space.replaceChildren(...shown.map((row, k) => {
      const place = first + k, isActive = place === this.active
      return element("div", { role: "option", id: `row-${row}`, class: "item", "data-place": place, "data-row-number": row,
        "aria-selected": String(isActive), "aria-setsize": this.rows.length, "aria-posinset": place + 1, style: { top: `${place * height}px` } }, this.draw(row))
    }))
    if (this.active >= 0) this.root.setAttribute("aria-activedescendant", `row-${this.rows[this.active]}`)
    else this.root.removeAttribute("aria-activedescendant")
  }

  move(place) {
    if (!this.rows.length) return
    this.active = Math.max(0, Math.min(this.rows.length - 1, place))
    this.reveal()
    this.paint()
    this.choose(this.rows[this.active])
  }

  key(event, enter) {
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.height) - 1), { active, rows } = this
    const to = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + page, PageUp: active - page, Home: 0, End: rows.length - 1 }[event.key]
    if (to !== undefined) this.move(to)
    else if (event.key === "Enter" && active >= 0) enter()
    else return
    event.preventDefault()
  }
}
