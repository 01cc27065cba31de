// A line chart of the last minutes in one SVG. Its nodes are created once and then only moved.
import { element, put } from "./dom.js";
import { clock } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";
const LEFT = 46, RIGHT = 8, TOP = 10, BOTTOM = 22;
const LINES = 3; // above the base line
export const SPAN = 300; // seconds, at most
const LEAST_SPAN = 60;
const STEPS = [15, 30, 60, 120]; // seconds between two labels of the time axis
const MOST_TIMES = 6, TIME_WIDTH = 70;

function node(tag, fields, parent) {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(fields)) found.setAttribute(name, value);
  parent.append(found);
  return found;
}

// The smallest number that is at least `top` and whose thirds are round.
function ceiling(top) {
  const power = 10 ** Math.floor(Math.log10(top));
  return [1.5, 3, 4.5, 6, 9, 15].find((n) => n * power >= top) * power;
}

export class Chart {
  // `series`: {name, at (place in a sample), kind (class), scale} ...; scales: [{words, least}], at most two.
  constructor(svg, legend, series, scales) {
    Object.assign(this, { svg, series, scales, samples: [], seen: [] });
    this.grid = Array.from({ length: LINES + 1 }, () => node("line", { class: "grid" }, svg));
    this.marks = scales.map((_, s) => Array.from({ length: LINES + 1 }, () => node("text", { class: `mark ${s ? "right" : ""}` }, svg)));
    this.times = Array.from({ length: MOST_TIMES }, () => [node("line", { class: "grid tick" }, svg), node("text", { class: "time" }, svg)]);
    this.area = node("path", { class: `area ${series[0].kind}` }, svg);
    this.paths = series.map((one) => node("path", { class: `line ${one.kind}` }, svg));
    this.cursor = node("line", { class: "cursor", visibility: "hidden" }, svg);
    this.values = series.map((one) => {
      const value = element("b", {}, "–");
      legend.append(element("li", {}, element("span", { class: `key ${one.kind}` }), `${one.name} `, value));
      return value;
    });
    this.when = element("li", { class: "when" });
    legend.append(this.when);
    svg.addEventListener("pointermove", (event) => this._point(event.offsetX));
    svg.addEventListener("pointerleave", () => this._point(null));
    new ResizeObserver(() => this.draw(this.samples)).observe(svg);
  }

  draw(samples) {
    this.samples = samples;
    const box = this.svg.getBoundingClientRect(), width = Math.round(box.width), height = Math.round(box.height);
    if (width < 80) return;
    const right = this.scales.length > 1 ? LEFT : RIGHT;
    Object.assign(this, { width, height, right });
    this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const end = samples.length ? samples.at(-1)[0] : Date.now() / 1000;
    const span = Math.min(SPAN, Math.max(LEAST_SPAN, samples.length ? end - samples[0][0] : 0));
    this.x = (at) => width - right - ((end - at) * (width - LEFT - right)) / span;
    const tops = this.scales.map(({ least }, s) => ceiling(Math.max(least, ...this.series.flatMap((one) => ((one.scale ?? 0) === s ? samples.map((sample) => sample[one.at] ?? 0) : [])))));
    const y = (value, s) => height - BOTTOM - (value / tops[s]) * (height - TOP - BOTTOM);
    this._frame(tops, end, span, y);
    this.series.forEach((one, i) => {
      const d = this._trace(one.at, (value) => y(value, one.scale ?? 0));
      this.paths[i].setAttribute("d", d.line);
      if (i === 0) this.area.setAttribute("d", d.area);
    });
    this._point(this.pointed ?? null); // the sample under the pointer has changed
  }

  _frame(tops, end, span, y) {
    const { width, right, height } = this;
    this._scale(tops, y);
    // Labels at round times of day, as many as fit. They move with the lines.
    const most = Math.min(MOST_TIMES, Math.max(2, Math.floor((width - LEFT - right) / TIME_WIDTH)));
    const step = STEPS.find((each) => span / each < most) ?? SPAN;
    const first = Math.ceil((end - span) / step) * step;
    this.times.forEach(([tick, text], i) => {
      const at = first + i * step, x = Math.round(this.x(at) * 10) / 10, seen = at <= end;
      if (this.seen[i] !== seen) for (const one of [tick, text]) one.setAttribute("visibility", seen ? "visible" : "hidden");
      this.seen[i] = seen;
      if (!seen) return;
      for (const [name, value] of Object.entries({ x1: x, x2: x, y1: TOP, y2: height - BOTTOM })) tick.setAttribute(name, value);
      text.setAttribute("x", Math.min(width - 26, Math.max(26, x)));
      text.setAttribute("y", height - 5);
      put(text, step < 60 ? clock(at) : clock(at).slice(0, 5));
    });
  }

  // Grid lines and axis labels change only with the largest value and the size.
  _scale(tops, y) {
    const { width, right, height } = this, of = [width, height, ...tops].join();
    if (this.scaled === of) return;
    this.scaled = of;
    for (let i = 0; i <= LINES; i += 1) {
      const at = y((tops[0] * i) / LINES, 0);
      for (const [name, value] of Object.entries({ x1: LEFT, x2: width - right, y1: at, y2: at })) this.grid[i].setAttribute(name, value);
      this.scales.forEach(({ words }, s) => {
        const mark = this.marks[s][i];
        mark.setAttribute("x", s ? width - right + 6 : LEFT - 6);
        mark.setAttribute("y", at + 4);
        put(mark, words((tops[s] * i) / LINES));
      });
    }
  }

  // The line, interrupted where there are no samples, and the area below it.
  _trace(place, y) {
    let line = "", area = "", last = null, begun = null;
    const base = this.height - BOTTOM;
    const close = () => { if (begun !== null) area += `L${last.x} ${base}L${begun} ${base}Z`; begun = null; };
    for (const sample of this.samples) {
      const value = sample[place], at = Math.round(this.x(sample[0]) * 10) / 10;
      if (value === null || value === undefined || at < LEFT - 1) continue;
      const height = Math.round(y(value) * 10) / 10;
      const joined = last !== null && sample[0] - last.at < 5 && begun !== null;
      if (!joined) { if (last) close(); begun = at; }
      line += `${joined ? "L" : "M"}${at} ${height}`;
      area += `${joined ? "L" : "M"}${at} ${height}`;
      last = { at: sample[0], x: at };
    }
    if (last) close();
    return { line, area };
  }

  _point(x) {
    this.pointed = x;
    if (x === null || !this.samples.length || !this.x) { this.cursor.setAttribute("visibility", "hidden"); this._tell(this.samples.at(-1), false); return; }
    const nearest = this.samples.reduce((best, sample) => (Math.abs(this.x(sample[0]) - x) < Math.abs(this.x(best[0]) - x) ? sample : best));
    const at = this.x(nearest[0]);
    for (const [name, value] of Object.entries({ x1: at, x2: at, y1: TOP, y2: this.height - BOTTOM, visibility: "visible" })) this.cursor.setAttribute(name, value);
    this._tell(nearest, true);
  }

  _tell(sample, pointed) {
    this.series.forEach((one, i) => {
      const value = sample?.[one.at];
      put(this.values[i], value === null || value === undefined ? "–" : (one.words ?? this.scales[one.scale ?? 0].words)(value));
    });
    put(this.when, pointed ? clock(sample[0]) : "");
  }
}
