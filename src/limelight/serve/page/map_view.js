// A map of the texts: two directions of their embeddings, coloured by class. A rectangle drawn on it filters the list.

import { choice, element, percent } from "./dom.js"

const COLOURS = 10, DOT = 3, NEAR = 12 // pixels
const STEP = 0.04, FIRST = [0.35, 0.35, 0.65, 0.65] // of the map, for keys

export class MapView {
  /** `brush(box)` gets a rectangle [x, y, x, y] or null, `open(row)` a row that was clicked; `about` says what the directions are. */
  constructor(table, { brush, open, about = `The two directions of M in which the predicted ${table.task.many} differ most. Drag a rectangle to see its texts; click a dot to open its text.` }) {
    Object.assign(this, { table, brush, open, colourBy: table.truth ? "truth" : "predicted" })
    this.place(0)
    this.canvas = element("canvas", { "aria-hidden": "true" })
    this.frame = element("div", { class: "brush", hidden: true })
    this.area = element("div", { class: "map", tabindex: "0", role: "application", "aria-label": "Map of the texts. Enter draws a rectangle, arrow keys move it, with Shift they change its size, Escape takes it away." }, this.canvas, this.frame)
    this.legend = element("p", { class: "legend small" })
    this.root = element("div", {}, element("p", { class: "small" }, about),
      table.truth && this.chooseColour(table.task), this.area, this.legend)
    this.listen()
    new ResizeObserver(() => this.paint()).observe(this.area)
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.paint())
  }

  chooseColour({ one, isNumber }) {
    const options = [["truth", `true ${one}`], ["predicted", `predicted ${one}`], ...(isNumber ? [] : [["right", "right or wrong"]])]
    return choice("Colour", options, this.colourBy, value => {
      this.colourBy = value
      this.paint()
    })
  }

  /** Where the dots are (x, y, x, y, ...) for the predictions of a model, and the limits of the map. */
  place() {
    this.places = this.table.places
    this.limits = limitsOf(this.places)
  }

  /** `mask`: the rows that pass the other filters. While one brushes, the dots stay as they are. */
  show(mask, filter) {
    const isSame = this.mask && this.filter.of === filter.of && mask.every((one, k) => one === this.mask[k])
    if (filter.of !== (this.filter?.of ?? 0)) this.place(filter.of)
    Object.assign(this, { mask, filter })
    if (isSame && this.canvas.isConnected && this.painted) this.drawFrame(filter.box)
    else this.paint()
  }

  // ------------------------------------------------------------ places

  /** From a place of the data to a share of the map, and back. */
  toShare(x, y) {
    const [x0, y0, x1, y1] = this.limits
    return [(x - x0) / (x1 - x0), 1 - (y - y0) / (y1 - y0)]
  }

  toPlace(a, b) {
    const [x0, y0, x1, y1] = this.limits
    return [x0 + a * (x1 - x0), y0 + (1 - b) * (y1 - y0)]
  }

  shareOf(event) {
    const { left, top, width, height } = this.area.getBoundingClientRect()
    return [(event.clientX - left) / width, (event.clientY - top) / height].map(share => Math.max(0, Math.min(1, share)))
  }

  /** The rectangle of two corners, as shares, in places of the data. */
  boxOf([a, b], [c, d]) {
    const [x0, y1] = this.toPlace(Math.min(a, c), Math.min(b, d)), [x1, y0] = this.toPlace(Math.max(a, c), Math.max(b, d))
    return [x0, y0, x1, y1]
  }

  // ------------------------------------------------------------ mouse, finger, keys

  listen() {
    let start
    this.area.addEventListener("pointerdown", event => {
      start = { share: this.shareOf(event), x: event.clientX, y: event.clientY }
      this.area.setPointerCapture(event.pointerId)
    })
    this.area.addEventListener("pointermove", event => {
      if (start && moved(start, event)) this.brushSoon(this.boxOf(start.share, this.shareOf(event)))
    })
    this.area.addEventListener("pointerup", event => {
      if (start && !moved(start, event)) this.click(event)
      start = undefined
    })
    this.area.addEventListener("pointercancel", () => { start = undefined })
    this.area.addEventListener("keydown", event => this.key(event))
  }

  /** Once for each picture that the screen shows. */
  brushSoon(box) {
    if (this.waiting === undefined) requestAnimationFrame(() => {
      this.brush(this.waiting)
      this.waiting = undefined
    })
    this.waiting = box
    this.drawFrame(box)
  }

  /** A dot opens its text; anywhere else takes the rectangle away. */
  click(event) {
    const { left, top, width, height } = this.area.getBoundingClientRect(), { places } = this
    let best = -1, least = NEAR * NEAR
    for (let k = 0; k < this.table.rows; k++) {
      if (!this.mask[k]) continue
      const [a, b] = this.toShare(places[2 * k], places[2 * k + 1])
      const distance = (a * width + left - event.clientX) ** 2 + (b * height + top - event.clientY) ** 2
      if (distance < least) [best, least] = [k, distance]
    }
    if (best >= 0) this.open(best)
    else this.brush(null)
  }

  key(event) {
    const { box } = this.filter, by = { ArrowLeft: [-STEP, 0], ArrowRight: [STEP, 0], ArrowUp: [0, -STEP], ArrowDown: [0, STEP] }[event.key]
    if (event.key === "Enter" && !box) this.brush(this.boxOf(FIRST.slice(0, 2), FIRST.slice(2)))
    else if (event.key === "Escape") this.brush(null)
    else if (by && box) {
      const [from, to] = this.corners(box), move = corner => corner.map((share, k) => Math.max(0, Math.min(1, share + by[k])))
      this.brush(this.boxOf(event.shiftKey ? from : move(from), move(to)))
    } else return
    event.preventDefault()
  }

  /** Upper left and lower right, as shares. */
  corners([x0, y0, x1, y1]) {
    return [this.toShare(x0, y1), this.toShare(x1, y0)]
  }

  // ------------------------------------------------------------ drawing

  paint() {
    const { canvas, area, table, mask, places } = this, { clientWidth: width, clientHeight: height } = area
    if (!width || !mask) return
    const scale = devicePixelRatio || 1
    Object.assign(canvas, { width: width * scale, height: height * scale })
    const draw = canvas.getContext("2d"), style = getComputedStyle(area), dot = Math.max(1.5, DOT * Math.min(1, 60 / Math.sqrt(table.rows) + 0.35)) * scale
    this.painted = true
    const paint = name => style.getPropertyValue(`--${name}`).trim(), faint = paint("line"), rest = paint("muted")
    const { values: groups, names, isOrdered } = this.groups(), size = names.length
    const paints = Array.from({ length: Math.min(size, COLOURS) }, (_, k) => paint(isOrdered ? shade(k, Math.min(size, COLOURS)) : `k${k}`))
    const [x0, y0, x1, y1] = this.limits, a = canvas.width / (x1 - x0), b = canvas.height / (y1 - y0)
    this.drawUnder(draw, paint)
    // a colour at a time: to change it for each dot takes longer than to draw
    for (let group = -1; group < Math.min(size, COLOURS + 1); group++) {
      draw.fillStyle = group < 0 ? faint : paints[group] ?? rest
      for (let k = 0; k < table.rows; k++) {
        if ((mask[k] ? Math.min(groups[k], COLOURS) : -1) === group) draw.fillRect((places[2 * k] - x0) * a - dot / 2, (y1 - places[2 * k + 1]) * b - dot / 2, dot, dot)
      }
    }
    this.drawFrame(this.filter.box)
    this.drawLegend(names, paints, rest)
  }

  /** The group of each row, by which it has its colour, and their names. */
  groups() {
    return this.table.groups(this.colourBy, this.filter.of)
  }

  /** What lies below the dots: nothing. */
  drawUnder() {}

  drawLegend(names, paints, rest) {
    const shown = names.slice(0, COLOURS)
    const key = (name, paint) => {
      const square = element("i", { "aria-hidden": "true", style: { background: paint } })
      return element("span", {}, square, element("bdi", {}, name))
    }
    this.legend.replaceChildren(...shown.map((name, k) => key(name, paints[k])), ...(names.length > COLOURS ? [key("others", rest)] : []))
  }

  drawFrame(box) {
    this.frame.hidden = !box
    if (!box) return
    const [[a, b], [c, d]] = this.corners(box)
    Object.assign(this.frame.style, { left: percent(a), top: percent(b), width: percent(c - a), height: percent(d - b) })
  }
}

function moved(start, event) {
  return Math.hypot(event.clientX - start.x, event.clientY - start.y) > 4
}

/** The colour of one of several groups in an order, from blue to orange. */
function shade(k, count) {
  const level = Math.round(18 * k / Math.max(count - 1, 1)) - 9
  return level ? `${level > 0 ? "h" : "c"}${Math.max(5, Math.abs(level))}` : "muted"
}

/** Of all places, with a margin. */
export function limitsOf(places) {
  const limits = [Infinity, Infinity, -Infinity, -Infinity]
  for (let k = 0; k < places.length; k++) {
    limits[k & 1] = Math.min(limits[k & 1], places[k])
    limits[2 + (k & 1)] = Math.max(limits[2 + (k & 1)], places[k])
  }
  for (const axis of [0, 1]) {
    const margin = 0.04 * (limits[2 + axis] - limits[axis]) || 1
    limits[axis] -= margin
    limits[2 + axis] += margin
  }
  return limits
}
