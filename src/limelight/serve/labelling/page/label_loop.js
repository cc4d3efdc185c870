// The loop: a text, a key, the next text. The model's answer is shown after the person has chosen, unless they ask.

import { element, number, percent } from "../../page/dom.js"
import { keyOf } from "./label_keys.js"
import { drawDecided, MarkedText } from "./marked_text.js"

const SHOWN = 4 // classes of an answer
const CHOSEN = { auto: "the most useful next", random: "drawn at random", picked: "skipped before", group: "of a group" }

export class LoopView {
  constructor(page) {
    this.page = page
    this.how = "auto"
    this.chosen = new Set() // with several labels
    this.root = element("div", {})
  }

  async show() {
    if (!this.current) {
      const [first] = await this.page.ask("next", { how: this.how })
      this.current = first
      this.begin()
    }
    this.draw()
  }

  /** Without classes a letter is the beginning of a name. */
  focus() {
    if (!this.page.classes.length) this.root.querySelector("input").focus()
  }

  begin() {
    this.chosen = new Set(this.current?.said?.labels ?? [])
    this.asked = this.noting = undefined
    this.text = this.current && new MarkedText(this.current.text, this.current.marks)
  }

  draw() {
    const { page, current } = this
    if (!page.classes.length) {
      this.root.replaceChildren(element("section", { class: "card" }, element("h2", {}, "There are no classes yet"),
        element("p", {}, "Type the name of a class and press Enter, or make classes of groups of similar texts."), this.classForm(),
        element("p", { class: "actions" }, element("button", { type: "button", onclick: () => page.open("groups") }, "Groups"))))
      return
    }
    if (!current) {
      this.root.replaceChildren(element("section", { class: "card" }, element("h2", {}, "All texts are done"), element("p", {}, "Nothing is left to label. Look at what people disagree on (p), or train (t).")), this.drawLast())
      return
    }
    this.root.replaceChildren(element("section", { class: "card now", "aria-label": "Text to label" },
      element("p", { class: "small" }, `Row ${number(current.row + 1)}, ${CHOSEN[current.chosen] ?? current.chosen ?? "again"}`),
      this.text.root, this.drawClasses(), this.controls(), this.noting, this.drawNote(), this.asked && this.drawAnswer(this.asked, "The model says")), this.drawLast())
  }

  // ------------------------------------------------------------ parts

  drawClasses() {
    const { page } = this
    const buttons = page.classes.map((name, k) => element("button", { type: "button", class: "class", "data-class": name, "aria-pressed": page.several ? String(this.chosen.has(name)) : undefined, title: page.descriptions[name], onclick: () => this.choose(name) },
      element("kbd", {}, keyOf(k) ?? "·"), element("bdi", {}, name), element("span", { class: "small", "data-count": name }, number(page.counts?.[name] ?? 0))))
    return element("div", { class: "classes-grid" }, buttons, page.several && element("button", { type: "button", class: "class done", onclick: () => this.confirm() }, element("kbd", {}, "↵"), "Done"))
  }

  controls() {
    const button = (key, text, act) => element("button", { type: "button", onclick: act }, element("kbd", {}, key), ` ${text}`)
    const how = element("select", { "aria-label": "How the next text is chosen", onchange: event => { this.how = event.target.value } },
      [["auto", "the most useful next"], ["random", "at random"]].map(([value, text]) => element("option", { value }, text)))
    how.value = this.how
    return element("p", { class: "actions" }, button("u", "Undo", () => this.page.undo()), button("s", "Skip", () => this.pass("skip")), button("?", "Unsure", () => this.pass("unsure")),
      button("n", "Note", () => this.openNote()), button("a", "Answer", () => this.ask()), button("c", "Class", () => this.openClass()), element("label", { class: "small" }, "next: ", how))
  }

  drawNote() {
    return this.current.note ? element("p", { class: "small note" }, "Note: ", element("bdi", {}, this.current.note)) : false
  }

  drawAnswer(answer, lead) {
    if (answer.label === null) return element("div", { class: "answer" }, element("p", { class: "small" }, "The model knows nothing yet: it begins with the first label."))
    const some = Object.entries(answer.probabilities).slice(0, SHOWN)
    return element("div", { class: "answer" }, element("p", { class: "label" }, `${lead} `, element("strong", {}, element("bdi", {}, answer.labels.join(", ") || "none")), " ", percent(answer.probabilities[answer.label])),
      element("ul", { class: "bars" }, some.map(([name, p]) => element("li", { class: name === answer.label ? "predicted" : "" }, element("bdi", {}, name), element("i", { "aria-hidden": "true" }, element("s", { style: { width: percent(p) } })), element("span", {}, percent(p))))),
      drawDecided(answer.text, answer.words))
  }

