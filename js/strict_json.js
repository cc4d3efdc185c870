// JSON from a folder of anyone: an object without a key twice, all numbers finite.

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/** The object in a file's bytes, and `text`: its JSON. */
export function parseObject(bytes, name) {
  let text, value
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`${name} is not valid JSON: ${error.message.split("\n")[0].slice(0, 100)}`)
  }
  if (!isObject(value)) throw new Error(`${name} is not a JSON object`)
  check(text, name)
  return { value, text }
}

export function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value)
}

function check(text, name) {
  const open = [] // the keys of each object that has begun, so far
  let before
  for (const [token] of text.matchAll(TOKENS)) {
    if (token === "{") open.push(new Set())
    else if (token === "}") open.pop()
    else if (token === ":") {
      const key = before.includes("\\") ? JSON.parse(before) : before.slice(1, -1), keys = open.at(-1)
      if (keys.has(key)) throw new Error(`${name}: ${before.slice(0, 60)} occurs twice`)
      keys.add(key)
    } else if (token.length > 3 && /^[-\d]/.test(token) && !Number.isFinite(Number(token))) throw new Error(`${name}: ${token.slice(0, 60)} is not a finite number`)
    before = token
  }
}

/** An object's JSON without one of its keys, as Python writes it: sorted, in ASCII, without spaces. */
export function canonical(text, without) {
  const tokens = text.match(TOKENS)
  let at = 0
  const list = (end, each) => {
    const found = []
    for (; tokens[at] !== end; at += tokens[at] === "," ? 1 : 0) found.push(each())
    at++
    return found
  }
  const pair = () => {
    const key = JSON.parse(tokens[at])
    at += 2 // the colon
    return [key, value()]
  }
  const value = () => {
    const token = tokens[at++]
    if (token === "[") return `[${list("]", value).join(",")}]`
    if (token === "{") return object(list("}", pair))
    if (token.startsWith('"')) return ascii(JSON.parse(token))
    if (!/^[-\d]/.test(token)) return token
    return /[.eE]/.test(token) ? float(Number(token)) : String(BigInt(token))
  }
  at = 1
  return object(list("}", pair).filter(([key]) => key !== without))
}

function object(pairs) {
  const places = new Map(pairs.map(([key]) => [key, Array.from(key, letter => letter.codePointAt(0).toString(16).padStart(6, "0")).join("")]))
  pairs.sort(([a], [b]) => (places.get(a) < places.get(b) ? -1 : 1)) // by code points, not by UTF-16 units
  return `{${pairs.map(([key, value]) => `${ascii(key)}:${value}`).join(",")}}`
}

function ascii(text) {
  return JSON.stringify(text).replace(/[\x7f-\uffff]/g, unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
}

/** A float as Python writes it: the same digits as here, but an exponent below -4 and from 16 on. */
function float(x) {
  if (Object.is(x, -0)) return "-0.0"
  const [, sign, first, rest = "", exponent] = /^(-?)(\d)(?:\.(\d+))?e(.+)$/.exec(x.toExponential())
  const digits = first + rest, e = Number(exponent)
  if (e < -4 || e >= 16) return `${sign}${first}${rest && `.${rest}`}e${e < 0 ? "-" : "+"}${String(Math.abs(e)).padStart(2, "0")}`
  if (e < 0) return `${sign}0.${"0".repeat(-e - 1)}${digits}`
  return `${sign}${digits.slice(0, e + 1).padEnd(e + 1, "0")}.${digits.slice(e + 1) || "0"}`
}
