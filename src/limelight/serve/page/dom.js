// Elements from code: text is always text, never markup.

/** element("button", {class: "x", onclick: f, "aria-label": "y", style: {width: "5%"}}, "text", otherElement) */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag)
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === false) continue
    if (name === "style") Object.assign(made.style, value) // as an attribute, the page's policy would refuse it
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value)
    else made.setAttribute(name, value === true ? "" : value)
  }
  made.append(...children.flat().filter(child => child !== undefined && child !== false))
  return made
}

/** The class of a weight's colour, of nine above plain paper, as in reading/colours.py. */
export function colour(weight, top) {
  const level = top > 0 ? Math.max(-9, Math.min(9, Math.round(weight * 9 / top))) : 0
  return level ? `${level > 0 ? "h" : "c"}${Math.abs(level)}` : ""
}

export function percent(share, digits = 1) {
  return `${(100 * share).toFixed(digits)}%`
}

/** 12,345 */
export function number(count) {
  return count.toLocaleString("en")
}

/** 1 text, 12 texts */
export function counted(count, what) {
  return `${number(count)} ${what}${count === 1 ? "" : "s"}`
}

/** Four digits of a number, as the pictures have them. */
export function short(value) {
  return String(Number(value.toPrecision(4))).replace("-", "−")
}

/** +0.42 or −0.42 */
export function withSign(value) {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`
}

export function largestOf(values) {
  return values.reduce((top, value) => Math.max(top, Math.abs(value)), 0)
}

/** The elements with `data-part`, by name. */
export function partsOf(root) {
  return Object.fromEntries([...root.querySelectorAll("[data-part]")].map(part => [part.dataset.part, part]))
}

/** A <select> of [value, text]; `choose` gets the value. */
export function choice(label, options, value, choose) {
  const select = element("select", { "aria-label": label, onchange: event => choose(event.target.value) },
    options.map(([each, text]) => element("option", { value: each }, text)))
  select.value = value
  return element("label", {}, element("span", {}, label), select)
}
