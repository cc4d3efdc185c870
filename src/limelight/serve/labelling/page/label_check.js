// The health of the labels: suspects one by one, with the words responsible; a key corrects or keeps.

import { colour, counted, element, number, percent } from "../../page/dom.js"

export class CheckView {
  constructor(page) {
    this.page = page
    this.done = new Set() // rows that were looked at
    this.root = element("div", {})
  }

  async show() {
    this.root.replaceChildren(element("p", { class: "small" }, "Judging every label by the others …"))
    this.page.parts.view.replaceChildren(this.root)
    this.found = await this.page.ask("check", {})
    this.draw()
  }

  get open() {
    return this.found.suspects.filter(({ row }) => !this.done.has(row))
  }

  draw() {
    const { checked, count, about, remarks, duplicates, confused } = this.found, open = this.open
    this.root.replaceChildren(...[element("section", { class: "card" }, element("h2", {}, `Suspected wrong labels: ${number(count)} of ${number(checked)}`),
      element("p", { class: "small" }, about), remarks.map(line => element("p", { class: "small" }, line)),
      count > 0 && element("p", { class: "small" }, "The least probable first. Enter takes the suggested label, k keeps the given one, the key of a class gives another. Each can be undone (u)."),
      open.length ? element("ol", { class: "settle" }, open.slice(0, 20).map((each, k) => this.suspect(each, k))) : count > 0 && element("p", {}, "None is left; look again to judge the corrected labels."),
      element("p", { class: "actions" }, element("button", { type: "button", onclick: () => this.page.guarded(() => this.show()) }, "Look again"))),
    duplicates.length > 0 && element("section", { class: "card" }, element("h2", {}, "Near duplicates with different labels"), element("ul", { class: "settle" }, duplicates.slice(0, 20).map(each => element("li", {}, this.side(each.text, each.label), this.side(each.text2, each.label2))))),
    confused.length > 0 && element("section", { class: "card" }, element("h2", {}, "Classes that are hardly told apart"), element("ul", { class: "settle" }, confused.map(each => element("li", {}, element("p", {}, element("bdi", {}, each.label), " and ", element("bdi", {}, each.label2), `: ${percent(each.share, 0)} of ${counted(each.texts, "text")} look like the other`),
      element("p", { class: "small" }, "Words of the first: ", each.words.join(", ") || "–", "; of the second: ", each.words2.join(", ") || "–")))))].filter(Boolean))
  }

  side(text, label) {
    return element("p", {}, element("bdi", {}, text), " ", element("span", { class: "small" }, "is ", element("bdi", {}, label)))
  }

  suspect(each, k) {
    const top = each.words[0]?.[1] ?? 0, button = (key, text, act) => element("button", { type: "button", onclick: () => this.page.guarded(act) }, k === 0 && element("kbd", {}, key), " ", text)
    return element("li", { "data-row": each.row }, element("p", {}, element("bdi", {}, each.text)),
      element("p", { class: "small" }, "is ", element("bdi", {}, each.label), `, with a chance of ${percent(each.chance)} by the other texts; ${percent(each.share, 0)} of the texts around it are `, element("bdi", {}, each.around), "; words: ", each.words.flatMap(([word, weight]) => [element("span", { class: `word ${colour(weight, top)}` }, word), " "])),
      element("p", { class: "actions" }, button("↵", ["make it ", element("bdi", {}, each.suggested)], () => this.give(each, each.suggested)), button("k", ["keep ", element("bdi", {}, each.label)], () => this.keep(each))))
  }

  async give(each, label) {
    await this.page.ask("settle", { row: each.row, label: this.page.several ? [label] : label })
    this.page.tell(`It is ${label} now.`)
    this.done.add(each.row)
    this.draw()
    this.page.readProgress()
  }

  keep(each) {
    return this.give(each, each.label)
  }

  key(event) {
    const [first] = this.found ? this.open : []
    if (!first) return false
    const name = this.page.classFor(event)
    const act = event.key === "Enter" ? () => this.give(first, first.suggested) : event.key === "k" ? () => this.keep(first) : name === undefined ? undefined : () => this.give(first, name)
    if (act) this.page.guarded(act)
    return Boolean(act)
  }
}
