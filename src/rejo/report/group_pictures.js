// Pictures about groups, and about the reasons for reviews.

// The largest rates among the judged groups at this point: a full bar.
function groupScale(data, point) {
  const scale = { review: 0, wrong: 0 };
  for (const group of data.groups.flatMap((column) => column.groups)) {
    for (const [what, [part, of, rate]] of Object.entries(groupParts(data, group, point))) {
      scale[what] = Math.max(scale[what], of >= SMALL ? part / of : 0, rate);
    }
  }
  return scale;
}

// A bar for a rate, a line for its interval, a tick for the rate of all cases.
function drawGroupBars(data, { point }) {
  const scale = groupScale(data, point);
  data.groups.forEach((column, c) => column.groups.forEach((group, v) => {
    for (const [what, [part, of, rate]] of Object.entries(groupParts(data, group, point))) {
      const svg = document.getElementById(`group-${c}-${v}-${what}-bar`);
      const full = Math.min(1, (scale[what] || 1) * 1.25);
      const at = (value) => `${(Math.min(1, value / full) * 100).toFixed(2)}%`;
      svg.replaceChildren();
      add(svg, "rect", { class: "track", width: "100%", height: "100%" });
      if (of) {
        const [low, high] = wilson(part, of, data.worth, data.z);
        add(svg, "rect", { class: `fill-${what}`, width: at(part / of), height: "100%" });
        add(svg, "line", { class: "whisker", x1: at(low), x2: at(high), y1: "50%", y2: "50%" });
      }
      add(svg, "line", { class: "overall", x1: at(rate), x2: at(rate), y1: "0", y2: "100%" });
    }
  }));
}

const NAMED = 6; // lines with a colour and a name: the largest groups

// Accuracy of the decided cases of each group against the share of reviews.
function drawGaps(data, { point }) {
  data.groups.forEach(({ groups, compared }, c) => {
    if (compared) drawGap(data, `gap-${c}`, groups, point);
  });
}

function drawGap(data, id, groups, point) {
  const order = data.reviewed.map((reviewed, i) => [reviewed, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const lines = groups
    .map((group, v) => ({
      v, value: group.value, n: group.n,
      stops: order.map(([reviewed, i]) => ({ i, at: reviewed / data.n, ...countsOf(group, i) }))
        .filter(({ decided }) => decided > 0)
        .map((stop) => ({ ...stop, accuracy: 1 - stop.w / stop.decided, few: stop.decided < SMALL })),
    }))
    .filter(({ stops }) => stops.some(({ few }) => !few))
    .sort((a, b) => b.n - a.n || a.v - b.v);
  const gap = accuracyGap(data, groups, point);
  const safe = lines.flatMap(({ stops }) => stops.filter(({ few }) => !few));
  const least = Math.min(0.99, ...safe.map(({ accuracy }) => Math.floor(accuracy * 100 - 0.2) / 100));
  const most = Math.max(0.1, ...safe.map(({ at }) => at));
  const picture = frame(id, {
    xs: [0, most], ys: [Math.max(0, least), 1], height: 320, margin: widths[id] < 480 ? 96 : 150,
    xLabel: "share of all cases sent to review", yLabel: "correct among the decided",
  });
  const { svg, x, y, box } = picture;
  const within = (value) => Math.min(box.bottom, Math.max(box.top, y(value)));
  const ends = [];
  lines.forEach(({ v, value, stops }, i) => {
    const look = i < NAMED ? `rival rival-${i}` : "rival other";
    const dash = i && i < NAMED ? { "stroke-dasharray": DASHES[i - 1] } : {};
    const place = ({ at, accuracy }) => [Math.min(box.right, x(at)), within(accuracy)];
    // Solid while enough cases are decided, thin from there on.
    runs(stops).forEach(({ few, part }) => {
      add(svg, "path", { class: few ? `${look} few` : look, d: path(part.map(place)), ...(few ? {} : dash) });
    });
    const last = stops.filter(({ few, at }) => !few && at <= most).pop();
    if (last && (i < NAMED || (gap && (v === gap.best || v === gap.worst)))) {
      ends.push({ value, look, dash, from: place(last), wanted: place(last)[1] });
    }
  });
  nameEnds(picture, ends);
  const at = x(data.reviewed[point] / data.n);
  if (at > box.right) return;
  add(svg, "line", { class: "here", x1: at, x2: at, y1: box.top, y2: box.bottom });
  if (!gap) return;
  const [best, worst] = [gap.best, gap.worst].map((v) => {
    const { w, decided } = countsOf(groups[v], point);
    return within(1 - w / decided);
  });
  add(svg, "line", { class: "gap", x1: at, x2: at, y1: best, y2: worst });
  for (const end of [best, worst]) add(svg, "circle", { class: "dot", cx: at, cy: end, r: 4.5 });
}

// Parts of a line with and without enough cases; a part begins where the one before it ended.
function runs(stops) {
  const found = [];
  stops.forEach((stop, i) => {
    const before = stops[i - 1];
    if (!before || before.few !== stop.few) found.push({ few: stop.few, part: before ? [before] : [] });
    found[found.length - 1].part.push(stop);
  });
  return found.filter(({ part }) => part.length > 1);
}

// Names to the right of the lines, pushed apart, each joined to its line.
function nameEnds({ svg, box, width }, ends) {
  const gap = 15, start = box.right + 26;
  ends.sort((a, b) => a.wanted - b.wanted);
  let last = -Infinity;
  for (const end of ends) last = end.at = Math.max(end.wanted, last + gap);
  let limit = box.bottom;
  for (const end of [...ends].reverse()) {
    end.at = Math.min(end.at, limit);
    limit = end.at - gap;
  }
  for (const { value, look, dash, from, at } of ends) {
    add(svg, "path", { class: `${look} leader`, d: path([from, [box.right + 8, at], [start - 4, at]]), ...dash });
    add(svg, "text", { class: "line-name", x: start, y: at + 4 }, shorten(value, Math.floor((width - start) / 7.5)));
  }
}

// The reviews as one bar: ambiguous, novel, by a rule.
function drawKinds(data, { point }) {
  if (!data.kinds) return;
  const svg = document.getElementById("kinds"), width = widths.kinds, total = data.reviewed[point];
  svg.replaceChildren();
  svg.setAttribute("viewBox", `0 0 ${width} 22`);
  svg.setAttribute("width", width);
  svg.setAttribute("height", 22);
  add(svg, "rect", { class: "track", x: 0, y: 3, width, height: 16 });
  let from = 0;
  data.kinds[point].forEach((count, k) => {
    const wide = total ? (count / total) * width : 0;
    if (count) add(svg, "rect", { class: `kind-${k}`, x: from, y: 3, width: wide, height: 16 });
    from += wide;
  });
}
