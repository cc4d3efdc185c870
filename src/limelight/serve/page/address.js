// The view in the page's address, so that a link shows the same.

/** state: {texts, edits: one Map for each text, off: Set of rows} */
export function toAddress({ texts, edits, off }) {
  const parts = new URLSearchParams(texts.map(text => ["text", text]))
  edits.forEach((changes, side) => changes.forEach((word, k) => parts.append("edit", `${side}.${k}.${word}`)))
  if (off.size) parts.set("off", [...off].join("."))
  return `#${parts}`
}

/** The state of an address, or undefined if it has no text. */
export function fromAddress(address, sides, rows) {
  const parts = new URLSearchParams(address.replace(/^#/, ""))
  const texts = parts.getAll("text").slice(0, sides)
  if (!texts.length) return undefined
  while (texts.length < sides) texts.push("")
  const edits = texts.map(() => new Map())
  for (const edit of parts.getAll("edit")) {
    const [, side, k, word] = edit.match(/^([01])\.(\d{1,6})\.(.*)$/s) ?? []
    if (side !== undefined) edits[side]?.set(Number(k), word)
  }
  const off = (parts.get("off") ?? "").split(".").filter(part => /^\d+$/.test(part)).map(Number)
  return { texts, edits, off: new Set(off.filter(row => row < rows)) }
}
