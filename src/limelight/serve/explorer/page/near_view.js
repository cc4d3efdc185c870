// The nearest texts, and the words that bind them to the text above.

import { parseAddress } from "../../page/address.js"
import { colour, element, largestOf } from "../../page/dom.js"
import { places } from "./edits.js"

export class NearView {
  /** `source` has `where`, find(texts), a promise, and `hasWords` if that gives the words that bind texts, too. */
  constructor(source, root, explorer) {
    Object.assign(this, { source, root, explorer })
    this.holder = element("div", { class: "hits" })
    this.details = element("details", { ontoggle: () => this.toggled() }, element("summary", {}, element("h2", {}, "Nearest texts")),
      element("p", { class: "small" }, `Among the texts of ${source.where}. ${source.hasWords ? "Orange words make a text similar to the one above, blue words keep them apart; below, the pairs of words that bind them most. " : ""}1 is the same, 0 nothing in common.`), this.holder)
    root.replaceChildren(this.details)
    root.hidden = false
  }

  fromAddress(address) {
    this.details.open = parseAddress(address).has("near")
  }

  address() {
    return this.details.open ? "&near=1" : ""
  }

  toggled() {
    this.explorer.writeAddress()
    if (this.texts) this.show(this.texts)
  }

  async show(texts) {
    this.texts = texts
    if (!this.details.open) return
    const [hits, problem] = await this.source.find(texts).then(found => [found, "There are none."], error => [[], error.message])
    if (this.texts !== texts) return
    this.holder.replaceChildren(hits.length ? element("ol", { class: "near-list" }, hits.map(hit => this.drawHit(hit))) : element("p", { class: "small" }, problem))
  }

  drawHit({ texts, row, similarity, offsets, effects, pairs }) {
    const open = () => this.explorer.data.open(row)
    return element("li", {}, element("span", { class: "number" }, similarity.toFixed(2)),
      element("div", {}, element("p", { class: "hit", dir: "auto" }, offsets ? words(texts[0], offsets, effects) : texts.join(" — ")),
        pairs?.length ? element("p", { class: "small" }, pairs.map(([a, b, share]) => `${a} – ${b} ${share.toFixed(2)}`).join(" · ")) : false),
      element("button", { type: "button", onclick: open }, "Open"))
  }
}

function words(text, offsets, effects) {
  const place = places(text), top = largestOf(effects), parts = []
  let from = 0
  offsets.forEach(([start, end], k) => {
    parts.push(text.slice(from, place(start)), element("span", { class: `word ${colour(effects[k], top)}` }, text.slice(place(start), place(end))))
    from = place(end)
  })
  return [...parts, text.slice(from)]
}
