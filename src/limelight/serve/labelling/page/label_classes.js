// The classes: rename one, merge it into another, remove it.

import { element, number } from "../../page/dom.js"
import { keyOf } from "./label_keys.js"

export class ClassesView {
  constructor(page) {
    this.page = page
    this.root = element("section", { class: "card" })
  }

  async show() {
    const counts = this.page.counts ?? {}
    this.root.replaceChildren(element("h2", {}, "Classes"), element("p", { class: "small" }, "Another name renames a class; the name of another class merges the two. A removed class leaves its texts without a label. All of it can be undone (u)."),
      element("ul", { class: "class-list" }, this.page.classes.map((name, k) => this.row(name, k, counts[name] ?? 0))))
  }

  row(name, k, count) {
    const input = element("input", { type: "text", maxlength: "100", "aria-label": `Name of ${name}`, value: name })
    const save = event => {
      event.preventDefault()
      const to = input.value.trim()
      if (to && to !== name) this.change({ do: this.page.classes.includes(to) ? "merge" : "rename", name, to })
    }
    return element("li", {}, element("form", { class: "line", onsubmit: save }, element("kbd", {}, keyOf(k) ?? "·"), input, element("span", { class: "small", "data-count": name }, number(count)), element("button", { type: "submit" }, "Rename"),
      element("button", { type: "button", onclick: () => this.change({ do: "remove", name }) }, "Remove")))
  }

  change(what) {
    return this.page.guarded(async () => {
      this.page.setClasses(await this.page.ask("classes", what))
      await this.page.readProgress()
      await this.show()
    })
  }
}
