// A view as a file: a page without a script, SVG or PNG.

import { element } from "../../page/dom.js"
import { coloursLine, differsLine, jointLine, medianLine, sumLine } from "./sentences.js"
import { drawTable } from "./table_view.js"
import { taskOf } from "./tasks.js"

const WIDTH = 760, LINE = 30, MARGIN = 24

export async function savePicture(kind, explorer) {
  const content = kind === "html" ? await asPage(explorer) : asSvg(explorer)
  const blob = kind === "png" ? await asPng(content) : new Blob([content], { type: kind === "svg" ? "image/svg+xml" : "text/html" })
  const link = element("a", { href: URL.createObjectURL(blob), download: `limelight.${kind}` })
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** What is shown, with its style, as a page of its own. */
async function asPage(explorer) {
  const shown = explorer.root.cloneNode(true)
  shown.classList.remove("with-data")
  shown.querySelectorAll(".input, .lead, .controls, .menu, .data, [hidden]").forEach(part => part.remove())
  shown.querySelectorAll("[data-part=table]").forEach((table, k) => table.replaceChildren(...drawTable(explorer.panes[k].model.about, explorer.panes[k].now)))
  shown.querySelectorAll("input").forEach(input => input.setAttribute("disabled", ""))
  shown.querySelectorAll("button").forEach(button => button.replaceWith(element("span", { class: `button ${button.className}`, title: button.title }, ...button.childNodes)))
  shown.querySelectorAll("details:not(.fold)").forEach(details => details.setAttribute("open", ""))
  const style = [...document.styleSheets].flatMap(sheet => [...sheet.cssRules].map(rule => rule.cssText)).join("\n")
  const head = element("head", {}, element("meta", { charset: "utf-8" }),
    element("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }), element("title", {}, document.title), element("style", {}, style))
  return `<!doctype html>\n${element("html", { lang: "en" }, head, element("body", {}, shown)).outerHTML}`
}

/** The answer and what decided, of each model. */
export function asSvg({ panes }) {
  const draw = document.createElement("canvas").getContext("2d")
  const colours = getComputedStyle(document.body), colour = name => colours.getPropertyValue(`--${name}`).trim()
  const items = []
  let y = MARGIN
  const say = (text, size, fill, weight = 400) => items.push(tag("text", { x: MARGIN, y, "font-size": size, fill, "font-weight": weight }, text))
  const note = (...sentences) => {
    for (const line of sentences.filter(Boolean).flatMap(wrapped)) {
      y += 20
      say(line, 13, colour("muted"))
    }
  }
  for (const { model, now, holders, root, parts } of panes) {
    if (panes.length > 1) {
      y += 18
      say(root.querySelector(".model-name").textContent, 14, colour("muted"), 600)
    }
    y += 24
    say(taskOf(model.about).tell(now, model.about).join(" "), 22, colour("ink"), 600)
    note(medianLine(now, model.about))
    y += 28
    say(coloursLine(now, model.about), 13, colour("muted"))
    draw.font = "17px system-ui, sans-serif"
    for (const holder of holders) drawWords(holder)
    note(sumLine(now, model.about), jointLine(now, model.about), differsLine(model.about, now))
    for (const aspect of root.querySelectorAll("[data-aspect]")) {
      y += 30
      say(`${aspect.dataset.aspect} ${aspect.querySelector(".number").textContent}`, 14, colour("ink"), 600)
      draw.font = "17px system-ui, sans-serif"
      y -= 8
      drawWords(aspect.querySelector(".clauses"))
    }
    note(...[parts.aspectsSum, parts.aspectsMissing].filter(part => !part.closest("[hidden]")).map(part => part.textContent))
    y += MARGIN
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" viewBox="0 0 ${WIDTH} ${y}" font-family="system-ui, sans-serif">`
    + `${tag("rect", { width: WIDTH, height: y, fill: colour("paper") })}${items.join("")}</svg>`

  /** The lines of a sentence. */
  function wrapped(sentence) {
    draw.font = "13px system-ui, sans-serif"
    const lines = [""]
    for (const word of sentence.split(" ")) {
      const longer = `${lines.at(-1)} ${word}`.trim()
      if (draw.measureText(longer).width > WIDTH - 2 * MARGIN) lines.push(word)
      else lines[lines.length - 1] = longer
    }
    return lines
  }

  function drawWords(holder) {
    let x = MARGIN
    y += LINE + 6
    for (const node of holder.childNodes) {
      for (const piece of node.textContent.match(/\s+|\S+/g) ?? []) {
        const width = draw.measureText(piece.replace(/\s/g, " ")).width
        if (x + width > WIDTH - MARGIN && x > MARGIN) [x, y] = [MARGIN, y + LINE]
        if (!piece.trim()) { x += x > MARGIN ? width : 0; continue }
        const style = node.nodeType === 1 && getComputedStyle(node)
        if (style && /^[hc]\d|[ ][hc]\d/.test(node.className)) items.push(tag("rect", { x: x - 1, y: y - 18, width: width + 2, height: 24, rx: 3, fill: style.backgroundColor }))
        items.push(tag("text", { x, y, "font-size": 17, fill: colour("ink"), "text-decoration": node.className?.includes("gone") ? "line-through" : undefined }, piece))
        x += width
      }
    }
  }
}

function tag(name, attributes, text) {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined)
  const open = `<${name}${given.map(([key, value]) => ` ${key}="${escaped(String(value))}"`).join("")}`
  return text === undefined ? `${open}/>` : `${open}>${escaped(text)}</${name}>`
}

/** As XML, which has no control characters. */
function escaped(text) {
  return text.replace(/[^\t\n\r -\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd").replace(/[&<>"]/g, letter => `&#${letter.charCodeAt(0)};`)
}

async function asPng(svg) {
  const image = new Image()
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }))
  await image.decode().finally(() => URL.revokeObjectURL(image.src))
  const canvas = element("canvas", { width: 2 * image.width, height: 2 * image.height })
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height)
  return new Promise(resolve => canvas.toBlob(resolve, "image/png"))
}
