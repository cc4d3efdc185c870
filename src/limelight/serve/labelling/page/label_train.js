// Fine-tuning in the background, and both models side by side.

import { counted, element, percent } from "../../page/dom.js"

const PAUSE = 1000 // ms between two questions how far it is

export class TrainView {
  constructor(page) {
    this.page = page
    this.root = element("section", { class: "card train" })
  }

  async show() {
    await this.ask("status")
  }

  async ask(what) {
    const found = await this.page.ask("train", { do: what })
    this.draw(found)
    clearTimeout(this.waiting)
    if (found.status === "running") this.waiting = setTimeout(() => this.page.guarded(() => this.ask("status")), PAUSE)
  }

  draw(found) {
    const running = found.status === "running"
    this.root.replaceChildren(...[element("h2", {}, "Train"), element("p", {}, "Fine-tuning changes the reader itself, and takes a few minutes without a GPU. You can go on labelling meanwhile."),
      element("p", { class: "actions" }, element("button", { type: "button", class: "start", disabled: running, onclick: () => this.page.guarded(() => this.ask("start")) }, running ? "Training …" : "Train on the labels so far"),
        running && element("button", { type: "button", onclick: () => this.page.guarded(() => this.ask("stop")) }, "Stop")),
      element("p", { class: "small terminal" }, "Or in a terminal:"), element("pre", {}, element("code", {}, found.command)),
      element("p", { class: "small", "data-status": found.status }, { idle: "", running: `Training on ${counted(found.labels ?? 0, "label")}.`, done: `Done; the model is in ${found.model}.`, failed: "It failed:", stopped: "Stopped." }[found.status]),
      found.lines.length && found.status !== "done" ? element("pre", { class: "log", "aria-label": "What training says" }, found.lines.join("\n")) : false, this.sides(found)].filter(Boolean))
  }

  sides({ status, before, after, held }) {
    if (status !== "done") return false
    if (!held) return element("p", { class: "small" }, "No label is of a text drawn at random, so none was held out to compare the two models.")
    const figure = (title, found, note) => element("div", {}, element("dt", {}, title), element("dd", {}, element("b", {}, found?.right !== undefined ? `${found.right} of ${found.of} right` : found?.micro_f1 !== undefined ? percent(found.micro_f1) : "–"),
      element("span", { class: "small" }, found?.right !== undefined ? `${note}: ${percent(found.low, 0)} to ${percent(found.high, 0)} with 95% confidence` : found?.micro_f1 !== undefined ? `${note}, micro F1` : note)))
    return element("dl", { class: "before-after" }, figure("Before", before, "a model like this page’s, without these texts"), figure("After", after, "fine-tuned"),
      element("p", { class: "small" }, `Both on ${counted(held, "text")} drawn at random that neither was trained on, half of those with a label.`))
  }

  key() {
    return false
  }
}
