// Texts about groups: their rates, and the gaps between them.

const groupTexts = (data, point) =>
  (data.groups.length ? { ...rateTexts(data, point), ...gapTexts(data, point) } : {});

// Reviewed of all, and wrong of the decided: part, whole, overall rate.
function groupParts(data, group, point) {
  const decided = data.n - data.reviewed[point];
  return {
    review: [group.reviewed[point], group.n, data.reviewed[point] / data.n],
    wrong: [group.wrong[point], group.n - group.reviewed[point],
      decided ? data.wrong[point] / decided : 0],
  };
}

function rateTexts(data, point) {
  const found = {}, differing = [];
  let judged = 0;
  data.groups.forEach((column, c) => column.groups.forEach((group, v) => {
    const key = `group-${c}-${v}`, verdicts = [];
    for (const [what, [part, of, rate]] of Object.entries(groupParts(data, group, point))) {
      const [low, high] = wilson(part, of, data.worth, data.z);
      found[`${key}-${what}`] = share(part, of);
      found[`${key}-${what}-range`] = of ? `${percent(low)} to ${percent(high)}` : NONE;
      const noun = what === "review" ? "reviews" : "errors";
      if (of && (low > rate || high < rate)) verdicts.push(`${low > rate ? "more" : "fewer"} ${noun}`);
    }
    if (group.n < data.small) {
      found[`${key}-verdict`] = `◌ fewer than ${data.small} cases: too few to judge`;
      return;
    }
    judged += 1;
    if (verdicts.length) differing.push(quoted(`${column.name}: ${group.value}`));
    found[`${key}-verdict`] = verdicts.length ? `▲ ${verdicts.join(", ")}` : "like all cases";
  }));
  found["group-all-review"] = share(data.reviewed[point], data.n);
  found["group-all-wrong"] = share(data.wrong[point], data.n - data.reviewed[point]);
  found["groups-line"] = groupsLine(data, differing, judged);
  return found;
}

function groupsLine(data, differing, judged) {
  if (!judged) return `No group has the ${data.small} cases needed to judge it.`;
  if (!differing.length) return "No group differs significantly from all cases.";
  const byChance = fixed(toUnits(2 * judged * (1 - data.confidence), 1), 1);
  return `${differing.length} of ${judged} groups ${differing.length === 1 ? "differs" : "differ"} `
    + `significantly from all cases: ${differing.join(", ")}. In ${2 * judged} `
    + `comparisons, about ${byChance} such differences are expected by chance alone.`;
}

// The four counts of a group at a point.
function countsOf({ groups, forced }, v, point) {
  const { n, reviewed, wrong } = groups[v];
  return { n, r: reviewed[point], w: wrong[point], f: atPoint(forced, point)[v], decided: n - reviewed[point] };
}

// Correct among the decided cases.
function accuracyAt(column, v, point) {
  const { decided, w } = countsOf(column, v, point);
  return share(decided - w, decided);
}

function gapTexts(data, point) {
  const found = {};
  data.groups.forEach((column, c) => {
    if (!column.compared) return;
    const gap = accuracyGap(data, column, point);
    column.groups.forEach((_, v) => {
      const key = `gap-${c}-${v}`, { n, w, f, decided } = countsOf(column, v, point);
      const [low, high] = wilson(decided - w, decided, data.worth, data.z);
      found[`${key}-before`] = share(n - f, n);
      found[`${key}-now`] = accuracyAt(column, v, point);
      found[`${key}-now-range`] = decided ? `${percent(low)} to ${percent(high)}` : NONE;
      found[`${key}-decided`] = whole(decided);
      found[`${key}-change`] = decided ? signedPoints(f / n - w / decided) : NONE;
      data.stops.forEach((stop, s) => { found[`${key}-stop-${s}`] = accuracyAt(column, v, stop); });
      found[`${key}-mark`] = markOf(data, v, gap, decided);
    });
    data.stops.forEach((stop, s) => { found[`gap-${c}-stop-${s}`] = share(data.reviewed[stop], data.n); });
    found[`gap-${c}-line`] = gapLine(data, column, gap, point);
  });
  return found;
}

