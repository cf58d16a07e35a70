
// Pictures: samples with what the net makes of them, filters, sheets of guided backpropagation.

const kSidesOfSample = 84;  // pixels of the page

async function loaded(sheet) {
  const image = new Image();
  image.src = `data:image/png;base64,${sheet.png}`;
  await image.decode();
  return image;
}

// A cell of the sheet as a picture of its own.
function cellPicture(sheet, image, number) {
  const canvas = element("canvas", { width: String(sheet.width), height: String(sheet.height), role: "img",
    "aria-label": sheet.captions[number]?.join(", ") || `picture ${number + 1}` });
  const left = sheet.gap + number % sheet.columns * (sheet.width + sheet.gap);
  const top = sheet.gap + Math.floor(number / sheet.columns) * (sheet.height + sheet.gap);
  canvas.getContext("2d").drawImage(image, left, top, sheet.width, sheet.height, 0, 0, sheet.width, sheet.height);
  const factor = Math.max(kSidesOfSample / Math.max(sheet.width, sheet.height), 1);
  canvas.style.width = `${sheet.width * factor}px`;
  canvas.style.height = `${sheet.height * factor}px`;
  return canvas;
}

function sheetCard(sheet) {
  const body = element("div", { class: sheet.captions.some((lines) => lines.length > 0) ? "samples" : "cells" });
  const broken = () => body.replaceChildren(element("p", { class: "note" }, "The picture cannot be read."));
  loaded(sheet).then((image) => body.replaceChildren(...Array.from({ length: sheet.count }, (_, i) =>
    element("figure", {}, cellPicture(sheet, image, i), element("figcaption", {},
      ...(sheet.captions[i] ?? []).map((line, k) => element(k === 0 ? "b" : "span", {}, line))))))).catch(broken);
  return element("section", { class: "card wide", "aria-label": sheet.title },
    element("header", {}, element("h3", {}, sheet.title)), sheet.note ? element("p", { class: "note" }, sheet.note) : null, body);
}

function makePictures(runs) {
  const parts = partsOfRuns(runs, (run) => run.sheets.length > 0, (run) => run.sheets.map(sheetCard));
  byId("pictures").hidden = parts.length === 0;
  byId("picture-parts").replaceChildren(...parts);
}
