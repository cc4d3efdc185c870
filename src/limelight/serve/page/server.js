// What the server answers. The token is kept from the address it was opened with, out of sight and out of links.

import { parseAddress } from "./address.js"

const KEY = "limelight token"

/** Keep a token that was given, or take it out of an address such as #token=abc&text=... */
export function keepToken(given) {
  const parts = parseAddress(location.hash), token = given ?? parts.get("token")
  if (token === null) return
  localStorage.setItem(KEY, token)
  parts.delete("token")
  history.replaceState(null, "", `#${parts}`)
}

/** GET, or with a body POST; the answer as JSON, or as bytes. */
export async function ask(path, body, bytes = false) {
  const token = localStorage.getItem(KEY), headers = token ? { authorization: `Bearer ${token}` } : {}
  if (body) headers["content-type"] = "application/json"
  const answer = await fetch(path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) }).catch(() => {
    throw new Error("The server does not answer. Has it been stopped?")
  })
  if (!answer.ok) throw new AnswerError(answer.status, (await answer.json().catch(() => ({}))).error)
  return bytes ? new Uint8Array(await answer.arrayBuffer()) : answer.json()
}

export class AnswerError extends Error {
  constructor(status, message) {
    super(message ?? `The server answers with status ${status}.`)
    this.status = status
  }
}
