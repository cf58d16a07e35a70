
// The table of runs, the table of settings, and texts such as the spec.

function resultCell(curve) {
  if (!curve) return element("td", {}, "–");
  let low = Infinity, high = -Infinity;
  for (const value of curve.values)
    if (Number.isFinite(value)) low = Math.min(low, value), high = Math.max(high, value);
  return element("td", {}, shortNumber(curve.last), element("small", {}, `${shortNumber(low)} … ${shortNumber(high)}`));
}

function runRow(run, results, changed) {
  const box = element("input", { type: "checkbox", checked: !view.hidden.has(run.index), onchange: () => {
    box.checked ? view.hidden.delete(run.index) : view.hidden.add(run.index);
    changed();
  } });
  const speed = run.curve("time/steps_per_second");
  return element("tr", {},
    element("td", {}, element("label", { class: "run-name", title: run.path }, box, swatch(run.colour), run.name)),
    element("td", { class: `status-${run.status.replace(/\W/g, "")}` }, run.status),
    element("td", {}, run.fact("epochs")), element("td", {}, run.fact("steps")),
    ...results.map((name) => resultCell(run.curve(name))),
    element("td", {}, durationText(run.seconds)),
    element("td", {}, speed ? `${shortNumber(Number(speed.last.toPrecision(4)))} steps/s` : "–"));
}

function makeRunTable(runs, changed) {
  const results = [...new Set(runs.flatMap((run) => run.curves.map((curve) => curve.name)))]
    .filter((name) => /^(cost|metrics)\//.test(name)).sort();
  const heads = ["run", "status", "epochs", "steps", ...results.map(labelOf), "training time", "throughput"];
  byId("runs").replaceChildren(
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...runs.map((run) => runRow(run, results, changed))));
}

// [group, key, the values of all runs], in the order of the first run that has the setting.
function settingRows(runs) {
  const rows = new Map();
  for (const run of runs)
    for (const [group, key, value] of run.facts) {
      const id = JSON.stringify([group, key]);
      if (!rows.has(id)) rows.set(id, { group, key, values: runs.map(() => null) });
      rows.get(id).values[run.index] = value;
    }
  return [...rows.values()];
}

function makeSettings(runs) {
  const several = runs.length > 1, only = several && byId("differing").checked;
  const words = byId("find-setting").value.toLowerCase();
  byId("differing-label").hidden = !several;
  const rows = settingRows(runs).filter(({ group, key, values }) =>
    (!only || values.some((value) => value !== values[0])) &&
    (words === "" || [group, key, ...values].some((part) => part !== null && part.toLowerCase().includes(words))));
  const none = element("tr", {}, element("th", { scope: "row", colspan: String(runs.length + 1) }, "No such settings."));
  byId("facts").replaceChildren(
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "setting"),
      ...runs.map((run) => element("th", { scope: "col" }, swatch(run.colour), " ", run.name)))),
    element("tbody", {}, ...(rows.length === 0 ? [none] : rows.map(({ group, key, values }) =>
      element("tr", {}, element("th", { scope: "row" }, element("span", { class: "group" }, `${group} `), key),
        ...values.map((value) => (value === null ? element("td", { class: "absent" }, "–") : element("td", {}, value))))))));
}

function makeDocuments(runs) {
  byId("documents").replaceChildren(...runs.flatMap((run) => run.documents.map(([title, content]) =>
    element("details", {}, element("summary", {}, runs.length > 1 ? `${title} of ${run.name}` : title),
      element("pre", { tabindex: "0" }, content)))));
}
