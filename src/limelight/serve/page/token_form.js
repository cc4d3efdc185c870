// A server with a token was opened without it.

import { element } from "./dom.js"
import { keepToken } from "./server.js"

const ASKS = "This server asks for its token: the one in the address that limelight printed, or the LIMELIGHT_TOKEN of limelight serve."

/** Asks for the token; `begin()` starts again with it. */
export function tokenForm(begin, ...lead) {
  const input = element("input", { type: "password", autocomplete: "off", "aria-label": "Token" })
  const enter = event => {
    event.preventDefault()
    keepToken(input.value)
    begin()
  }
  return element("form", { class: "token", onsubmit: enter }, element("p", {}, lead.length ? lead : ASKS),
    input, element("button", { type: "submit" }, "Open"))
}
