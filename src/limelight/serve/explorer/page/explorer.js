// The page: a text or a pair, and what one model or two make of it, live at each pause in typing.

import { fromAddress, parseAddress, toAddress } from "../../page/address.js"
import { DataPanel } from "./data_panel.js"
import { choice, element, partsOf } from "../../page/dom.js"
import { NearView } from "./near_view.js"
import { Pane } from "./pane.js"
import { savePicture } from "./save.js"
import { taskOf } from "./tasks.js"
import { closeMenu } from "./word_menu.js"

const PAUSE = 120 // ms without a key

export class Explorer {
  /** `models` can be chosen from, `shown` of them at first; `table` has the data and `near` finds near texts, if there are any. */
  constructor(models, root, { shown = 1, table, near } = {}) {
    this.models = models
    this.root = root
    this.parts = partsOf(root)
    this.started = 0 // readings begun: only the latest is drawn
    this.areas = [...root.querySelectorAll("textarea")]
    this.listen()
    this.data = table && new DataPanel(table, this.parts.data, this)
    this.near = near && new NearView(near, this.parts.near, this)
    this.use(this.named(location.hash) ?? models.slice(0, shown))
    this.start()
  }

  /** The view of the address; without one, the first row of the data or the first example. */
  async start() {
    const state = this.ofAddress()
    await this.data?.show(location.hash)
    this.near?.fromAddress(location.hash)
    const first = this.models[0].about.examples[0] ?? [""]
    if (state || !this.data) await this.show(state ?? this.fresh(first))
    else await this.data.openFirst()
  }

  /** The models that an address names, if it names any. */
  named(address) {
    const names = parseAddress(address).getAll("model").slice(0, 2)
    const found = names.map(name => this.models.find(model => model.about.id === name)).filter(Boolean)
    return found.length && found.every(model => isAlike(model, found[0])) ? found : undefined
  }

  get model() {
    return this.panes[0].model
  }

  get sides() {
    return this.model.about.pair ? 2 : 1
  }

  get inputs() {
    return this.areas.slice(0, this.sides)
  }

  fresh(texts) {
    return { texts: [...texts], edits: texts.map(() => new Map()), off: this.panes.map((_, k) => this.wanted?.off[k] ?? new Set()), label: this.wanted?.label, against: this.wanted?.against }
  }

  ofAddress() {
    return fromAddress(location.hash, this.sides, this.panes.map(pane => pane.model.about.rows))
  }

  /** Show these models: one, or two side by side. */
  use(models) {
    const { parts, root } = this
    this.panes = models.map((model, k) => new Pane(model, {
      change: (side, word, other) => this.change(k, side, word, other), toggle: row => this.toggle(k, row),
      ask: asked => this.show({ ...this.wanted, ...asked }), range: () => this.data?.table.range,
      showAspect: name => (this.data?.table.aspects?.names.includes(name) ? () => this.data.showAspect(name) : undefined),
    }, models[0].about.labels))
    parts.panes.replaceChildren(...this.panes.map(pane => pane.root))
    root.classList.toggle("beside", models.length > 1)
    this.panes.forEach((pane, k) => {
      pane.parts.name.hidden = models.length < 2
      pane.parts.rowsLine.hidden = k > 0 // said once
    })
    this.introduce()
  }

  /** What stays the same while one types. */
  introduce() {
    const { about } = this.model, { parts } = this, two = this.panes.length > 1
    const names = this.panes.map(pane => pane.model.about.title)
    parts.title.textContent = document.title = names.join(" and ")
    this.panes.forEach((pane, k) => { pane.parts.name.textContent = names[k] })
    parts.what.textContent = about.pair ? "two texts" : "a text"
    parts.ask.textContent = taskOf(about).lead
    this.root.classList.toggle("pair", about.pair)
    this.areas[1].closest("label").hidden = !about.pair
    this.areas[0].closest("label").firstElementChild.textContent = about.pair ? "First text" : "Text"
    parts.about.replaceChildren(...[...new Set(this.panes.flatMap(pane => pane.model.about.notes))].map(note => element("p", {}, note)))
    parts.examples.hidden = Boolean(this.data)
    parts.examples.replaceChildren(element("span", { class: "small" }, "Try:"), ...about.examples.map(texts =>
      element("button", { type: "button", onclick: () => this.show(this.fresh(texts)) }, texts.join(" / "))))
    parts.models.hidden = this.models.length < 2 || Boolean(this.data)
    if (!parts.models.hidden) this.drawModels(two)
  }

