
// What the net gets right and wrong: the confusion matrix, tables of classes or values, and calibration.

const kMostOfMatrix = 40;     // classes of a table; a picture shows more
const kMostConfused = 12;     // pairs of classes in a list

// One part for each run that has something; several runs fold up, and a part is made when it is first open.
function partsOfRuns(runs, has, make) {
  const those = runs.filter((run) => !view.hidden.has(run.index) && has(run));
  if (runs.length === 1) return those.flatMap((run) => make(run));
  return those.map((run, i) => {
    const part = element("details", { class: "of-run", ontoggle: () => {
      if (part.open && part.childElementCount === 1) part.append(...make(run));
    } }, element("summary", {}, swatch(run.colour), " ", run.name));
    part.open = i === 0;
    return part;
  });
}

function tableOf(heads, rows, attributes = {}) {
  const cell = (tag, content, more = {}) => element(tag, more, ...[content].flat());
  return element("div", { class: "scroll tall", tabindex: "0", role: "region", ...attributes },
    element("table", {}, element("thead", {}, element("tr", {}, ...heads.map((head) => cell("th", head, { scope: "col" })))),
      element("tbody", {}, ...rows.map(([first, ...rest]) =>
        element("tr", {}, cell("th", first, { scope: "row" }), ...rest.map((content) => cell("td", content)))))));
}

function percentText(share) { return Number.isFinite(share) ? `${shortNumber(Number((100 * share).toPrecision(3)))} %` : "–"; }

// Rows of [column, count] as whole rows.
function wholeMatrix(sparse) {
  return sparse.map((row) => {
    const out = new Array(sparse.length).fill(0);
    for (const [column, count] of row) out[column] = count;
    return out;
  });
}

function shade(cell, share, wrong) {
  if (share > 0) cell.style.background = `rgba(${colour(wrong ? "wrong" : "shade")}, ${(0.75 * Math.sqrt(share)).toFixed(3)})`;
  return cell;
}

function sumOf(row) { return row.reduce((a, b) => a + b, 0); }

function confusionTable(matrix, names) {
  const head = element("tr", {}, element("th", { scope: "col" }, "true \u2193  predicted \u2192"),
    ...names.map((name) => element("th", { scope: "col", class: "upright" }, element("span", {}, name))));
  const rows = matrix.map((row, k) => {
    const all = sumOf(row);
    return element("tr", {}, element("th", { scope: "row" }, names[k]), ...row.map((count, j) =>
      shade(element("td", { title: `${names[k]} taken for ${names[j]}: ${count} of ${all}` }, count === 0 ? "" : shortNumber(count)),
        all > 0 ? count / all : 0, j !== k)));
  });
  return element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Confusion matrix" },
    element("table", { class: "matrix" }, element("thead", {}, head), element("tbody", {}, ...rows)));
}

// Many classes: a pixel for each pair.
function confusionPicture(matrix, names) {
  const n = matrix.length, canvas = element("canvas", { width: String(n), height: String(n), role: "img", class: "many",
    "aria-label": `Confusion matrix of ${n} classes` });
  const context = canvas.getContext("2d"), image = context.createImageData(n, n);
  const parse = (name) => colour(name).split(",").map(Number), right = parse("shade"), wrong = parse("wrong");
  matrix.forEach((row, k) => {
    const all = sumOf(row);
    row.forEach((count, j) => image.data.set([...(j === k ? right : wrong), all > 0 ? Math.round(255 * Math.sqrt(count / all)) : 0], 4 * (k * n + j)));
  });
  context.putImageData(image, 0, 0);
  const readout = element("p", { class: "note" }, "Rows are true classes, columns predicted ones.");
  canvas.addEventListener("mousemove", (event) => {
    const at = (offset, size) => Math.min(Math.max(Math.floor(offset / size * n), 0), n - 1);
    const k = at(event.offsetY, canvas.clientHeight), j = at(event.offsetX, canvas.clientWidth);
    readout.textContent = `${names[k]} taken for ${names[j]}: ${matrix[k][j]} of ${sumOf(matrix[k])}`;
  });
  return element("div", {}, canvas, readout);
}

