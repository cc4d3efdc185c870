// The start of the page of a server.

import { Table } from "./data_table.js"
import { Explorer, isAlike } from "./explorer.js"
import { parseArrays, unzipped } from "./model_file.js"
import { ask } from "../../page/server.js"
import { ServedModel } from "./served_model.js"
import { start } from "../../page/token_form.js"

await start("panes", async () => {
  const about = await ask("/explorer/about")
  if (!about.models.length) throw new Error("This server has readers alone, which answer nothing; /openapi.json lists what it can do.")
  const models = about.models.map(each => new ServedModel(each))
  const table = about.data ? Table.onServer(parseArrays(await unzipped(await ask("/explorer/data", undefined, true))), ask) : undefined
  const near = about.near === null ? undefined : { where: about.near, hasWords: true, find: texts => ask("/explorer/near", { inputs: models[0].about.pair ? texts : texts[0] }) }
  const shown = models.length === 2 && isAlike(...models) ? 2 : 1 // two of a kind stand side by side
  globalThis.limelight = new Explorer(models, document.querySelector("main"), { shown, table, near })
})
