// The start of the labelling page.

import { parseAddress } from "../../page/address.js"
import { element } from "../../page/dom.js"
import { Labelling } from "./labelling.js"
import { ask, keepToken } from "../../page/server.js"
import { tokenForm } from "../../page/token_form.js"

addEventListener("hashchange", () => parseAddress(location.hash).has("token") && location.reload()) // the server was started again
await begin()

async function begin() {
  try {
    keepToken()
    globalThis.limelight = new Labelling(document.querySelector("main"), await ask("/label/about", {}))
  } catch (error) {
    document.querySelector("[data-part=view]").replaceChildren(error.status === 401 ? tokenForm(begin) : element("p", { role: "alert" }, error.message))
  }
}
