// What the page says while the server is away, and how it goes on when there is one again.

import { element } from "../../page/dom.js"
import { onLost } from "../../page/server.js"
import { tokenForm } from "../../page/token_form.js"

const PAUSE = 2000 // ms between two looks for the server

export class Connection {
  constructor(page) {
    this.page = page
    onLost(error => this.lost(error))
  }

  lost({ status }) {
    const isOther = status === 401
    if (this.isOther !== isOther) this.say(isOther ? this.renewed() : this.stopped())
    this.isOther = isOther
    this.waiting ??= setTimeout(() => this.look(), PAUSE)
  }

  /** It is there again, the same one, or `lost` is called again. */
  async look() {
    this.waiting = undefined
    const about = await this.page.ask("about", {}).catch(() => undefined)
    if (!about) return
    this.isOther = undefined
    this.say([])
    this.page.goOn(about)
  }

  say(parts) {
    this.page.parts.away.replaceChildren(...parts)
    this.page.parts.away.hidden = !parts.length
  }

  stopped() {
    return [element("p", {}, element("strong", {}, "The server has stopped. "), "Your labels are safe: each was on the disk before the next text came. What you press now is not kept. Start it again, and this page goes on by itself:"),
      element("pre", {}, element("code", {}, this.command()))]
  }

  renewed() {
    return [tokenForm(() => location.reload(), element("strong", {}, "The server was started again. "), "Your labels are safe. Open the address that it printed in this browser, and this page goes on by itself; or enter the token in that address here.")]
  }

  /** With the port of this page: on another one it would not be found. */
  command() {
    const { table, out, text, several, ordered } = this.page.about, { by } = this.page
    if (!table) return `limelight.label(texts, ${JSON.stringify(out)}, port=${location.port})`
    const words = ["limelight", "label", table, "--text", text, "--out", out, ...(by === "me" ? [] : ["--by", by]), ...(several ? ["--several"] : []), ...(ordered ? ["--ordered"] : []), "--port", location.port]
    return words.map(word => (/^[\w./:@%+=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`)).join(" ")
  }
}