  drawModels(two) {
    const { models, panes } = this, number = pane => models.indexOf(pane.model)
    const others = models.map((model, k) => [k, model.about.title]).filter(([k]) => k !== number(panes[0]) && isAlike(models[k], this.model))
    this.parts.models.replaceChildren(
      choice("Model", models.map((model, k) => [k, model.about.title]), number(panes[0]), k => this.exchange([models[k]])),
      choice("Compare with", [["", "no other"], ...others], two ? number(panes[1]) : "", k => this.exchange(k === "" ? [this.model] : [this.model, models[k]])))
  }

  exchange(models) {
    const texts = this.inputs.map(input => input.value)
    this.use(models)
    this.show({ ...this.fresh(this.sides === texts.length ? texts : this.model.about.examples[0]), off: models.map(() => new Set()) })
  }

  listen() {
    let waiting
    for (const area of this.areas) {
      area.addEventListener("input", () => {
        clearTimeout(waiting)
        waiting = setTimeout(() => this.show(this.fresh(this.inputs.map(each => each.value))), PAUSE)
      })
    }
    addEventListener("hashchange", () => {
      if (!this.state || location.hash === this.address()) return
      const named = this.named(location.hash)
      const isOther = named && (named.length !== this.panes.length || named.some((model, k) => model !== this.panes[k].model))
      if (isOther) this.use(named)
      const state = this.ofAddress()
      this.data?.show(location.hash)
      if (state || isOther) this.show(state ?? this.fresh(this.inputs.map(input => input.value)))
    })
    const { back, svg, png, html } = this.parts
    back.addEventListener("click", () => this.show({ ...this.fresh(this.wanted.texts), off: this.panes.map(() => new Set()) }))
    for (const [kind, button] of Object.entries({ svg, png, html })) {
      button.addEventListener("click", () => savePicture(kind, this).catch(error => this.complain(error.message)))
    }
  }

  /** Read and draw a state; then the focus is on the word `focused`, [pane, side, k], if it is given. */
  async show(state, focused) {
    const turn = ++this.started
    this.wanted = state // what the next change begins with, even if this one is not drawn yet
    // now rather than with the answer: one may have typed more by then
    this.inputs.forEach((input, k) => { if (input.value !== state.texts[k]) input.value = state.texts[k] })
    let readings
    try {
      readings = await Promise.all(this.panes.map((pane, k) => pane.read(state, state.off[k])))
    } catch (error) {
      if (turn !== this.started) return
      this.wanted = this.state ?? state
      this.panes.forEach(pane => pane.now && pane.drawRows()) // their switches as they were
      this.complain(error.message)
      return
    }
    if (turn !== this.started) return
    this.complain("")
    this.state = state
    this.parts.back.hidden = !readings.some(reading => reading.isChanged)
    const truth = this.data?.truthOf(state.texts), aspects = this.data?.aspectsOf(state.texts)
    // the data has the aspects of its first model alone
    this.panes.forEach((pane, k) => pane.draw(readings[k], truth, pane.model === this.models[0] ? aspects : undefined))
    if (focused) this.panes[focused[0]].focusWord(...focused.slice(1))
    this.near?.show(this.panes[0].plans.map(plan => plan.text))
    this.writeAddress()
  }

  complain(message) {
    this.parts.problem.textContent = message
    this.parts.problem.hidden = !message
  }

  change(pane, side, k, word) {
    const edits = this.wanted.edits.map(changes => new Map(changes))
    if (word === undefined) edits[side].delete(k)
    else edits[side].set(k, word)
    this.show({ ...this.wanted, edits }, [pane, side, k])
  }

  toggle(pane, row) {
    const off = this.wanted.off.map(rows => new Set(rows))
    if (!off[pane].delete(row)) off[pane].add(row)
    this.show({ ...this.wanted, off })
  }

  address() {
    const chosen = this.parts.models.hidden ? [] : this.panes.map(({ model }) => `&model=${encodeURIComponent(model.about.id)}`)
    return toAddress(this.state) + chosen.join("") + (this.data?.address() ?? "") + (this.near?.address() ?? "")
  }

  writeAddress() {
    if (!this.state) return
    try {
      history.replaceState(null, "", this.address())
    } catch { // a frame without an address of its own, as in a notebook
    }
  }
}

/** Whether two models can be shown side by side. */
export function isAlike({ about: one }, { about: other }) {
  return one.pair === other.pair && one.task === other.task
}

document.addEventListener("click", event => {
  if (!event.target.closest?.(".menu, .words")) document.querySelectorAll("[data-part=words]").forEach(closeMenu)
})
