// What can be done with a word: leave it out, replace it, put it back.

import { element } from "../../page/dom.js"

/** Open the menu under a word. `act(word)` gets "" to leave it out, another word, or undefined to put it back. */
export async function openMenu(holder, button, word, edit, nearest, act) {
  closeMenu(holder)
  const input = element("input", { type: "text", "aria-label": "Another word", placeholder: "another word", size: "12", maxlength: "100" })
  const chips = element("span", { class: "chips" }, element("span", { class: "small" }, "looking for similar words …"))
  const menu = element("div", { class: "menu", role: "dialog", "aria-label": `Change the word ${word}` },
    element("div", { class: "line" },
      edit !== "" && element("button", { type: "button", onclick: () => done("") }, "Leave out"),
      edit !== undefined && element("button", { type: "button", onclick: () => done(undefined) }, `Put back “${word}”`)),
    element("div", { class: "line" }, element("span", { class: "small" }, "Replace by"), chips),
    element("form", { class: "line", onsubmit: submit }, input, element("button", { type: "submit" }, "Replace")))
  menu.addEventListener("keydown", event => {
    if (event.key === "Escape") {
      closeMenu(holder)
      button.focus()
    }
  })
  holder.append(menu)
  const room = holder.clientWidth - menu.offsetWidth
  menu.style.left = `${Math.max(0, Math.min(button.offsetLeft, room))}px`
  menu.style.top = `${button.offsetTop + button.offsetHeight + 6}px`
  menu.querySelector("button").focus()
  const [found, problem] = await nearest(word).then(words => [words, "no similar words are known"], error => [[], error.message])
  chips.replaceChildren(...found.map(other => element("button", { type: "button", onclick: () => done(other) }, other)),
    ...(found.length ? [] : [element("span", { class: "small" }, problem)]))

  function submit(event) {
    event.preventDefault()
    if (input.value.trim()) done(input.value.trim())
  }

  function done(change) {
    closeMenu(holder)
    act(change)
  }
}

export function closeMenu(holder) {
  holder.querySelector(".menu")?.remove()
}
