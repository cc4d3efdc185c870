/** A folder that Limelight saved, in Node or a browser: the same words, vectors and probabilities as in Python. */

/** Reads a file of a folder; more bytes than `most` are an error. */
export type ReadFile = (name: string, most: number) => Promise<Uint8Array | ArrayBuffer>

export type Label = string | number | boolean

export interface Word {
  /** As the vocabulary has it. */
  word: string
  /** In UTF-16 units. */
  start: number
  end: number
  id: number
}

export interface Encoded {
  words: Word[]
  /** A weight for each word, by row. */
  A: Float32Array[]
  M: Float32Array[]
}

/** Of classes; `label` is a list where a text may have several. */
export interface Decision {
  label: Label | Label[]
  probabilities: number[]
}

/** Of a number to predict. */
export interface Value {
  value: number
}

export class Model {
  readonly kind: "text" | "pair" | "reader"
  readonly labels: Label[]
  readonly task: string
  words(text: string): Word[]
  encode(text: string): Encoded
  /** A reader's vector, of length 1; a classifier's is M, its rows one after the other. */
  embed(text: string): Float32Array
  /** One text, or two of a model of pairs; a reader has no labels. */
  predict(...texts: string[]): Decision | Value
}

/** Open a folder by its path or its address, or by a function that reads its files. */
export function load(folder: string | URL | ReadFile): Promise<Model>
