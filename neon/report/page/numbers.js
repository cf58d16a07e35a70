
"use strict";
// Numbers: base64 to arrays, arrays to smooth ones, numbers to short texts.

const kArrays = { u4: Uint32Array, f4: Float32Array, f8: Float64Array };

function decoded(content, type) {
  const bytes = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
  return new kArrays[type](bytes.buffer);
}

// The value of a clock at a step: between two points in proportion, and beyond the last as between the last two.
function clockAt(steps, clock, step) {
  const known = Math.min(steps.length, clock.length);
  if (known < 2) return NaN;
  let low = 1, high = known - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle + 1;
    else high = middle;
  }
  const share = (step - steps[low - 1]) / (steps[low] - steps[low - 1]);
  return clock[low - 1] + share * (clock[low] - clock[low - 1]);
}

// Exponential means: each of `values` stands for `points` points, of which each keeps `weight` of the mean before it.
function smoothed(values, weight, points) {
  const keep = Math.pow(weight, points);
  let mean = 0, share = 0;
  return Array.from(values, (value) => {
    if (!Number.isFinite(value)) return null;
    mean = keep * mean + (1 - keep) * value;
    share = keep * share + (1 - keep);
    return mean / share;
  });
}

// Five digits that count.
function shortNumber(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(3).replace("e+", "e").replace("-", "−");
  const shown = Number.isInteger(value) ? value : Number(value.toPrecision(5));
  return shown.toLocaleString("en", { maximumFractionDigits: 8 }).replace("-", "−");
}

function durationText(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${shortNumber(Number((seconds * 1000).toPrecision(3)))} ms`;
  if (seconds < 60) return `${shortNumber(Number(seconds.toPrecision(3)))} s`;
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  if (hours === 0) return `${minutes} min ${Math.round(seconds % 60)} s`;
  return `${hours} h ${minutes % 60} min`;
}
