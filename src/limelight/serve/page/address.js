// The view in the page's address, so that a link shows the same.

const OFF = ["off", "off2"] // of the first model, and of the one beside it

/** state: {texts, edits: one Map for each text, off: a Set of rows for each model, label and against: classes that one asks for, or undefined} */
export function toAddress({ texts, edits, off, label, against }) {
  const parts = new URLSearchParams(texts.map(text => ["text", text]))
  edits.forEach((changes, side) => changes.forEach((word, k) => parts.append("edit", `${side}.${k}.${word}`)))
  off.forEach((rows, model) => rows.size && parts.set(OFF[model], [...rows].join(".")))
  if (label !== undefined) parts.set("about", label) // "label" is a filter of the data
  if (against !== undefined) parts.set("against", against)
  return `#${parts}`
}

/** The parts of an address such as #text=soup&off=3. */
export function parseAddress(address) {
  return new URLSearchParams(address.replace(/^#/, ""))
}

/** The state of an address, or undefined if it has no text; `rows`: how many each model has. */
export function fromAddress(address, sides, rows) {
  const parts = parseAddress(address), texts = parts.getAll("text").slice(0, sides)
  if (!texts.length) return undefined
  while (texts.length < sides) texts.push("")
  const edits = texts.map(() => new Map())
  for (const edit of parts.getAll("edit")) {
    const [, side, k, word] = edit.match(/^([01])\.(\d{1,6})\.(.*)$/s) ?? []
    if (side !== undefined) edits[side]?.set(Number(k), word)
  }
  const off = rows.map((count, model) => new Set((parts.get(OFF[model]) ?? "").split(".")
    .filter(part => /^\d+$/.test(part)).map(Number).filter(row => row < count)))
  return { texts, edits, off, label: parts.get("about") ?? undefined, against: parts.get("against") ?? undefined }
}
