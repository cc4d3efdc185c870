// What the server answers. The token is kept from the address it was opened with, out of sight and out of links.

import { parseAddress } from "./address.js"

const KEY = "limelight token"
let token = null // of this page: a server that was started again has another, and other texts
let lost = () => {}

/** Keep a token that was given, or take it from before or out of an address such as #token=abc&text=... */
export function keepToken(given) {
  const parts = parseAddress(location.hash), found = given ?? parts.get("token")
  token = found ?? localStorage.getItem(KEY)
  if (found === null) return
  localStorage.setItem(KEY, token)
  parts.delete("token")
  history.replaceState(null, "", `#${parts}`)
}

/** `act(error)` is called when the server is gone, or is another one; a new token, kept by another tab, starts the page again. */
export function onLost(act) {
  lost = act
  addEventListener("storage", event => event.key === KEY && location.reload())
}

/** GET, or with a body POST; the answer as JSON, or as bytes. */
export async function ask(path, body, bytes = false) {
  const headers = token ? { authorization: `Bearer ${token}` } : {}
  if (body) headers["content-type"] = "application/json"
  try {
    const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) }).catch(() => {
      throw new AnswerError(0, "The server does not answer. Has it been stopped?")
    })
    if (!answer.ok) throw new AnswerError(answer.status, (await answer.json().catch(() => ({}))).error)
    return bytes ? new Uint8Array(await answer.arrayBuffer()) : await answer.json()
  } catch (error) {
    if (error.status === 401 && localStorage.getItem(KEY) !== token) location.reload()
    else if (error.isLost) lost(error)
    throw error
  }
}

export class AnswerError extends Error {
  constructor(status, message) {
    super(message ?? `The server answers with status ${status}.`)
    this.status = status
  }

  /** Whether the server is gone, ends, or is another one, which has another token. */
  get isLost() {
    return [0, 401, 503].includes(this.status)
  }
}
