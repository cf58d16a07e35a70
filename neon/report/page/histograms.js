
// Histograms over the run as pictures: a column for each point, a row for each power of two.

// The rows in use in all histograms of a name.
function usedRows(histograms) {
  let low = Infinity, high = -Infinity;
  for (const { stored, counts } of histograms)
    counts.forEach((count, i) => {
      if (count === 0) return;
      const row = stored.offset + i % stored.bins;
      low = Math.min(low, row), high = Math.max(high, row);
    });
  return [low, high];
}

function heatPicture({ stored, counts }, [low, high]) {
  const columns = counts.length / stored.bins, rows = high - low + 1;
  const canvas = element("canvas", { width: String(columns), height: String(rows), role: "img" });
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const [red, green, blue] = colour("shade").split(",").map(Number);
  for (let column = 0; column < columns; ++column) {
    const bins = counts.subarray(column * stored.bins, (column + 1) * stored.bins);
    const all = bins.reduce((a, b) => a + b, 0);
    for (let row = 0; row < rows; ++row) {
      const share = all > 0 ? (bins[high - row - stored.offset] ?? 0) / all : 0;
      image.data.set([red, green, blue, Math.round(255 * Math.sqrt(Math.min(share * 2.5, 1)))], 4 * (row * columns + column));
    }
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function heatOf(histogram, rows, alone) {
  const { run, stored, steps, counts } = histogram, canvas = heatPicture(histogram, rows);
  const places = run.placed(steps), readout = element("span", {}, placeText(places[places.length - 1]));
  canvas.setAttribute("aria-label", `${stored.name} of ${run.name}: sizes from 2^${rows[0]} to 2^${rows[1]} over ${places.length} points`);
  canvas.addEventListener("mousemove", (event) => {
    const column = Math.min(Math.floor(event.offsetX / canvas.clientWidth * places.length), places.length - 1);
    const row = rows[1] - Math.min(Math.floor(event.offsetY / canvas.clientHeight * (rows[1] - rows[0] + 1)), rows[1] - rows[0]);
    const bins = counts.subarray(column * stored.bins, (column + 1) * stored.bins);
    const share = (bins[row - stored.offset] ?? 0) / bins.reduce((a, b) => a + b, 0);
    readout.textContent = `${placeText(places[column])}: ${shortNumber(Number((100 * share).toPrecision(3)))} % of size 2^${row}`;
  });
  return element("div", { class: "heat" },
    alone ? null : element("span", { class: "whose" }, swatch(run.colour), run.name),
    element("div", { class: "sizes", "aria-hidden": "true" }, element("span", {}, `2^${rows[1]}`), element("span", {}, `2^${rows[0]}`)),
    canvas, element("div", { class: "ends" }, element("span", {}, placeText(places[0])), readout));
}

function makeHistograms(runs) {
  const byName = new Map();
  for (const run of runs.filter((each) => !view.hidden.has(each.index)))
    for (const stored of run.histograms) {
      if (!byName.has(stored.name)) byName.set(stored.name, []);
      byName.get(stored.name).push({ run, stored, steps: decoded(stored.steps, "u4"), counts: decoded(stored.counts, "f4") });
    }
  byId("histograms").hidden = byName.size === 0;
  byId("histogram-grid").replaceChildren(...[...byName].map(([name, all]) =>
    element("section", { class: "card", "aria-label": name }, element("header", {}, element("h3", {}, name)),
      ...all.map((each) => heatOf(each, usedRows(all), runs.length === 1)))));
}
