// The command that trains a model on the labels.

import { element } from "../../page/dom.js"

export class TrainView {
  constructor(page) {
    this.page = page
    this.root = element("section", { class: "card train" })
  }

  async show() {
    const { command } = await this.page.ask("about", {})
    this.root.replaceChildren(element("h2", {}, "Train"), element("p", {}, "Fine-tuning changes the reader itself, and takes a few minutes without a GPU. In a terminal:"), element("pre", {}, element("code", {}, command)))
  }
}
