// Pictures about groups, and about the reasons for reviews.

// The largest rates among the judged groups at this point: a full bar.
function groupScale(data, point) {
  const scale = { review: 0, wrong: 0 };
  for (const group of data.groups.flatMap((column) => column.groups)) {
    for (const [what, [part, of, rate]] of Object.entries(groupParts(data, group, point))) {
      scale[what] = Math.max(scale[what], of >= data.small ? part / of : 0, rate);
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
  data.groups.forEach((column, c) => {
    if (column.compared) drawGap(data, `gap-${c}`, column, point);
  });
}

function drawGap(data, id, column, point) {
  const order = data.reviewed.map((reviewed, i) => [reviewed, i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const all = column.groups
    .map((group, v) => ({
      v, value: group.value, n: group.n,
      stops: order.map(([reviewed, i]) => ({ at: reviewed / data.n, ...countsOf(column, v, i) }))
        .filter(({ decided }) => decided > 0)
        .map((stop) => ({ at: stop.at, accuracy: 1 - stop.w / stop.decided, few: stop.decided < data.small })),
    }))
    .filter(({ stops }) => stops.some(({ few }) => !few))
    .sort((a, b) => b.n - a.n || a.v - b.v);
  const gap = accuracyGap(data, column, point);
  const safe = all.flatMap(({ stops }) => stops.filter(({ few }) => !few));
  const least = Math.min(0.99, ...safe.map(({ accuracy }) => Math.floor(accuracy * 100 - 0.2) / 100));
  const most = Math.max(0.1, ...safe.map(({ at }) => at));
  const picture = frame(id, {
    xs: [0, most], ys: [Math.max(0, least), 1],
    xLabel: "share of all cases sent to review", yLabel: "correct among the decided",
  });
  const { svg, x, box, within } = picture;
  const lines = all.map(({ v, value, stops }, i) => {
    const look = i < NAMED ? `rival rival-${i}` : "rival other";
    const dash = i && i < NAMED ? { "stroke-dasharray": DASHES[i - 1] } : {};
    const shown = stops.filter(({ at }) => at <= most)
      .map((stop) => ({ ...stop, place: [x(stop.at), within(stop.accuracy)] }));
    // Thin where few cases are decided.
    runs(shown).forEach(({ few, part }) => add(svg, "path", {
      class: few ? `${look} few` : look, d: path(part.map(({ place }) => place)), ...(few ? {} : dash),
    }));
    drawSwatch(document.getElementById(`${id}-${v}-line`), look, dash);
    const named = i < NAMED || (gap && (v === gap.best || v === gap.worst));
    return { value, named, places: shown.filter(({ few }) => !few).map(({ place }) => place) };
  });
  const at = x(data.reviewed[point] / data.n), taken = [];
  if (at <= box.right) {
    add(svg, "line", { class: "here", x1: at, x2: at, y1: box.top, y2: box.bottom });
    if (gap) {
      const ends = [gap.best, gap.worst].map((v) => {
        const { w, decided } = countsOf(column, v, point);
        return within(1 - w / decided);
      });
      add(svg, "line", { class: "gap", x1: at, x2: at, y1: ends[0], y2: ends[1] });
      for (const cy of ends) add(svg, "circle", { class: "dot", cx: at, cy, r: 4.5 });
      taken.push([at - 8, Math.min(...ends) - 6, at + 8, Math.max(...ends) + 6]);
    }
  }
  nameLines(picture, lines, taken);
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

const TALL = 13, AWAY = 5; // of a name, and between it and its line
const TRIES = 16; // places along a line where its name may stand

// Names at their own lines, where no other line or name is near; without such a place, the table has it.
function nameLines({ svg, box }, lines, taken) {
  const height = (places, px) => {
    const i = places.findIndex(([right]) => right >= px);
    if (i < 0 || (i === 0 && places[0][0] > px)) return null;
    const [[x1, y1], [x2, y2]] = [places[Math.max(i - 1, 0)], places[i]];
    return x2 > x1 ? y1 + ((y2 - y1) * (px - x1)) / (x2 - x1) : y2;
  };
  for (const { value, named, places } of lines) {
    if (!named || !places.length) continue;
    const name = shorten(value, Math.floor((box.right - box.left) / 24));
    const half = sum(Array.from(name, (letter) => (letter > "\u2e7f" ? 6.5 : 3.6))) + 3;
    let best = { room: AWAY };
    for (let t = 0; t < TRIES; t += 1) {
      const px = box.left + half + 2 + ((box.right - box.left - 2 * half - 4) * t) / (TRIES - 1);
      const own = [-half, 0, half].map((dx) => height(places, px + dx));
      if (own.includes(null)) continue;
      const [high, low] = [Math.min(...own), Math.max(...own)];
      if (low - high > TALL) continue; // too steep here
      for (const top of [high - AWAY - TALL, low + AWAY]) {
        const label = [px - half, top, px + half, top + TALL];
        if (top < box.top - 12 || top + TALL > box.bottom || taken.some((other) => overlap(label, other))) continue;
        const others = lines.filter((line) => line.places !== places).flatMap((line) =>
          [-half, -half / 2, 0, half / 2, half].map((dx) => height(line.places, px + dx)).filter((py) => py !== null));
        const room = Math.min(40, ...others.map((py) => Math.max(top - py, py - top - TALL))) - (low - high);
        if (room > best.room) best = { room, label, px };
      }
    }
    if (!best.label) continue;
    taken.push(best.label);
    add(svg, "text", { class: "line-name halo", x: best.px, y: best.label[1] + TALL - 3, "text-anchor": "middle" }, name);
  }
}

const overlap = ([left, top, right, bottom], [l, t, r, b]) => left < r && l < right && top < b && t < bottom;

// The reviews as one bar: ambiguous, novel, by a rule.
function drawKinds(data, { point }) {
  if (!data.kinds) return;
  const { svg, width } = emptied("kinds", 22), total = data.reviewed[point];
  add(svg, "rect", { class: "track", x: 0, y: 3, width, height: 16 });
  let from = 0;
  data.kinds[point].forEach(([count], k) => {
    const wide = total ? (count / total) * width : 0;
    if (count) add(svg, "rect", { class: `kind-${k}`, x: from, y: 3, width: wide, height: 16 });
    from += wide;
  });
}
