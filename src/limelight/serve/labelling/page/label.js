// The start of the labelling page.

import { Labelling } from "./labelling.js"
import { ask } from "../../page/server.js"
import { start } from "../../page/token_form.js"

await start("view", async () => {
  globalThis.limelight = new Labelling(document.querySelector("main"), await ask("/label/about", {}))
})
