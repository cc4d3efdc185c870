// Fine-tuning in the background, and both models side by side.

import { counted, element, percent } from "./dom.js"

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
    const figure = (title, share, note) => element("div", {}, element("dt", {}, title), element("dd", {}, element("b", {}, typeof share === "number" ? percent(share) : "–"), element("span", { class: "small" }, note)))
    const measure = after?.accuracy ?? after?.micro_f1
    return element("dl", { class: "before-after" }, figure("Before", before, "the model of this page"), figure("After", measure, after?.accuracy === undefined ? "fine-tuned, micro F1" : "fine-tuned"),
      element("p", { class: "small" }, `Both on ${counted(held, "label")} that neither was trained on, every fifth of each class: a small sample if there are few labels.`))
  }

  key() {
    return false
  }
}
