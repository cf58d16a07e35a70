
// One chart: lines of curves over the axis of the view, with a cursor for mouse, finger and keyboard.

const kMostOfTip = 12;  // lines of the box beside the cursor

// The point of a line that is nearest to x; other lines have points between those of this one.
function nearestPoint(data, line, at, x) {
  const xs = data[0], ys = data[line];
  let left = at, right = at;
  while (left >= 0 && ys[left] == null) --left;
  while (right < xs.length && ys[right] == null) ++right;
  if (left < 0) return right < xs.length ? right : null;
  if (right >= xs.length) return left;
  return x - xs[left] <= xs[right] - x ? left : right;
}

class Chart {
  // lines: [{label, curve, index, dashed}]
  constructor(title, unit, lines) {
    Object.assign(this, { title, unit, lines });
    this.plot = element("div", { class: "plot", tabindex: "0", role: "group", onkeydown: (event) => this.key(event),
      "aria-label": `Chart: ${title}. Arrow keys move the cursor, plus and minus zoom, 0 shows all.` });
    this.tip = element("div", { class: "tip", role: "status", hidden: true });
    this.keys = element("ul", { class: "keys" });
    this.note = element("p", { class: "note" });
    const grow = element("button", { type: "button", "aria-pressed": "false", onclick: () => this.grow(grow) }, "Enlarge");
    this.card = element("section", { class: "card", "aria-label": title },
      element("header", {}, element("h3", {}, title, unit ? element("small", {}, unit) : ""), grow),
      this.plot, this.keys, this.note);
    this.plot.addEventListener("pointermove", (event) => this.finger(event));
  }

  grow(button) {
    const wide = this.card.classList.toggle("wide");
    button.setAttribute("aria-pressed", String(wide));
    button.textContent = wide ? "Shrink" : "Enlarge";
    this.draw();
  }

  shown() { return this.lines.filter((line) => !view.hidden.has(line.curve.run.index)); }

  // Tables of x and y, and what each draws.
  tables() {
    const tables = [], drawn = [];
    for (const line of this.shown()) {
      const smooth = view.smoothing > 0 && line.curve.isByStep && line.curve.points > 20;
      const add = (xy, faint) => {
        const positive = (y) => (view.log && !(y > 0)) || !Number.isFinite(y) ? null : y;
        const kept = [[], []];
        xy[0].forEach((x, i) => { if (Number.isFinite(x)) kept[0].push(x), kept[1].push(positive(xy[1][i])); });
        if (kept[0].length === 0) return;
        tables.push(kept);
        drawn.push({ ...line, faint });
      };
      if (smooth) add(line.curve.line(), true);
      add(smooth ? line.curve.smoothLine(view.smoothing) : line.curve.line(), false);
    }
    return { tables, drawn };
  }

  draw() {
    this.chart?.destroy();
    this.chart = null;
    const { tables, drawn } = this.tables();
    this.plot.replaceChildren(this.tip);
    this.describe(drawn.length > 0);
    if (drawn.length === 0) return;
    this.drawn = drawn;
    this.data = uPlot.join(tables);
    this.chart = new uPlot(this.options(), this.data, this.plot);
    this.plot.append(this.tip);
    this.zoom(view.zoom ?? wholeRange());
  }

  describe(any) {
    this.keys.replaceChildren(...this.shown().map((line) => {
      const stroke = element("span", { class: line.dashed ? "stroke dashed" : "stroke", "aria-hidden": "true" });
      stroke.style.borderTopColor = colourOf(line.index);
      return element("li", {}, stroke, line.label);
    }));
    const thinned = this.shown().filter((line) => line.curve.isThinned).map((line) => line.curve);
    const least = thinned.reduce((a, b) => (a && a.values.length / a.points <= b.values.length / b.points ? a : b), null);
    this.note.textContent = !any ? "No points on this axis: the run has no times yet, or all runs are hidden."
      : least ? `${shortNumber(least.values.length)} of ${shortNumber(least.points)} points; every peak is kept.` : "";
  }