// The best and the worst of the groups with enough decided cases; null without two.
function accuracyGap(data, column, point) {
  const judged = column.groups.map((_, v) => ({ v, ...countsOf(column, v, point) }))
    .filter(({ decided }) => decided >= data.small);
  if (judged.length < 2) return null;
  let best = judged[0], worst = judged[0];
  for (const one of judged) {
    if (one.w / one.decided < best.w / best.decided) best = one;
    if (one.w / one.decided > worst.w / worst.decided) worst = one;
  }
  if (best === worst) worst = judged[1];
  const [z, zPair] = data.gapQuantiles[judged.length];
  const limits = judged.map(({ w, decided }) => wilson(decided - w, decided, data.worth, z));
  const lows = limits.map(([low]) => low), highs = limits.map(([, high]) => high);
  const size = worst.w / worst.decided - best.w / best.decided;
  const before = worst.f / worst.n - best.f / best.n;
  const change = size - before;
  const any = judged.some(({ r }) => r > 0);
  const half = zPair * (any ? Math.sqrt((variance(best) + variance(worst)) / data.worth) : 0);
  return {
    best: best.v, worst: worst.v, size, before,
    low: Math.max(Math.max(...lows) - Math.min(...highs), 0), high: Math.max(...highs) - Math.min(...lows),
    widens: Math.max(change - half, -1) > 0, narrows: Math.min(change + half, 1) < 0,
  };
}

// Of the accuracy among the decided minus that among all cases of a group.
function variance({ n, r, w, f }) {
  const cases = n + 4, decided = n - r + 2;
  const wrong = w + 1, wrongReviewed = f - w + 1, rightReviewed = r - (f - w) + 1;
  const e = wrong / decided, e0 = (wrong + wrongReviewed) / cases, p = decided / cases;
  const influence = [
    [decided - wrong, e0 - e / p], [wrong, (1 - e) / p - (1 - e0)], [wrongReviewed, e0 - 1], [rightReviewed, e0],
  ];
  return sum(influence.map(([count, value]) => count * value * value)) / (cases * cases);
}

function markOf(data, v, gap, decided) {
  if (decided < data.small) return `◌ fewer than ${data.small}`;
  if (!gap) return "";
  return v === gap.best ? "▲ best" : v === gap.worst ? "▼ worst" : "";
}

function gapLine(data, column, gap, point) {
  if (!gap) return `Fewer than two groups have the ${data.small} decided cases needed to compare them here.`;
  const [best, worst] = [gap.best, gap.worst].map((v) => quoted(column.groups[v].value));
  const text = `At this point, ${accuracyAt(column, gap.best, point)} of the decided cases of ${best} are correct and `
    + `${accuracyAt(column, gap.worst, point)} of ${worst}: a gap of ${inPoints(gap.size)} points `
    + `(${ratio(100 * data.confidence)}\u00a0% interval ${inPoints(gap.low)} to ${inPoints(gap.high)}).`;
  if (data.reviewed[point] === 0) return `${text} Nothing is reviewed here.`;
  const before = gap.before < 0 ? `${worst} would be ahead by ${inPoints(-gap.before)} points`
    : `the same two would be ${inPoints(gap.before)} points apart`;
  const verdict = gap.widens ? "reviews widen the gap" : gap.narrows ? "reviews narrow the gap"
    : "what reviews change may be chance";
  return `${text} If every case were decided, ${before}: ${verdict}.`;
}

const inPoints = (difference) => fixed(toUnits(difference, 3), 1);

function signedPoints(difference) {
  const units = toUnits(Math.abs(difference), 3);
  return `${units === 0 ? "" : difference > 0 ? "+" : "\u2212"}${fixed(units, 1)} points`;
}
