
// The page as a whole: its data, its controls, its themes, and, of a running page, newer data.

let runs = [];

function showAll(content) {
  const data = JSON.parse(content);
  runs = data.runs.map((stored, index) => new Run(stored, index));
  const names = runs.map((run) => run.name);
  byId("title").textContent = names.length <= 3 ? names.join(", ") : `${names.length} runs`;
  document.title = `neon: ${byId("title").textContent}`;
  byId("version").textContent = `neon ${data.version}`;
  document.querySelector("input[value=time]").disabled = !runs.some((run) => run.hasTimes);
  makeRunTable(runs, chosenRunsChanged);
  makeCharts(runs);
  makeHistograms(runs);
  makeViews(runs);
  makeSettings(runs);
  makeDocuments(runs);
}

function makeViews(runs) {
  makeEvaluations(runs);
  makePictures(runs);
  makeNets(runs);
}

function chosenRunsChanged() {
  redrawAll();
  makeHistograms(runs);
  makeViews(runs);
}

function wireControls() {
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  for (const choice of document.querySelectorAll("input[name=axis]"))
    choice.addEventListener("change", () => {
      view.axis = choice.value;
      view.zoom = null;
      redrawAll();
      makeHistograms(runs);
    });
  byId("log").addEventListener("change", () => { view.log = byId("log").checked; redrawAll(); });
  byId("smoothing").addEventListener("input", () => {
    view.smoothing = Number(byId("smoothing").value);
    byId("smoothing-value").value = view.smoothing ? view.smoothing.toFixed(3) : "0";
    redrawAll();
  });
  byId("filter").addEventListener("input", () => { view.filter = byId("filter").value.trim(); filterCharts(); });
  byId("zoom-in").addEventListener("click", () => zoomBy(0.5));
  byId("zoom-out").addEventListener("click", () => zoomBy(2));
  byId("zoom-all").addEventListener("click", () => setZoom(null));
  byId("differing").addEventListener("change", () => makeSettings(runs));
  byId("find-setting").addEventListener("input", () => makeSettings(runs));
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) width = innerWidth, redrawAll(); });
}

const kThemes = { system: "◐ System", light: "☀ Light", dark: "☾ Dark" };
let theme = "system";
function applyTheme() {
  const dark = theme === "system" ? matchMedia("(prefers-color-scheme: dark)").matches : theme === "dark";
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = kThemes[theme];
  byId("theme").setAttribute("aria-label", `Colours: ${theme}`);
}
function wireTheme() {
  const apply = () => {
    applyTheme();
    if (runs.length === 0) return;
    makeRunTable(runs, chosenRunsChanged);
    chosenRunsChanged();
    makeSettings(runs);
  };
  byId("theme").addEventListener("click", () => {
    const all = Object.keys(kThemes);
    theme = all[(all.indexOf(theme) + 1) % all.length];
    apply();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", apply);
  addEventListener("beforeprint", redrawAll);
}

// Asks the server every two seconds; what did not change is left alone.
function follow(first) {
  let last = first;
  const line = byId("live");
  line.hidden = false;
  line.textContent = "live";
  setInterval(async () => {
    try {
      const answer = await fetch("data.json", { cache: "no-store" });
      const content = await answer.text();
      if (answer.ok && content !== last) showAll(last = content);
      line.textContent = answer.ok ? "live" : content;
    } catch {
      line.textContent = "neon no longer answers; this is the last it sent";
    }
  }, 2000);
}

applyTheme();
wireControls();
wireTheme();
showAll(byId("data").textContent);
if (document.body.dataset.live === "true") follow(byId("data").textContent);
