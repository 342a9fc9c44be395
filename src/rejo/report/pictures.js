// The pictures: plain SVG in pixels, redrawn for each setting and width.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = ["7 4", "2 3", "10 3 2 3", "5 2", "1 4", "12 4"];

// Sizes are measured once, and again when the window changes. Measuring between two drawings would
// make the browser lay out the page each time.
const widths = {};

function measure() {
  for (const svg of document.querySelectorAll("svg.picture")) {
    widths[svg.id] = Math.max(240, Math.floor(svg.parentElement.clientWidth));
  }
  // A table that fits does not need to take the focus.
  for (const node of document.querySelectorAll(".scroll")) {
    node.tabIndex = node.scrollWidth > node.clientWidth ? 0 : -1;
  }
}

function add(parent, tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    node.setAttribute(name, typeof value === "number" ? String(Math.round(value * 100) / 100) : value);
  }
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

const shorten = (text, most) => {
  const letters = Array.from(text);
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
};

// Steps of 1, 2, 2.5 or 5 times a power of ten, about `wanted` of them.
function ticks(low, high, wanted) {
  const raw = (high - low) / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) found.push(i * step);
  return { values: found, decimals: [0, 1, 2, 3, 4].find((d) => Math.abs(step * 10 ** d - Math.round(step * 10 ** d)) < 1e-6) ?? 5 };
}

const inPercent = (value, decimals) => `${value.toFixed(decimals)} %`;

// A picture without anything in it yet.
function emptied(id, height) {
  const svg = document.getElementById(id), width = widths[id];
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", height);
  return { svg, width };
}

// An amount in few characters: 250k for 250,000.
function inShort(value, decimals) {
  if (value === 0) return "0";
  if (value < 0.001) return value.toExponential(0);
  const [size, unit] = [[1e9, "bn"], [1e6, "M"], [1e4, "k"]].find(([least]) => value >= least) ?? [1, ""];
  const by = unit === "k" ? 1000 : size;
  if (unit) return `${Number((value / by).toPrecision(4))}${unit}`;
  return value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals });
}

// An empty picture with axes; x and y turn values into pixels.
function frame(id, { xs, ys, xLabel, yLabel, unit = 100, write = inPercent }) {
  const height = 320, { svg, width } = emptied(id, height);
  const box = { left: 58, right: width - 24, top: 28, bottom: height - 44 };
  const x = (v) => box.left + ((v - xs[0]) / (xs[1] - xs[0])) * (box.right - box.left);
  const y = (v) => box.bottom - ((v - ys[0]) / (ys[1] - ys[0])) * (box.bottom - box.top);
  const down = ticks(ys[0] * unit, ys[1] * unit, 5);
  for (const value of down.values) {
    const at = y(value / unit);
    add(svg, "line", { class: "grid", x1: box.left, x2: box.right, y1: at, y2: at });
    add(svg, "text", { class: "tick", x: box.left - 8, y: at + 4, "text-anchor": "end" },
      write(value, down.decimals));
  }
  const along = ticks(xs[0] * 100, xs[1] * 100, width < 480 ? 4 : 8);
  for (const value of along.values) {
    add(svg, "text", { class: "tick", x: x(value / 100), y: box.bottom + 18, "text-anchor": "middle" },
      inPercent(value, along.decimals));
  }
  add(svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: box.bottom, y2: box.bottom });
  add(svg, "text", { class: "label", x: box.right, y: height - 6, "text-anchor": "end" }, xLabel);
  add(svg, "text", { class: "label", x: 2, y: 14 }, yLabel);
  const within = (v) => Math.min(box.bottom, Math.max(box.top, y(v)));
  return { svg, width, height, box, x, y, within };
}

