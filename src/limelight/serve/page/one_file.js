// The start of a page with the model inside.

import { Explorer } from "./explorer.js"
import { LocalModel } from "./local_model.js"
import { openModel } from "./model_file.js"

try {
  const file = await openModel(document.getElementById("model").textContent)
  globalThis.limelight = new Explorer(new LocalModel(file), document.querySelector("main"))
} catch (error) {
  document.querySelector("[data-part=answer]").textContent = `This browser cannot run the page (${error.message}); it needs Chrome 103, Firefox 115, Safari 16.4 or newer.`
}
