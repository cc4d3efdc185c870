// The start of a page of a server, which asks for its token where it was opened without it.

import { parseAddress } from "./address.js"
import { element } from "./dom.js"
import { keepToken } from "./server.js"

const ASKS = "This server asks for its token: the one in the address that limelight printed, or the LIMELIGHT_TOKEN of limelight serve."

/** Start a page; what goes wrong is said in its part of this name. */
export async function start(part, begin) {
  addEventListener("hashchange", () => parseAddress(location.hash).has("token") && location.reload()) // the server was started again
  await attempt()

  async function attempt() {
    try {
      keepToken()
      await begin()
    } catch (error) {
      document.querySelector(`[data-part=${part}]`).replaceChildren(error.status === 401 ? tokenForm(attempt) : element("p", { role: "alert" }, error.message))
    }
  }
}

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
