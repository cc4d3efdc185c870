// Many texts at once: those with some words, with a phrase, similar to a text, or that the model is sure of. A sample is checked first.

import { counted, element, number } from "../../page/dom.js"

export class ManyView {
  constructor(page) {
    this.page = page
    this.fields = Object.fromEntries(["words", "phrase", "similar_to"].map(name => [name, element("input", { type: "text", maxlength: "1000", name })]))
    this.above = element("input", { type: "number", min: "0.5", max: "1", step: "0.01", name: "above", placeholder: "0.95" })
    this.label = element("select", { name: "label" })
    this.result = element("div", {})
    const field = (text, input) => element("label", {}, element("span", {}, text), input)
    this.root = element("section", { class: "card" }, element("h2", {}, "Many at once"),
      element("form", { class: "many", onsubmit: event => { event.preventDefault(); this.page.guarded(() => this.find()) } },
        field("With the words", this.fields.words), field("With the phrase", this.fields.phrase), field("Similar to", this.fields.similar_to),
        field("The model is at least this sure", this.above), field("… that it is", this.label), element("button", { type: "submit" }, "Find")), this.result)
  }

  async show() {
    const chosen = this.label.value
    this.label.replaceChildren(element("option", { value: "" }, "any class"), ...this.page.classes.map(name => element("option", { value: name }, name)))
    this.label.value = this.page.classes.includes(chosen) ? chosen : ""
  }

  focus() {
    this.fields.words.focus()
  }

  async find() {
    const asked = Object.fromEntries(Object.entries(this.fields).filter(([, input]) => input.value.trim()).map(([name, input]) => [name, input.value]))
    if (this.above.value) asked.above = Number(this.above.value)
    if (this.label.value) asked.label = this.label.value
    if (asked.above && !asked.label) throw new Error("Choose the class that the model is sure of: one class at a time.")
    const found = await this.page.ask("find", asked)
    const chosen = asked.above || asked.label ? "confident" : "search"
    const part = found.searched < found.of && element("p", { class: "small" }, `Of the first ${number(found.searched)} of ${number(found.of)} texts without a label: more were not searched in time. Search again when these have labels.`)
    if (!found.rows.length) return this.result.replaceChildren(element("p", {}, "No text without a label fits."), part || "")
    const form = new SampleForm(this.page, found.rows, found.sample, this.label.value, async (label, rows, checked) => {
      await this.page.accept(rows, label, chosen, checked)
      this.result.replaceChildren()
    })
    this.result.replaceChildren(part || "", form.root)
    form.focus()
  }
}

/** A sample to check; the texts that are unticked are left out. `accept(label, rows, checked)` gets the rest. */
export class SampleForm {
  constructor(page, rows, sample, name, accept) {
    this.boxes = sample.map(({ row, text }) => [row, element("input", { type: "checkbox", checked: true }), text])
    this.name = element("input", { type: "text", maxlength: "100", "aria-label": "Class", value: name, list: "known-classes", placeholder: "class" })
    const submit = event => {
      event.preventDefault()
      const label = this.name.value.trim(), out = new Set(this.boxes.filter(([, box]) => !box.checked).map(([row]) => row))
      const kept = rows.filter(row => !out.has(row))
      if (label && kept.length) page.guarded(() => accept(label, kept, this.boxes.map(([row]) => row)))
    }
    this.root = element("form", { class: "sample", onsubmit: submit }, element("p", { class: "small" }, `A sample of ${counted(rows.length, "text")}. Untick what does not belong: it is left out, and a look at more may be wise.`),
      element("ul", {}, this.boxes.map(([, box, text]) => element("li", {}, element("label", {}, box, element("bdi", {}, text))))),
      element("p", { class: "line" }, this.name, element("datalist", { id: "known-classes" }, page.classes.map(each => element("option", { value: each }))), element("button", { type: "submit" }, `Label all ${number(rows.length)}`)))
  }

  focus() {
    this.name.focus()
    this.name.select()
  }
}
