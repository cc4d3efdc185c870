// The labelling page: its views, and the keys that work in all of them.

import { parseAddress } from "../../page/address.js"
import { counted, element, number, partsOf } from "../../page/dom.js"
import { CheckView } from "./label_check.js"
import { ClassesView } from "./label_classes.js"
import { Connection } from "./label_connection.js"
import { GroupsView } from "./label_groups.js"
import { CLASS_KEYS, COMMANDS, isTyped, VIEWS } from "./label_keys.js"
import { LoopView } from "./label_loop.js"
import { LabelMap } from "./label_map.js"
import { ManyView } from "./label_many.js"
import { PeopleView } from "./label_people.js"
import { drawProgress } from "./label_progress.js"
import { TrainView } from "./label_train.js"
import { ask } from "../../page/server.js"

const NAME = "limelight labels by" // kept in the browser
const TAB = "limelight tab" // kept for this tab alone: two of them are not given the same text
const READING = 1000 // ms between two looks while the texts are read
const WRITTEN = 5000 // ms after a key: by then the table was written, or could not be
const TITLES = { label: "Label", groups: "Groups", map: "Map", many: "Many at once", classes: "Classes", check: "Check", people: "People", train: "Train" }

export class Labelling {
  constructor(root, about) {
    Object.assign(this, { parts: partsOf(root), several: about.several, about })
    this.by = sessionStorage.getItem(NAME) ?? about.by
    this.tab = sessionStorage.getItem(TAB) ?? String(Math.random()).slice(2)
    sessionStorage.setItem(TAB, this.tab)
    this.setClasses(about)
    this.views = { label: new LoopView(this), groups: new GroupsView(this), map: new LabelMap(this), many: new ManyView(this), classes: new ClassesView(this), check: new CheckView(this), people: new PeopleView(this), train: new TrainView(this) }
    this.introduce()
    new Connection(this)
    document.addEventListener("keydown", event => this.key(event))
    const asked = parseAddress(location.hash).get("view")
    this.open(asked in this.views ? asked : this.classes.length ? "label" : "groups")
    this.readProgress()
  }

  introduce() {
    const { parts, about } = this
    parts.keys.replaceChildren(element("p", {}, "1 to 9 and letters: the classes, as shown on them. ", ...Object.entries(COMMANDS).map(([key, text]) => element("span", { class: "key-line" }, element("kbd", {}, key), ` ${text} `)),
      ...Object.entries(VIEWS).map(([key, view]) => element("span", { class: "key-line" }, element("kbd", {}, key), ` ${TITLES[view]} `)), "Shift and ← →, or a stroke with the mouse, mark the words that are the reason."),
    element("p", {}, `Everything is kept in ${about.out}.journal before the next text appears; ${about.out} is written a few seconds after the last key. The texts and labels stay on this machine.`))
    this.sayWho()
  }

  sayWho() {
    this.parts.lead.replaceChildren(`${counted(this.about.texts, "text")}, as `, element("bdi", {}, this.by), ", into ", element("span", { title: this.about.out }, this.about.out.split(/[\\/]/).at(-1)))
  }

  /** What the server says, for this person and this tab. */
  ask(path, body) {
    return ask(`/label/${path}`, { by: this.by, tab: this.tab, ...body })
  }

  setClasses({ classes, descriptions, by_class: counts }) {
    this.classes = classes
    this.descriptions = descriptions
    if (counts) this.count(counts)
  }

  /** The class whose key was pressed, or undefined. */
  classFor(event) {
    return this.classes[CLASS_KEYS.indexOf(event.key)]
  }

  /** How many labels each class has, wherever that is shown. */
  count(counts) {
    this.counts = counts
    for (const each of this.parts.view.querySelectorAll("[data-count]")) each.textContent = number(counts[each.dataset.count] ?? 0)
  }

  /** The server is there again: look at all of it anew. The last key may have been heard before it stopped. */
  goOn(about) {
    this.setClasses(about)
    this.views.label.current = undefined
    this.readProgress()
    return this.open(this.name)
  }

