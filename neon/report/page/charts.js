
// Which curves share a chart, and all charts together.

const kSections = [["Cost and metrics", /^(cost|metrics|multicost|gan)\/|^epoch\/(.*\.)?cost$/], ["Times", /^time\//], ["Training", /^/]];
const kOrder = ["Cost and metrics", "Training", "Times"];

const kFirst = [/^cost\/train$/, /^cost\/loss$/, /^epoch\/cost$/, /^cost\//, /^metrics\/(?!train_)/, /^/];

// The cost of one output in training, as epoch/price.cost.
const isEpochCost = (name) => /^epoch\/.*\.cost$/.test(name);

// With one run, the costs share a chart, also those of one output, and a metric of training samples joins that of the
// others.
function chartOf(name, runs) {
  if (runs.length === 1) {
    if (["cost/train", "cost/loss", "epoch/cost", "metrics/train_cost"].includes(name)) return "cost";
    if (isEpochCost(name)) return labelOf("metrics/" + name.slice(6));
    if (name.startsWith("metrics/train_")) return labelOf("metrics/" + name.slice(14));
  }
  return labelOf(name);
}

// Titles of charts and their lines, in order.
function linesOfCharts(runs) {
  const charts = new Map();
  for (const run of runs)
    for (const curve of run.curves) {
      const title = chartOf(curve.name, runs);
      if (!charts.has(title)) charts.set(title, []);
      const lines = charts.get(title);
      const alone = runs.length === 1;
      lines.push({ curve, label: alone ? labelOf(curve.name) : run.name, index: alone ? lines.length : run.index,
                   dashed: alone ? curve.name === "epoch/cost" || isEpochCost(curve.name) : run.index >= 10 });
    }
  const rank = ([, lines]) => kFirst.findIndex((pattern) => pattern.test(lines[0].curve.name));
  return [...charts].sort((a, b) => rank(a) - rank(b));
}

const charts = [];  // of the page, in order
let seen = null;    // notices which charts can be seen; the others are drawn later

function isOfFilter(title, lines) {
  const words = view.filter.toLowerCase();
  return words === "" || title.toLowerCase().includes(words) || lines.some((line) => line.curve.name.toLowerCase().includes(words));
}

function makeCharts(runs) {
  seen?.disconnect();
  seen = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries)
      if (isIntersecting) target.chart.stale && redraw(target.chart);
  }, { rootMargin: "300px" });
  charts.length = 0;
  const grids = new Map(), flat = [];
  for (const [title, lines] of linesOfCharts(runs)) {
    const first = lines[0].curve;
    if (lines.every(({ curve }) => curve.isFlat && curve.last === first.last) && first.points > 0 && !/^cost|^metrics/.test(first.name)) {
      flat.push(`${title} ${shortNumber(first.last)}`);
      continue;
    }
    const section = kSections.find(([, pattern]) => pattern.test(first.name))[0];
    if (!grids.has(section)) grids.set(section, []);
    const chart = new Chart(title, first.unit, lines);
    charts.push(chart);
    grids.get(section).push(chart.card);
  }
  byId("charts").replaceChildren(...kOrder.filter((section) => grids.has(section)).map((section) =>
    element("section", { "aria-label": section }, element("h2", {}, section), element("div", { class: "grid" }, ...grids.get(section)))));
  if (flat.length > 0) byId("charts").append(element("p", { class: "note" }, `The same at every point: ${flat.join(", ")}.`));
  for (const chart of charts) {
    chart.card.chart = chart;
    chart.stale = true;
    seen.observe(chart.card);
  }
  filterCharts();
}

function redraw(chart) {
  chart.stale = false;
  chart.draw();
}

// After a change of the view: charts that can be seen now, others once they can.
function redrawAll() {
  for (const chart of charts) {
    const { top, bottom } = chart.card.getBoundingClientRect();
    chart.stale = !(bottom > -300 && top < innerHeight + 300);
    if (!chart.stale) chart.draw();
  }
}

function filterCharts() {
  for (const chart of charts) chart.card.hidden = !isOfFilter(chart.title, chart.lines);
  for (const section of byId("charts").querySelectorAll("section[aria-label]:not(.card)"))
    section.hidden = ![...section.querySelectorAll(".card")].some((card) => !card.hidden);
}

function setZoom(range) {
  view.zoom = range;
  for (const chart of charts) chart.zoom(range ?? wholeRange());
}

// From the beginning to the end of the longest run that is shown, on the axis of the view: the same for all charts.
function wholeRange() {
  let end = 0;
  for (const run of runs)
    if (!view.hidden.has(run.index))
      for (const curve of run.curves) {
        const [last] = run.placed([curve.steps[curve.steps.length - 1]]);
        if (Number.isFinite(last)) end = Math.max(end, last);
      }
  return [0, end || 1];
}

// Around a place, by default the middle; never beyond the run.
function zoomBy(factor, around) {
  const whole = wholeRange(), [from, to] = view.zoom ?? whole;
  const centre = around ?? (from + to) / 2;
  const next = [Math.max(centre - (centre - from) * factor, whole[0]), Math.min(centre + (to - centre) * factor, whole[1])];
  setZoom(next[0] <= whole[0] && next[1] >= whole[1] ? null : next);
}
