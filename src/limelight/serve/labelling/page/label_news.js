// What is new in a batch of texts: words, groups that grew, texts unlike any before, and what the model is unsure of.

import { counted, element, percent } from "../../page/dom.js"

export class NewsView {
  constructor(page) {
    this.page = page
    this.root = element("div", {})
  }

  async show() {
    const { words, gone, groups, strange, seen, unsure } = await this.page.ask("news", {})
    const list = (title, items, figure) => element("section", { class: "card" }, element("h2", {}, title), items.length ? element("ul", { class: "settle" }, items.map(each => element("li", {}, element("bdi", {}, each.text), element("span", { class: "small" }, ` ${figure(each)}`)))) : element("p", { class: "small" }, "None."))
    this.root.replaceChildren(element("section", { class: "card" }, element("h2", {}, `New beside ${counted(seen, "text")} from before`),
      element("p", {}, "More frequent now: ", element("strong", {}, words.join(", ") || "–"), ". More frequent before: ", gone.join(", ") || "–", "."),
      groups.length ? element("ul", { class: "settle" }, groups.map(each => element("li", { class: "new-group" }, element("h2", {}, element("bdi", {}, each.name), element("span", { class: "small" }, ` ${percent(each.before)} of the texts before, ${percent(each.now)} now`)), each.examples.map(text => element("p", { class: "small" }, element("bdi", {}, text)))))) : element("p", { class: "small" }, "No group of texts grew much.")),
    list("Least like anything before", strange, each => `nearest: ${each.similarity.toFixed(2)}`), list("The model is least sure of these", unsure, each => percent(each.sure)))
  }

  key() {
    return false
  }
}