  async open(name) {
    this.name = name
    const { parts } = this, keys = Object.fromEntries(Object.entries(VIEWS).map(([key, view]) => [view, key]))
    parts.tabs.replaceChildren(...Object.entries(TITLES).map(([each, title]) => element("button", { type: "button", "aria-pressed": String(each === name), "data-view": each, onclick: () => this.open(each) }, title, keys[each] && element("kbd", {}, keys[each]))))
    await this.guarded(async () => {
      await this.view.show()
      parts.view.replaceChildren(this.view.root)
      this.view.focus?.()
    })
  }

  get view() {
    return this.views[this.name]
  }

  /** Errors are said, and nothing breaks. */
  async guarded(act) {
    try {
      await act()
      this.complain("")
    } catch (error) {
      this.fail(error)
    }
  }

  /** That the server is away is said elsewhere, with what to do. */
  fail(error) {
    this.complain(error.isLost ? "" : error.message)
  }

  complain(message) {
    this.parts.problem.textContent = message
    this.parts.problem.hidden = !message
  }

  tell(message) {
    this.parts.status.textContent = message
  }

  key(event) {
    if (isTyped(event)) {
      if (event.key === "Escape") event.target.blur() // back to the keys of the page
      return
    }
    if (event.target.closest?.("button, summary") && (event.key === "Enter" || event.key === " ")) return
    if (this.view.key?.(event)) event.preventDefault()
    else if (event.key === "u") this.undo()
    else if (event.key === "c" && this.name === "label") {
      event.preventDefault()
      this.views.label.openClass?.()
    } else if (VIEWS[event.key]) {
      event.preventDefault() // or the letter would be typed into a field of the view
      this.open(VIEWS[event.key])
    }
  }

  undo() {
    return this.guarded(async () => {
      const found = await this.ask("undo", {})
      this.setClasses(found)
      this.views.check.done.delete(found.texts[0]?.row)
      const what = { label: "the label", skip: "the skip", unsure: "the doubt", note: "the note", marks: "the marks", add_class: "the new class", rename_class: "the new name", remove_class: "the removal" }[found.undone]
      this.tell(what ? `Undone: ${what}${found.count > 1 ? ` of ${counted(found.count, "text")}` : ""}.` : "There is nothing to undo.")
      await this.readProgress()
      if (this.name === "label" && found.count === 1) this.views.label.back(found.texts[0])
      else await this.view.show()
    })
  }

  /** Label this text next. */
  goTo(row) {
    return this.guarded(async () => {
      const [text] = await this.ask("texts", { rows: [row] })
      this.views.label.back(text)
      await this.open("label")
    })
  }

  /** Give many texts a label: the one that is shown may be among them. */
  async accept(rows, label, chosen, checked) {
    const found = await this.ask("accept", { rows, label: this.several ? [label] : label, chosen, checked })
    this.setClasses(found)
    this.views.label.current = undefined
    this.tell(`${counted(found.count, "text")} ${found.count === 1 ? "is" : "are"} now ${label}. Press u to undo.`)
    this.readProgress()
  }

  rename(name) {
    this.by = name.trim() || this.about.by
    sessionStorage.setItem(NAME, this.by)
    this.sayWho()
    this.tell(`You label as ${this.by} now.`)
    this.views.label.current = undefined
    this.open("label")
  }

  /** Said once, as long as it is true. */
  warn(message) {
    const { unwritten } = this.parts
    if (unwritten.textContent === message) return
    unwritten.textContent = message
    unwritten.hidden = !message
  }

  /** After something was said, and once more when the table should be written. */
  async readProgress(again = true) {
    try {
      this.progress = await this.ask("progress", {})
    } catch (error) {
      this.fail(error)
      return
    }
    this.count(this.progress.by_class)
    const { read, total, fault } = this.progress, isReading = read < total
    this.parts.progress.hidden = false
    this.parts.progress.replaceChildren(...drawProgress(this.progress, this.classes).filter(Boolean))
    this.warn(fault && `You can go on, but the table is not written: ${fault}`)
    clearTimeout(this.reading)
    if (isReading || again) this.reading = setTimeout(() => this.readProgress(isReading), isReading ? READING : WRITTEN)
  }
}