  drawLast() {
    if (!this.last) return element("p", { class: "small" }, "The model’s answer and its words are shown after you have chosen. Press a to see them before.")
    const { said, answer } = this.last, same = answer?.labels.join("\n") === said.join("\n")
    return element("section", { class: "card last", "aria-label": "The text before" }, element("h2", {}, "The text before: you said ", element("bdi", {}, said.join(", "))),
      answer && answer.label !== null && element("p", { class: "small" }, same ? "✓ The model thought so, too." : "The model thought otherwise."),
      answer ? this.drawAnswer(answer, "Before that, the model said") : false)
  }

  // ------------------------------------------------------------ what a person does

  key(event) {
    const { page, current } = this
    if (!current || !page.classes.length) return false
    if (this.text.key(event)) return true
    if (event.shiftKey && event.key !== "?") return false
    const does = { s: () => this.pass("skip"), "?": () => this.pass("unsure"), n: () => this.openNote(), a: () => this.ask(), " ": () => this.text.toggle(), Enter: () => page.several && this.confirm(), "/": () => this.openFinder() }[event.key]
    if (does) {
      does()
      return true
    }
    const name = page.classFor(event)
    if (name !== undefined) this.choose(name)
    return name !== undefined
  }

  choose(name) {
    if (!this.page.several) return this.say({ do: "label", label: name })
    this.chosen.delete(name) || this.chosen.add(name)
    this.draw()
  }

  confirm() {
    if (this.chosen.size) this.say({ do: "label", label: [...this.chosen] })
    else this.page.tell("Choose at least one class first, or skip the text (s).")
  }

  pass(what) {
    return this.say({ do: what })
  }

  /** Said and on the disk: only then comes the next text. */
  say(what) {
    return this.page.guarded(async () => {
      if (this.busy) return
      this.busy = true
      try {
        const { row, last } = this.current, marks = this.text.marks
        const found = await this.page.ask("say", { row, last, how: this.how, ...what, ...(what.do === "label" && marks.length ? { marks } : {}) })
        this.last = what.do === "label" ? { said: [what.label].flat(), answer: found.answer } : undefined
        this.current = found.next[0]
        this.page.setClasses(found)
        this.begin()
        const told = { label: "", skip: "Skipped: it comes again at the end.", unsure: "Noted as unsure." }[what.do]
        this.page.tell(found.settled ? `It stays ${found.settled.join(", ")}, as it was settled. Settle it again (p) to change that.` : told)
      } finally {
        this.busy = false
      }
      this.draw()
      this.page.readProgress()
    })
  }

  /** A text that was undone comes back. */
  back(text) {
    this.current = { ...text, chosen: "again" }
    this.last = undefined
    this.begin()
    this.draw()
  }

  ask() {
    return this.page.guarded(async () => {
      this.asked = this.asked ? undefined : await this.page.ask("answer", { row: this.current.row })
      this.draw()
    })
  }

  openNote() {
    const input = element("input", { type: "text", maxlength: "1000", "aria-label": "Note", value: this.current.note })
    this.noting = this.form(input, "Keep", async () => {
      this.current = { ...this.current, ...await this.page.ask("note", { row: this.current.row, text: input.value }) }
      this.noting = undefined
      this.draw()
    })
    this.draw()
    input.focus()
  }

  /** Many classes: type a part of a name. */
  openFinder() {
    const input = element("input", { type: "text", "aria-label": "Find a class", placeholder: "part of a class’s name", list: "class-names" })
    const names = element("datalist", { id: "class-names" }, this.page.classes.map(name => element("option", { value: name })))
    this.noting = this.form(input, "Choose", () => {
      const part = input.value.toLowerCase(), name = this.page.classes.find(each => each === input.value) ?? this.page.classes.find(each => each.toLowerCase().includes(part))
      if (!part || name === undefined) return this.page.tell("No class has that in its name.")
      this.noting = undefined
      this.choose(name)
    }, names)
    this.draw()
    input.focus()
  }

  openClass() {
    this.noting = this.classForm(() => { this.noting = undefined })
    this.draw()
    this.noting.querySelector("input").focus()
  }

  classForm(done = () => {}) {
    const name = element("input", { type: "text", maxlength: "100", "aria-label": "Name of the class", placeholder: "name of a class" })
    const about = element("input", { type: "text", maxlength: "1000", "aria-label": "A sentence about it", placeholder: "a sentence about it, for a first guess (optional)" })
    return this.form(name, "Add the class", async () => {
      if (!name.value.trim()) return
      this.page.setClasses(await this.page.ask("classes", { do: "add", name: name.value, description: about.value || undefined }))
      done()
      await this.show()
    }, about)
  }

  form(input, text, act, ...more) {
    const submit = event => {
      event.preventDefault()
      this.page.guarded(act)
    }
    const cancel = event => {
      if (event.key !== "Escape") return
      this.noting = undefined
      this.draw()
    }
    return element("form", { class: "line", onsubmit: submit, onkeydown: cancel }, input, more, element("button", { type: "submit" }, text))
  }
}