const path = (points) =>
  points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(1)} ${py.toFixed(1)}`).join("");

function marker({ svg, box }, px, py) {
  add(svg, "line", { class: "here", x1: px, x2: px, y1: box.top, y2: box.bottom });
  add(svg, "circle", { class: "dot", cx: px, cy: py, r: 6 });
}

const roundUp = (value, step) => Math.min(1, Math.ceil(value / step - 1e-9) * step);

// A curve for each model that was not chosen; those of a report have the same colours everywhere.
function drawRivals({ svg, x, within }, curves) {
  curves.forEach((curve, i) => add(svg, "path", {
    class: `rival rival-${i % 6}`, d: path(curve.map(([r, value]) => [x(r), within(value)])),
    "stroke-dasharray": dashOf(i),
  }));
}

const dashOf = (i) => DASHES[(i + Math.floor(i / 6)) % 6];

// A line beside its name.
function drawSwatch(svg, look, dash) {
  svg.replaceChildren();
  add(svg, "line", { class: look, x1: 0, x2: 30, y1: 5, y2: 5, ...dash });
}

// The line of the model itself, with a stop at each point if they are few.
function drawOurs(svg, line) {
  add(svg, "path", { class: "ours", d: path(line) });
  if (line.length > 30) return;
  for (const [cx, cy] of line) add(svg, "circle", { class: "stop", cx, cy, r: 2.5 });
}

// Ranked for prices by class, models cannot be compared by errors that cost alike.
const rivalAccuracy = (data) => (!data.uniform ? [] : data.rivals.map(({ n, points }) => points
  .map(([reviewed, wrong]) => [sum(reviewed), wrong])
  .filter(([reviewed]) => reviewed < n)
  .map(([reviewed, wrong]) => [reviewed / n, 1 - wrong / (n - reviewed)])));

const rivalCosts = (data, prices) => data.rivals.map(({ n, points }) => points.map(([reviewed, , errors]) => [
  sum(reviewed) / n, (data.batch / n) * (reviewMoments(reviewed, prices).cost + cellMoments(errors, prices).cost),
]));

function drawCurve(data, { point }) {
  const ours = data.reviewed
    .map((reviewed, i) => [reviewed / data.n, ...(data.accuracy[i] ?? [null])])
    .filter(([, accuracy]) => accuracy !== null)
    .sort((a, b) => a[0] - b[0]);
  const rivals = rivalAccuracy(data);
  // Where few cases are decided, the band is wide and would flatten everything else.
  const floor = Math.min(1, ...ours.filter(([r]) => r <= 0.9).map(([, , low]) => low),
    ...ours.map(([, a]) => a), ...rivals.flat().map(([, a]) => a));
  const least = Math.min(0.99, Math.floor(floor * 100 - 0.2) / 100);
  const most = Math.max(0.1, roundUp(Math.max(0, ...[...ours, ...rivals.flat()].map(([r]) => r)), 0.1));
  const picture = frame("curve", {
    xs: [0, most], ys: [Math.max(0, least), 1],
    xLabel: "share of the cases sent to review", yLabel: "correct among the decided",
  });
  const { svg, x, y, within } = picture;
  if (ours.length > 1) {
    const upper = ours.map(([r, , , high]) => [x(r), within(high)]);
    const lower = ours.map(([r, , low]) => [x(r), within(low)]).reverse();
    add(svg, "path", { class: "band", d: `${path([...upper, ...lower])}Z` });
  }
  drawRivals(picture, rivals);
  drawOurs(svg, ours.map(([r, a]) => [x(r), y(a)]));
  const accuracy = data.accuracy[point];
  if (accuracy) marker(picture, x(data.reviewed[point] / data.n), y(accuracy[0]));
}

function drawBudget(data, { point }) {
  const per = data.batch / data.n, { steps } = data;
  const highest = Math.max(1, ...data.left.kept.map((curve) => Math.max(...curve))) * per;
  const picture = frame("budget", {
    xs: [0, 1], ys: [0, highest * 1.05], unit: 1, write: inShort,
    xLabel: "most doubtful cases reviewed", yLabel: "wrong decisions that remain, per 1,000 cases",
  });
  const { svg, x, y, box } = picture;
  const line = atPoint(data.left, point).map((left, i) => [x(steps[i] / data.n), y(left * per)]);
  const at = x(data.reviewed[point] / data.n);
  add(svg, "rect", { class: "zone", x: box.left, y: box.top, width: at - box.left, height: box.bottom - box.top });
  add(svg, "path", { class: "errors", d: path(line) });
  marker(picture, at, y(data.wrong[point] * per));
}

function drawCost(data, { point, prices }) {
  const per = data.batch / data.n;
  const costs = data.wrong.map((_, i) => [data.reviewed[i] / data.n, pointCost(data, i, prices) * per]);
  const byHand = byHandMoments(data, prices).cost * per;
  const forced = forcedMoments(data, point, prices).cost * per;
  const rivals = rivalCosts(data, prices);
  const all = [byHand, forced, ...[...costs, ...rivals.flat()].map(([, cost]) => cost)];
  const highest = Math.max(...all) || 1, lowest = Math.min(...all), above = (highest - lowest) / 4 || highest / 10;
  const picture = frame("cost", {
    xs: [0, 1], ys: [Math.max(lowest - above, 0), highest + above], unit: 1, write: inShort,
    xLabel: "share of the cases sent to review", yLabel: "cost per 1,000 cases",
  });
  const { svg, x, y, box } = picture;
  for (const [cost, cx, look] of [[forced, box.left, "price"], [byHand, box.right, "price by-hand"]]) {
    add(svg, "line", { class: look, x1: box.left, x2: box.right, y1: y(cost), y2: y(cost) });
    add(svg, "circle", { class: "stop", cx, cy: y(cost), r: 4 });
  }
  drawRivals(picture, rivals);
  drawOurs(svg, [...costs].sort((a, b) => a[0] - b[0]).map(([part, cost]) => [x(part), y(cost)]));
  marker(picture, x(costs[point][0]), y(costs[point][1]));
}

// A bar, its interval, and what was expected if that is known.
function drawBar(svg, x, wide, foot, { value, low, high, expected = null }, y) {
  const middle = x + wide / 2;
  add(svg, "rect", { class: "rate", x: x + wide * 0.18, width: wide * 0.64, y: y(value), height: foot - y(value) });
  add(svg, "line", { class: "whisker", x1: middle, x2: middle, y1: y(low), y2: y(high) });
  for (const end of [low, high]) {
    add(svg, "line", { class: "whisker", x1: middle - 4, x2: middle + 4, y1: y(end), y2: y(end) });
  }
  if (expected !== null) {
    const at = y(Math.max(expected, 0));
    add(svg, "path", { class: "expected", d: path([[middle - 6, at], [middle, at - 6], [middle + 6, at], [middle, at + 6]]) + "Z" });
  }
}

// Share of errors in each tenth of the queue, and the share above which a review pays.
function errorBars(data, { point, prices }) {
  const bars = ([cellsOf]) => cellsOf.map((cells, t) => {
    const n = data.tenthSizes[t], { n: wrong } = cellMoments(cells, prices);
    if (!n) return null;
    const [low, high] = wilson(wrong, n, data.worth, data.z);
    return { value: wrong / n, low, high: Math.min(high, 1) };
  });
  const line = reviewWorth(data, point, twoPrices(data, prices));
  const all = data.queue.kept.flatMap(bars).filter(Boolean);
  return {
    bars: bars(atPoint(data.queue, point)), lines: data.tenthSizes.map(() => line),
    top: roundUp(Math.max(0.55, line, ...all.map((bar) => bar.high)), 0.05), yLabel: "wrong, if decided",
  };
}

// Cost of deciding the cases of each tenth, against that of their review.
function moneyBars(data, { point, prices }) {
  const bars = (i) => tenthCosts(data, i, prices).map((tenth) => {
    if (!tenth) return null;
    const { n, decided, cost, expected } = tenth;
    const half = data.z * Math.sqrt(Math.max(decided.square / n - cost * cost, 0) / (n * data.worth));
    return { value: cost, low: Math.max(cost - half, 0), high: cost + half, expected };
  });
  const firsts = data.queue.kept.map((_, i) => data.queue.of.indexOf(i)); // a point of each queue
  const all = firsts.flatMap(bars).filter(Boolean);
  const lines = tenthCosts(data, point, prices).map((tenth) => (tenth ? tenth.review : null));
  const top = Math.max(...lines, ...all.map((bar) => Math.max(bar.high, bar.expected ?? 0)));
  return { bars: bars(point), lines, top: top * 1.05 || 1, yLabel: "mean cost, if decided", unit: 1, write: inShort };
}

function drawTenths(data, setting) {
  const { bars, lines, top, ...rest } = (inMoney(data, setting.prices) ? moneyBars : errorBars)(data, setting);
  const { svg, x, box, within } = frame("tenths", {
    xs: [0, 1], ys: [0, top], xLabel: "cases, from the most to the least doubtful", ...rest,
  });
  const edge = x(data.reviewed[setting.point] / data.n);
  add(svg, "rect", { class: "zone", x: box.left, y: box.top, width: edge - box.left, height: box.bottom - box.top });
  const wide = (box.right - box.left) / 10;
  bars.forEach((bar, t) => {
    if (bar) drawBar(svg, box.left + t * wide, wide, box.bottom, bar, within);
  });
  const steps = lines.flatMap((line, t) => (line === null ? []
    : [[box.left + t * wide, within(line)], [box.left + (t + 1) * wide, within(line)]]));
  add(svg, "path", { class: "price", d: path(steps) });
  add(svg, "line", { class: "price", x1: box.right - 140, x2: box.right - 112, y1: 10, y2: 10 });
  add(svg, "text", { class: "label", x: box.right, y: 14, "text-anchor": "end" }, "price of a review");
  add(svg, "line", { class: "here", x1: edge, x2: edge, y1: box.top, y2: box.bottom });
}

// What becomes of each true class, where there is no score to draw.
function drawClasses(data, { point }) {
  if (!document.getElementById("classes")) return;
  const row = 40, last = data.prices[0].length - 1;
  const { svg, width } = emptied("classes", data.classes.length * row + 4);
  data.matrix[point].forEach((counts, k) => {
    const n = sum(counts), top = k * row + 20;
    const parts = { right: 0, wrong: 0, review: 0 };
    counts.forEach((count, o) => {
      const c = data.columns[o];
      parts[c === last ? "review" : c === rightColumn(data, k) ? "right" : "wrong"] += count;
    });
    add(svg, "text", { class: "class-label", x: 0, y: top - 5 }, shorten(data.classes[k], Math.floor(width / 11)));
    add(svg, "rect", { class: "track", x: 0, y: top, width, height: 14 });
    let from = 0;
    for (const [kind, count] of Object.entries(parts)) {
      const wide = n ? (count / n) * width : 0;
      if (count) add(svg, "rect", { class: `fill-${kind}`, x: from, y: top, width: wide, height: 14 });
      from += wide;
    }
  });
}

function drawScores(data, { point }) {
  const found = data.histogram;
  if (!found) return;
  const row = data.classes.length > 4 ? 64 : 84, gap = 26, top = 4;
  const height = top + data.classes.length * (row + gap) + 44;
  const { svg, width } = emptied("scores", height);
  const box = { left: 12, right: width - 12, top };
  const hatch = add(add(svg, "defs", {}), "pattern", {
    id: "hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)",
  });
  add(hatch, "rect", { class: "hatch-ground", width: 6, height: 6 });
  add(hatch, "rect", { class: "hatch-line", width: 2.5, height: 6 });
  const low = found.edges[0], high = found.edges[found.edges.length - 1];
  const x = (v) => box.left + ((v - low) / (high - low)) * (box.right - box.left);
  const bottom = box.top + data.classes.length * (row + gap);
  for (const [from, to] of found.bands[point]) {
    add(svg, "rect", { class: "zone", x: x(from), y: box.top, width: x(to) - x(from), height: bottom - box.top });
  }
  const totals = atPoint(found.total, point);
  data.classes.forEach((label, k) => {
    const foot = box.top + (k + 1) * (row + gap);
    // One scale for a class at all points, so that bars do not jump.
    const highest = Math.max(1, ...found.total.kept.map((cells) => Math.max(...cells[k])));
    totals[k].forEach((count, b) => {
      const reviewed = found.reviewed[point][k][b];
      const left = x(found.edges[b]) + 0.5, wide = Math.max(0.5, x(found.edges[b + 1]) - left - 0.5);
      const tall = (count / highest) * row, top = (reviewed / highest) * row;
      if (count > reviewed) add(svg, "rect", { class: "decided", x: left, width: wide, y: foot - tall + top, height: tall - top });
      if (reviewed) add(svg, "rect", { class: "reviewed", x: left, width: wide, y: foot - tall, height: top });
    });
    add(svg, "line", { class: "axis", x1: box.left, x2: box.right, y1: foot, y2: foot });
    add(svg, "text", { class: "class-label", x: box.left, y: foot - row - 6 }, shorten(label, Math.floor(width / 11)));
  });
  const marks = ticks(low, high, width < 480 ? 4 : 8);
  for (const value of marks.values) {
    const at = x(value);
    if (at < box.left + 14 || at > box.right - 14) continue;
    add(svg, "text", { class: "tick", x: at, y: bottom + 18, "text-anchor": "middle" }, value.toFixed(marks.decimals));
  }
  add(svg, "text", { class: "label", x: box.right, y: height - 6, "text-anchor": "end" }, "score, higher for higher classes");
}

// The 1,000 cases as one bar: right, wrong, to review.
function drawSplit(data, { point }) {
  const reviewed = (data.reviewed[point] / data.n) * 100, wrong = (data.wrong[point] / data.n) * 100;
  const svg = document.getElementById("split");
  svg.replaceChildren();
  const part = (kind, from, to) => add(svg, "rect", {
    class: `fill-${kind}`, x: `${from.toFixed(2)}%`, width: `${Math.max(0, to - from).toFixed(2)}%`, height: "100%",
  });
  part("right", 0, 100 - reviewed - wrong);
  part("wrong", 100 - reviewed - wrong, 100 - reviewed);
  part("review", 100 - reviewed, 100);
}

function draw(data, setting) {
  drawSplit(data, setting);
  drawCost(data, setting);
  drawCurve(data, setting);
  drawBudget(data, setting);
  drawTenths(data, setting);
  drawScores(data, setting);
  drawClasses(data, setting);
  drawGroupBars(data, setting);
  drawGaps(data, setting);
  drawKinds(data, setting);
}
