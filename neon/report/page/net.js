
// The graph of the net, at the places that the program has computed.

function svgElement(tag, attributes, ...children) {
  const out = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) out.setAttribute(name, value);
  out.append(...children);
  return out;
}

function netPicture(net) {
  const lines = net.lines.map((path) => svgElement("path", { d: path }));
  const boxes = net.boxes.map((box) => svgElement("g", { class: box.look, transform: `translate(${box.x} ${box.y})` },
    svgElement("rect", { width: box.width, height: box.height, rx: 7 }),
    svgElement("text", { x: box.width / 2, y: 16 }, svgElement("tspan", { class: "title" }, box.title),
      ...(box.name ? [svgElement("tspan", { dx: 6 }, box.name)] : [])),
    ...box.notes.map((note, i) => svgElement("text", { x: box.width / 2, y: 33 + 15 * i }, note))));
  return svgElement("svg", { class: "net", width: net.width, height: net.height, viewBox: `0 0 ${net.width} ${net.height}`, role: "img",
    "aria-label": `Graph of ${net.boxes.length} layers` }, svgElement("g", { class: "lines" }, ...lines), ...boxes);
}

function netOf(run) {
  const picture = netPicture(run.net), frame = element("div", { class: "scroll net-frame", tabindex: "0", role: "region", "aria-label": "Graph of the net" }, picture);
  const scale = (factor) => {
    picture.setAttribute("width", run.net.width * factor);
    picture.setAttribute("height", run.net.height * factor);
  };
  const size = element("input", { type: "range", min: "0.2", max: "2", step: "0.05", value: "1", oninput: () => scale(Number(size.value)) });
  return [element("p", { class: "row" }, element("span", { class: "note" }, run.net.summary), element("label", { class: "slide" }, "Size ", size)), frame];
}

function makeNets(runs) {
  const parts = partsOfRuns(runs, (run) => run.net !== null, netOf);
  byId("net").hidden = parts.length === 0;
  byId("net-parts").replaceChildren(...parts);
}
