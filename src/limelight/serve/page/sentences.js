// What a pane and its saved picture say in sentences.

const NAMED = 3 // words that are read as others

/** What the words add up to; empty for a pair, where nothing adds up. */
export function sumLine({ against, sides: [{ decided, bias }] }, labels) {
  if (bias === undefined || bias === null) return ""
  const percent = x => `${Math.round(100 * Math.min(Math.max(x, 0), 1))}%`
  const words = decided.reduce((sum, weight) => sum + weight, 0), ofTwo = against === null ? "" : ` beside “${labels[against]}” alone`
  return `Without a word the probability${ofTwo} would be ${percent(bias)}; the words bring it to ${percent(bias + words)}.`
}

/** What the colours mean. */
export function coloursLine({ predicted, against }, labels) {
  const label = `“${labels[predicted]}”`
  if (against === null) return `Orange words support ${label}, blue words speak against it.`
  return `Orange words speak for ${label} rather than “${labels[against]}”, blue words for “${labels[against]}”.`
}

/** That an answer may not be the model's, where the page does not have a word that the model has. */
export function differsLine({ lostWords }, { sides }) {
  const found = new Map()
  for (const { text, words } of sides) {
    for (const { start, end, known, readAs: other } of words) {
      if (end > start && (other || (lostWords && !known))) found.set(text.slice(start, end), other ? `“${other}”` : "an unknown word")
    }
  }
  if (!found.size) return ""
  const named = [...found].slice(0, NAMED).map(([word, other]) => `“${word}” as ${other}`).join(", ")
  return `The full model may answer differently. To stay small, this page reads ${named}${found.size > NAMED ? ` and ${found.size - NAMED} more words as others` : ""}.`
}
