// Predicted numbers against the true ones, as dots. A rectangle drawn on it filters the list.

import { element, short } from "../../page/dom.js"
import { limitsOf, MapView } from "../../page/map_view.js"

export class ScatterView extends MapView {
  constructor(table, on) {
    super(table, { ...on, about: "From left to right the true number, upwards the predicted one; on the line they are equal. Drag a rectangle to see its texts; click a dot to open its text." })
    const [low, high] = table.range
    this.legend.replaceWith(element("p", { class: "small axis", "aria-hidden": "true" }, element("span", {}, short(low)), element("span", {}, "true number"), element("span", {}, short(high))))
  }

  /** All have one colour: where a dot is says enough. */
  chooseColour() {
    return false
  }

  groups() {
    return { values: new Int32Array(this.table.rows), names: [""] }
  }

  place(of) {
    const { rows, truth, predicted, range } = this.table
    this.places = new Float32Array(2 * rows)
    for (let k = 0; k < rows; k++) this.places.set([truth.values[k], predicted[of].values[k]], 2 * k)
    this.limits = limitsOf([range[0], range[0], range[1], range[1]]) // the same on both axes
  }

  drawUnder(draw, paint) {
    const { width, height } = draw.canvas
    draw.strokeStyle = paint("muted")
    draw.beginPath()
    draw.moveTo(0, height)
    draw.lineTo(width, 0)
    draw.stroke()
  }

  drawLegend() {}
}
