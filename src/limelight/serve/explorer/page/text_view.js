// A text whose words are buttons, coloured by their weights.

import { colour, element, withSign } from "../../page/dom.js"

/**
 * `weights` and `notes`: one for each word; `top`: the weight of the strongest colour. `on` has point(k), leave() and choose(k, button).
 * A word left out is struck through, a replaced one has its replacement beside it.
 */
export function drawText({ text, words, notes, weights, top, edits }, on) {
  const parts = []
  let from = 0
  words.forEach(({ start, end }, k) => {
    parts.push(text.slice(from, start))
    from = end
    if (end > start) parts.push(drawWord(text.slice(start, end), k))
  })
  parts.push(text.slice(from))
  const holder = element("p", { class: "words", dir: "auto", role: "group", "aria-label": "Words; arrow keys move, Enter changes a word, Delete leaves it out",
    onkeydown: event => move(event, on) }, parts)
  holder.querySelector("button")?.setAttribute("tabindex", "0")
  return holder

  function drawWord(word, k) {
    const edit = edits.get(k), gone = edit === ""
    const shown = gone ? "left out" : [withSign(weights[k]), notes[k]].filter(Boolean).join("; ")
    const kind = [gone ? "gone" : colour(weights[k], top), edit && "replaced", notes[k] && "unknown"].filter(Boolean).join(" ")
    return element("button", {
      type: "button", class: kind, tabindex: "-1", "data-word": k, title: shown, "aria-label": `${edit || word}, ${shown}`, onmouseenter: () => on.point(k), onmouseleave: on.leave,
      onfocus: () => on.point(k), onblur: on.leave, onclick: event => on.choose(k, event.currentTarget),
    }, edit ? [element("del", {}, word), ` ${edit}`] : gone ? element("del", {}, word) : word)
  }
}

/** Colour the words of a text again, by other weights. */
export function repaint(holder, weights, top) {
  for (const button of holder.querySelectorAll("button[data-word]")) {
    const level = colour(weights[button.dataset.word], top)
    button.className = [...button.className.split(" ").filter(name => !/^[hc]\d$/.test(name)), level].filter(Boolean).join(" ")
  }
}

function move(event, on) {
  const buttons = [...event.currentTarget.querySelectorAll("button[data-word]")]
  const at = buttons.indexOf(event.target)
  if (at < 0) return
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: buttons.length - 1 }[event.key]
  if (to !== undefined && buttons[to]) {
    event.target.setAttribute("tabindex", "-1")
    buttons[to].setAttribute("tabindex", "0")
    buttons[to].focus()
    event.preventDefault()
  }
  if (event.key === "Delete" || event.key === "Backspace") on.leaveOut(Number(event.target.dataset.word))
}
