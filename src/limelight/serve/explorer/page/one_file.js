// The start of a page with the model inside, and rows of data if it has any.

import { Table } from "./data_table.js"
import { Explorer } from "./explorer.js"
import { LocalModel } from "./local_model.js"
import { LocalNear } from "./local_near.js"
import { fromText, parseArrays, parseModel, unzipped } from "./model_file.js"

const block = async id => unzipped(fromText(document.getElementById(id).textContent))
try {
  const model = new LocalModel(parseModel(await block("model")))
  const data = document.getElementById("data") ? parseArrays(await block("data")) : undefined
  const table = data && Table.inPage(data), near = data && new LocalNear(model, table, data.arrays)
  model.about.notHere = Boolean(table?.aspects) // those of the rows are there
  globalThis.limelight = new Explorer([model], document.querySelector("main"), { table, near })
} catch (error) {
  document.querySelector("[data-part=panes]").textContent = `This browser cannot run the page (${error.message}); it needs Chrome 103, Firefox 115, Safari 16.4 or newer.`
}
