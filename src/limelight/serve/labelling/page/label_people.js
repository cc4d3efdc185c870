// Several people: how far they agree with chance removed, and what is to be settled.

import { counted, element, number, percent } from "../../page/dom.js"
import { keyOf } from "./label_keys.js"

export class PeopleView {
  constructor(page) {
    this.page = page
    this.root = element("div", {})
  }

  async show() {
    this.draw(await this.page.ask("people", {}))
  }

  draw(found) {
    this.found = found
    const name = element("input", { type: "text", maxlength: "100", "aria-label": "Your name", value: this.page.by })
    const rename = event => {
      event.preventDefault()
      this.page.rename(name.value)
    }
    this.root.replaceChildren(element("section", { class: "card" }, element("h2", {}, "You"),
      element("form", { class: "line", onsubmit: rename }, name, element("button", { type: "submit" }, "Label under this name"))),
    element("section", { class: "card" }, element("h2", {}, "Agreement"), ...this.agreement(found)),
    element("section", { class: "card" }, element("h2", {}, `To settle: ${number(found.count)}`), ...this.disagreements(found)))
  }

  agreement({ people, texts, alpha, pairs }) {
    if (people.length < 2) return [element("p", { class: "small" }, "Only one person has labelled so far. A colleague opens the same file with --by NAME, or this page under another name.")]
    const cells = ({ people: [a, b], texts: both, agreed, alpha }) => element("tr", {}, element("th", { scope: "row" }, element("bdi", {}, a), " and ", element("bdi", {}, b)), element("td", {}, number(both)), element("td", {}, percent(agreed)), element("td", {}, alpha === null ? "–" : alpha.toFixed(2)))
    return [element("p", {}, `${counted(texts, "text")} ${texts === 1 ? "was" : "were"} labelled by two people or more. Krippendorff’s alpha: `, element("strong", {}, alpha === null ? "–" : alpha.toFixed(2)), " (1 is full agreement, 0 what chance would give)."),
      element("table", {}, element("thead", {}, element("tr", {}, ["People", "Texts", "Agreed", "Alpha"].map(text => element("th", { scope: "col" }, text)))), element("tbody", {}, pairs.map(cells)))]
  }

  disagreements({ disagreements }) {
    if (!disagreements.length) return [element("p", { class: "small" }, "People differ on no text.")]
    return [element("ul", { class: "settle" }, disagreements.map((each, k) => element("li", { "data-row": each.row }, element("p", {}, element("bdi", {}, each.text)),
      element("p", { class: "small" }, Object.entries(each.by).map(([person, labels]) => element("span", {}, element("bdi", {}, person), ": ", element("bdi", {}, labels.join(", ")), " "))),
      element("p", { class: "actions" }, this.options(each).map(label => element("button", { type: "button", onclick: () => this.page.guarded(() => this.settle(each.row, label)) }, k === 0 && element("kbd", {}, keyOf(this.page.classes.indexOf(label[0])) ?? "·"), " ", element("bdi", {}, label.join(", "))))))))]
  }

  /** What people said of it, each once. */
  options({ by }) {
    return [...new Map(Object.values(by).map(labels => [labels.join("\n"), labels])).values()]
  }

  async settle(row, label) {
    this.draw(await this.page.ask("settle", { row, label: this.page.several ? label : label[0] }))
    this.page.readProgress()
  }

  /** The key of a class settles the first text. */
  key(event) {
    const first = this.found?.disagreements[0], name = this.page.classFor(event)
    if (!first || name === undefined) return false
    this.page.guarded(() => this.settle(first.row, [name]))
    return true
  }
}
