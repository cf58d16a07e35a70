
// Runs as the page's data have them, and the view that all charts share.

const view = { axis: "step", log: false, smoothing: 0, zoom: null, filter: "", hidden: new Set() };

// Numbers of a curve are decoded when they are first asked for.
class Curve {
  constructor(run, stored) {
    Object.assign(this, { run, name: stored.name, unit: stored.unit, points: stored.points, stored });
  }
  get steps() { return (this.decodedSteps ??= decoded(this.stored.steps, "u4")); }
  get values() { return (this.decodedValues ??= decoded(this.stored.values, this.stored.type)); }
  get last() { return this.values[this.values.length - 1]; }
  get isThinned() { return this.stored.bucket !== undefined; }
  get isByStep() { return this.stored.every > 0; }
  get isFlat() { return (this.flat ??= this.values.every((value) => value === this.values[0])); }
  // x and y for a chart.
  line() { return [this.run.placed(this.steps), this.values]; }
  smoothLine(weight) {
    if (!this.isThinned) return [this.run.placed(this.steps), smoothed(this.values, weight, 1)];
    const { steps, means, points } = this.stored.bucket;
    return [this.run.placed(decoded(steps, "u4")), smoothed(decoded(means, "f4"), weight, points)];
  }
}

class Run {
  constructor(stored, index) {
    Object.assign(this, { name: stored.name, path: stored.path, status: stored.status, timeline: stored.timeline, index });
    this.facts = stored.facts;
    this.documents = stored.documents;
    this.histograms = stored.histograms;
    this.net = stored.net;
    this.evaluation = stored.evaluation;
    this.sheets = stored.sheets;
    this.curves = stored.curves.map((curve) => new Curve(this, curve));
  }
  get colour() { return colourOf(this.index); }
  get hasTimes() { return this.timeline.seconds.length > 1; }
  get seconds() { return this.hasTimes ? this.timeline.seconds[this.timeline.seconds.length - 1] : NaN; }
  fact(key) { return this.facts.find(([group, name]) => group === "run" && name === key)?.[2] ?? ""; }
  curve(name) { return this.curves.find((curve) => curve.name === name); }
  // Steps on the axis of the view.
  placed(steps) {
    if (view.axis === "step") return Array.from(steps);
    const clock = view.axis === "epoch" ? this.timeline.epochs : this.timeline.seconds;
    return Array.from(steps, (step) => clockAt(this.timeline.steps, clock, step));
  }
}

const kLabels = {
  "cost/train": "training cost", "cost/loss": "evaluation cost", "epoch/cost": "training cost, mean of an epoch",
  "cost/generator": "generator's cost", "epoch/learning_rate": "learning rate", "epoch/loss_scale": "loss scale",
  "gradient/norm": "gradient norm",
  "epoch/skipped_steps": "skipped steps", "time/epoch": "time of an epoch", "time/loss": "time of an evaluation",
  "time/steps_per_second": "throughput", "metrics/train_cost": "cost of first training samples",
};
function labelOf(name) {
  if (/^epoch\/.*\.cost$/.test(name)) return name.slice(6) + " in training, mean of an epoch";
  return kLabels[name] ?? name.slice(name.indexOf("/") + 1).replaceAll("_", " ");
}

function placeText(x) {
  if (view.axis === "time") return durationText(x);
  return `${view.axis} ${shortNumber(view.axis === "step" ? Math.round(x) : Number(x.toFixed(3)))}`;
}
