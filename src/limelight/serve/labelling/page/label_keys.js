// Which key is which class: 1 to 9, then the letters that nothing else uses.

export const COMMANDS = { u: "undo", s: "skip", "?": "unsure", n: "note", a: "answer", c: "add a class", "/": "find a class by its name" }
export const VIEWS = { l: "label", g: "groups", m: "many", h: "check", p: "people", t: "train" }
const LETTERS = [..."bdefijoqrvwxyz"]
export const CLASS_KEYS = [..."123456789", ...LETTERS]

/** The key of class number k, or undefined: there are more classes than keys. */
export function keyOf(k) {
  return CLASS_KEYS[k]
}

/** Whether a key was meant for a field that one types in, or for the browser. */
export function isTyped(event) {
  return event.ctrlKey || event.metaKey || event.altKey || Boolean(event.target.closest?.("input, textarea, select"))
}
