// The start of the page of a server.

import { parseAddress } from "../../page/address.js"
import { Table } from "./data_table.js"
import { element } from "../../page/dom.js"
import { Explorer, isAlike } from "./explorer.js"
import { parseArrays, unzipped } from "./model_file.js"
import { ask, keepToken } from "../../page/server.js"
import { ServedModel } from "./served_model.js"
import { tokenForm } from "../../page/token_form.js"

addEventListener("hashchange", () => parseAddress(location.hash).has("token") && location.reload()) // the server was started again
await begin()

async function begin() {
  const holder = document.querySelector("[data-part=panes]")
  try {
    keepToken()
    const about = await ask("/explorer/about")
    if (!about.models.length) throw new Error("This server has readers alone, which answer nothing; /docs lists what it can do.")
    const models = about.models.map(each => new ServedModel(each))
    const table = about.data ? Table.onServer(parseArrays(await unzipped(await ask("/explorer/data", undefined, true))), ask) : undefined
    const near = about.near === null ? undefined : { where: about.near, hasWords: true, find: texts => ask("/explorer/near", { inputs: models[0].about.pair ? texts : texts[0] }) }
    globalThis.limelight = new Explorer(models, document.querySelector("main"), { shown: shownAtFirst(models), table, near })
  } catch (error) {
    holder.replaceChildren(error.status === 401 ? tokenForm(begin) : element("p", { role: "alert" }, error.message))
  }
}

/** Two of a kind stand side by side. */
function shownAtFirst(models) {
  return models.length === 2 && isAlike(...models) ? 2 : 1
}