  options() {
    const quiet = () => colour("quiet"), grid = { stroke: () => colour("grid"), width: 1 };
    const font = "12px system-ui, sans-serif";
    return {
      width: Math.max(this.plot.clientWidth, 200),
      height: this.card.classList.contains("wide") ? 460 : 250,
      legend: { show: false },
      scales: { x: { time: false }, y: { distr: view.log ? 3 : 1 } },
      axes: [{ stroke: quiet, grid, ticks: grid, font, size: 36, values: (u, ticks) => ticks.map((t) => this.tick(t)) },
             { stroke: quiet, grid, ticks: grid, font, size: 62, values: (u, ticks) => ticks.map((t) => (t === null ? "" : shortNumber(t))) }],
      series: [{}, ...this.drawn.map((line) => this.stroke(line))],
      cursor: {
        drag: { x: true, y: false, setScale: false },
        dataIdx: (u, i, at, x) => (this.drawn[i - 1]?.faint ? null : nearestPoint(u.data, i, at, x)),
        bind: { dblclick: () => () => { setZoom(null); return null; } },
      },
      hooks: { setSelect: [(u) => this.selected(u)], setCursor: [(u) => this.point(u)] },
    };
  }

  tick(t) {
    if (view.axis !== "time") return shortNumber(t);
    const span = wholeRange()[1];
    return span > 7200 ? `${shortNumber(t / 3600)} h` : span > 300 ? `${shortNumber(t / 60)} min` : `${shortNumber(t)} s`;
  }

  stroke(line) {
    const ink = colourOf(line.index);
    return {
      label: line.label, stroke: line.faint ? ink + "40" : ink, width: line.faint ? 1 : 1.75, spanGaps: false,
      dash: line.dashed ? [6, 4] : undefined,
      points: { show: !line.faint && line.curve.points <= 60, size: 5, fill: ink, width: 0 },
    };
  }

  selected(u) {
    if (u.select.width < 4) return;
    const from = u.posToVal(u.select.left, "x"), to = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    setZoom([from, to]);
  }

  zoom([from, to]) { this.chart?.setScale("x", { min: from, max: to }); }

  // The box with the values at the cursor.
  point(u) {
    const { left, top, idx } = u.cursor;
    if (left === undefined || left < 0 || idx === null || idx === undefined) return void (this.tip.hidden = true);
    const x = u.posToVal(left, "x");
    let rows = [];
    this.drawn.forEach((line, i) => {
      const at = line.faint ? null : u.cursor.idxs[i + 1];
      if (at === null || at === undefined || u.data[i + 1][at] == null) return;
      rows.push({ line, x: u.data[0][at], y: u.data[i + 1][at], far: Math.abs(u.valToPos(u.data[i + 1][at], "y") - top) });
    });
    if (rows.length === 0) return void (this.tip.hidden = true);
    if (rows.length > kMostOfTip) rows = rows.sort((a, b) => a.far - b.far).slice(0, kMostOfTip);
    const nearest = rows.reduce((a, b) => (Math.abs(a.x - x) <= Math.abs(b.x - x) ? a : b));
    this.tip.replaceChildren(element("b", {}, placeText(nearest.x)), ...rows.map(({ line, y }) =>
      element("div", {}, swatch(colourOf(line.index)), element("span", { class: "name" }, line.label),
        element("span", {}, shortNumber(y)))));
    this.tip.hidden = false;
    const over = u.over.getBoundingClientRect(), plot = this.plot.getBoundingClientRect();
    const at = over.left - plot.left + left, room = this.tip.offsetWidth + 14;
    this.tip.style.left = `${at + room > plot.width ? Math.max(at - room, 0) : at + 14}px`;
    this.tip.style.top = `${Math.max(Math.min(top, over.height - this.tip.offsetHeight), 0)}px`;
  }

  finger(event) {
    if (event.pointerType !== "touch" || !this.chart) return;
    const over = this.chart.over.getBoundingClientRect();
    this.chart.setCursor({ left: event.clientX - over.left, top: event.clientY - over.top });
  }

  key(event) {
    const u = this.chart;
    if (!u || event.ctrlKey || event.metaKey || event.altKey) return;
    const width = u.over.clientWidth, stride = event.shiftKey ? width / 10 : Math.max(width / 100, 1);
    const left = u.cursor.left >= 0 ? u.cursor.left : width / 2;
    const moves = { ArrowLeft: left - stride, ArrowRight: left + stride, Home: 0, End: width };
    if (event.key in moves)
      u.setCursor({ left: Math.min(Math.max(moves[event.key], 0), width), top: u.over.clientHeight / 3 });
    else if (event.key === "+" || event.key === "=") zoomBy(0.5, u.posToVal(left, "x"));
    else if (event.key === "-") zoomBy(2, u.posToVal(left, "x"));
    else if (event.key === "0" || event.key === "Escape") setZoom(null);
    else return;
    event.preventDefault();
  }
}