function confusedPairs(matrix, names) {
  const pairs = matrix.flatMap((row, k) => row.map((count, j) => ({ k, j, count, all: sumOf(row) })))
    .filter(({ k, j, count }) => k !== j && count > 0).sort((a, b) => b.count - a.count).slice(0, kMostConfused);
  if (pairs.length === 0) return [element("p", { class: "note" }, "No sample is taken for another class.")];
  return [tableOf(["most confused", "samples", "of the class"], pairs.map(({ k, j, count, all }) =>
    [`${names[k]} \u2192 ${names[j]}`, shortNumber(count), percentText(count / all)]), { "aria-label": "Most confused classes" })];
}

function classReport(report) {
  const names = report.classes.map((each) => each.class), out = [];
  const shares = ["precision", "recall", "f1", ...(report.mean.iou === undefined ? [] : ["iou"])];
  const line = (of, name) => [name, ...shares.map((key) => percentText(of[key])), shortNumber(of.support)];
  if (report.confusion) {
    const matrix = wholeMatrix(report.confusion);
    out.push(element("section", { class: "card wide", "aria-label": "Confusion matrix" },
      element("header", {}, element("h3", {}, "Confusion matrix", element("small", {}, `accuracy ${percentText(report.accuracy)}`))),
      names.length <= kMostOfMatrix ? confusionTable(matrix, names) : confusionPicture(matrix, names)));
    out.push(element("section", { class: "card", "aria-label": "Most confused" }, ...confusedPairs(matrix, names)));
  }
  out.push(element("section", { class: "card", "aria-label": "Classes" },
    tableOf(["class", ...shares, report.support_of ?? "samples"],
      [...report.classes.map((of) => line(of, of.class)), line(report.mean, "mean"), line(report.weighted_mean, "weighted mean")],
      { "aria-label": "Precision and recall of classes" })));
  if (report.calibration)
    out.push(element("section", { class: "card", "aria-label": "Calibration" },
      element("header", {}, element("h3", {}, "Calibration", element("small", {}, `error ${shortNumber(report.calibration.error)}`))),
      tableOf(["largest output", "samples", "mean output", "right"], report.calibration.bins.map((bin) =>
        [`${shortNumber(bin.low)} … ${shortNumber(bin.high)}`, shortNumber(bin.samples), percentText(bin.output), percentText(bin.right)]),
        { "aria-label": "Calibration" })));
  return out;
}

function valueReport(report) {
  const keys = ["MAE", "RMSE", "R2", "bias", "deviation", "largest"];
  return [element("section", { class: "card wide", "aria-label": "Residuals" },
    tableOf(["output", ...keys, "residuals: 5 %", "25 %", "50 %", "75 %", "95 %"], report.outputs.map((of) =>
      [of.output, ...keys.map((key) => shortNumber(of[key])), ...of.quantiles.map(shortNumber)]), { "aria-label": "Residuals" }))];
}

// Samples without pictures.
function sampleTable({ title, heads, rows }) {
  return element("section", { class: "card wide", "aria-label": title }, element("header", {}, element("h3", {}, title)),
    tableOf(heads, rows, { "aria-label": title }));
}

function evaluationOf(run) {
  const { evaluation } = run;
  const results = Object.entries(evaluation.results).map(([name, value]) => `${name} ${shortNumber(value)}`).join(", ");
  const said = `${evaluation.checkpoint} on the ${evaluation.set} set, ${shortNumber(evaluation.samples)} samples: ${results}.${evaluation.note ? ` ${evaluation.note}` : ""}`;
  const cards = evaluation.reports.flatMap(({ target, report }) =>
    [...(target === "" ? [] : [element("h3", { class: "target" }, target)]), ...(report.outputs ? valueReport(report) : classReport(report))]);
  return [element("p", { class: "note" }, said), element("div", { class: "grid" }, ...cards, ...evaluation.tables.map(sampleTable))];
}

function makeEvaluations(runs) {
  const parts = partsOfRuns(runs, (run) => run.evaluation !== null, evaluationOf);
  byId("evaluation").hidden = parts.length === 0;
  byId("evaluation-parts").replaceChildren(...parts);
}
