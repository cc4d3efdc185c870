// The aspects over the texts: how often each is mentioned and what it does; the clauses of one, best and worst first.

import { shownEffects, UNITS } from "./aspects.js"
import { colour, element, largestOf, number, percent } from "../../page/dom.js"
import { places } from "./edits.js"
import { drawBar } from "./text_aspects.js"

const CLAUSES = 5, MORE = 20 // shown at first; with each click

/** What an aspect can be said to be, as a filter. */
export function saysOptions({ unit }) {
  const [up, down] = UNITS[unit].says
  return [["", "mentioned"], ["praised", up], ["blamed", down], ["not", "not mentioned"]]
}

/** `summary`: what `Table.aspectSummary` gives; `choose(aspect, says)` filters. */
export function drawAspects({ aspects, rows: count }, summary, filter, choose) {
  const [, [, up], [, down]] = saysOptions(aspects), most = largestOf(summary.map(each => each.mean))
  const button = (text, k, says, label) => element("button", { type: "button", "aria-pressed": String(filter.aspect === k && filter.says === says), "aria-label": label,
    onclick: () => (filter.aspect === k && filter.says === says ? choose(-1, "") : choose(k, says)) }, text)
  return element("div", { class: "scroll" }, element("table", { class: "classes by-aspect" },
    element("caption", {}, `Mean effects are ${UNITS[aspects.unit].are}. Click an aspect to see its clauses, best and worst first.`),
    element("thead", {}, element("tr", {}, ["aspect", "texts", "mean effect", up, down].map(name => element("th", { scope: "col" }, name)))),
    element("tbody", {}, summary.map(({ mentioned, mean, praised, blamed }, k) => element("tr", {},
      element("th", { scope: "row" }, button(element("bdi", {}, aspects.names[k]), k, "")), element("td", { title: percent(mentioned / Math.max(count, 1)) }, number(mentioned)),
      element("td", {}, element("span", { class: "effect" }, drawBar(mean, most), mentioned ? shownEffects([mean], aspects.unit)[0] : "–")),
      element("td", {}, button(number(praised), k, "praised", `${aspects.names[k]}: ${number(praised)} ${up}`)),
      element("td", {}, button(number(blamed), k, "blamed", `${aspects.names[k]}: ${number(blamed)} ${down}`)))))))
}

/** The clauses of an aspect in these rows; `open(row)` shows the text. */
export class ClauseLists {
  constructor(table, open, complain) {
    Object.assign(this, { table, open, complain, shown: CLAUSES })
    this.root = element("div", { class: "clause-lists" })
  }

  show(rows, aspect) {
    if (aspect !== this.aspect) this.shown = CLAUSES
    Object.assign(this, { rows, aspect })
    const effect = row => this.table.aspects.clauseEffect(row, aspect), order = [...rows].sort((a, b) => effect(b) - effect(a) || a - b)
    const best = order.filter(row => effect(row) > 0), worst = order.filter(row => effect(row) < 0).reverse()
    const top = largestOf([best, worst].filter(some => some.length).map(([row]) => effect(row)))
    const [up, down] = UNITS[this.table.aspects.unit].clauses
    this.root.replaceChildren(this.list(up, best, top), this.list(down, worst, top))
    if (Math.max(best.length, worst.length) > this.shown) this.root.append(element("button", { type: "button", class: "rest", onclick: () => this.more() }, "Show more clauses"))
  }

  more() {
    this.shown += MORE
    this.show(this.rows, this.aspect)
    this.root.querySelector(".rest")?.focus()
  }

  list(title, rows, top) {
    const { aspects } = this.table, { aspect } = this, some = rows.slice(0, this.shown)
    const buttons = some.map(row => element("button", { type: "button", dir: "auto", class: colour(aspects.clauseEffect(row, aspect), top), onclick: () => this.open(row) }, "…"))
    this.table.texts(some).then(texts => some.forEach((row, k) => { buttons[k].textContent = this.clause(texts[k][0], row, aspect) }), this.complain)
    return element("section", { "aria-label": title }, element("h3", {}, title), some.length ? element("ol", {}, some.map((row, k) =>
      element("li", {}, buttons[k], element("span", { class: "number" }, shownEffects([aspects.clauseEffect(row, aspect)], aspects.unit)[0])))) : element("p", { class: "small" }, "none"))
  }

  clause(text, row, aspect) {
    const place = places(text), [start, end] = this.table.aspects.span(row, aspect)
    return text.slice(place(start), place(end))
  }
}
