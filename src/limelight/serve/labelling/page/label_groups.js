// Groups of similar texts, the same in every run: one key makes a class of a group, or gives it one.

import { counted, element, number } from "../../page/dom.js"
import { keyOf } from "./label_keys.js"
import { SampleForm } from "./label_many.js"

export class GroupsView {
  constructor(page) {
    this.page = page
    this.at = 0
    this.root = element("div", {})
  }

  async show() {
    this.found = await this.page.ask("groups", {})
    this.at = Math.min(this.at, Math.max(0, this.open.length - 1))
    this.sample = undefined
    this.draw()
    if (!this.open.length && this.found.read < this.found.of) this.showAgain()
  }

  showAgain() { // the first texts are still being read
    setTimeout(() => this.root.isConnected && this.page.guarded(() => this.show()), 1000)
  }

  get open() {
    return this.found.groups.filter(group => group.rows.length)
  }

  draw() {
    const { found, open } = this
    const reading = found.read < found.of ? ` Of the ${counted(found.read, "text")} read so far; there are ${number(found.of)}.` : ""
    this.root.replaceChildren(element("p", { class: "small" }, `Groups of similar texts, named by the words that distinguish them. ↓ and ↑ move; Enter looks closer; c makes a class of the group at once; the key of a class gives it to all texts of the group. Everything can be undone (u).${reading}`),
      open.length ? element("ol", { class: "groups" }, open.map((group, k) => this.drawGroup(group, k))) : element("p", { class: "card" }, found.read < found.of ? "The texts are being read; groups come in a moment." : "No texts are left without a label."))
    this.root.querySelector(".group.at")?.scrollIntoView({ block: "nearest" })
  }

  drawGroup(group, k) {
    const given = Object.entries(group.labelled).map(([name, count]) => `${name} ${number(count)}`).join(", ")
    return element("li", { class: `card group${k === this.at ? " at" : ""}`, "data-group": group.number, onclick: event => !event.target.closest("button, input, form") && this.move(k) },
      element("h2", {}, element("bdi", {}, group.name || "no words in common"), element("span", { class: "small" }, ` ${counted(group.rows.length, "text")}${given ? `; labelled: ${given}` : ""}`)),
      element("ul", { class: "examples-list" }, group.examples.slice(0, 3).map(text => element("li", {}, element("bdi", {}, text)))),
      k === this.at && (this.sample?.root ?? element("p", { class: "actions" },
        element("button", { type: "button", onclick: () => this.makeClass() }, element("kbd", {}, "c"), ` Make it the class “${nameOf(group)}”`),
        element("button", { type: "button", onclick: () => this.look() }, element("kbd", {}, "↵"), " Look closer"),
        this.page.classes.slice(0, 9).map((name, each) => element("button", { type: "button", onclick: () => this.give(name) }, element("kbd", {}, keyOf(each)), " ", element("bdi", {}, name))))))
  }

  move(k) {
    this.at = Math.max(0, Math.min(this.open.length - 1, k))
    this.sample = undefined
    this.draw()
  }

  key(event) {
    if (!this.found || !this.open.length) return false
    const does = { ArrowDown: () => this.move(this.at + 1), ArrowUp: () => this.move(this.at - 1), Enter: () => this.look(), c: () => this.makeClass(), Escape: () => this.move(this.at) }[event.key]
    const name = this.page.classFor(event)
    if (!does && name === undefined) return false
    this.page.guarded(does ?? (() => this.give(name)))
    return true
  }

  makeClass() {
    return this.give(nameOf(this.open[this.at]))
  }

  async give(label, rows = this.open[this.at].rows, checked = []) {
    await this.page.accept(rows, label, "group", checked)
    await this.show()
  }

  /** A sample of the group, and a name to give it. */
  async look() {
    const { rows } = this.open[this.at]
    const some = spread(rows, 8), texts = await this.page.ask("texts", { rows: some })
    this.sample = new SampleForm(this.page, rows, texts, nameOf(this.open[this.at]), (label, kept, checked) => this.give(label, kept, checked))
    this.draw()
    this.sample.focus()
  }
}

/** The first words of a group, as the name of a class. */
function nameOf(group) {
  return group.words.slice(0, 2).join(" ") || `group ${group.number + 1}`
}

/** Some of the rows, from the nearest to the farthest. */
function spread(rows, count) {
  if (rows.length <= count) return rows
  return [...Array(count).keys()].map(k => rows[Math.round(k * (rows.length - 1) / (count - 1))])
}
