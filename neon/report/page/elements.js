
// Elements of the page. Every text from a run becomes a text node, so that none is ever read as markup.

function element(tag, attributes = {}, ...children) {
  const out = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (name.startsWith("on")) out.addEventListener(name.slice(2), value);
    else if (value === true) out.setAttribute(name, "");
    else if (value !== false && value !== null) out.setAttribute(name, value);
  out.append(...children.filter((child) => child !== null));
  return out;
}

function byId(id) { return document.getElementById(id); }

// A colour of the style sheet as it is now.
function colour(name) { return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim(); }

function swatch(of) {
  const out = element("span", { class: "swatch", "aria-hidden": "true" });
  out.style.background = of;
  return out;
}

// Colours of runs and curves, for both themes; the second ring has the same ones in other strokes.
const kColours = {
  light: ["#3257d6", "#d9480f", "#178a6b", "#a13bb5", "#b58100", "#c2255c", "#3b8ea5", "#6b7a1f", "#7a4a2b", "#5c6270"],
  dark: ["#8ca7ff", "#ff9f68", "#55d3a8", "#d991ee", "#f2c94c", "#ff8fb1", "#7cd3ea", "#c3d36a", "#d3a27f", "#b5bcc9"],
};
function isDark() { return document.documentElement.dataset.theme === "dark"; }
function colourOf(index) { return kColours[isDark() ? "dark" : "light"][index % 10]; }
