// What a pane and its saved picture say in sentences.

import { withSign } from "./dom.js"

const NAMED = 3 // words that are read as others

/** What the score of the predicted class is the sum of; empty for a pair, where nothing adds up. */
export function sumLine({ sides: [{ decided, bias }] }) {
  if (bias === undefined || bias === null) return ""
  const words = decided.reduce((sum, weight) => sum + weight, 0)
  return `The words add ${withSign(words)} and the bias ${withSign(bias)}: a score of ${withSign(words + bias)}.`
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
