"use strict";

// From a setting to every text of the page that depends on it.  The functions have the same names as
// in _format.py and _numbers.py and compute in the same order, so that both write the same text.

const BATCH = 1000;
const SMALL = 30;
const NONE = "–";
const LEAST_PRICE = 1e-6;
const HIGHEST_PRICE = 1e9;

const whole = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

function fixed(units, places) {
  if (places === 0) return whole(units);
  const head = Math.floor(units / 10 ** places);
  return `${whole(head)}.${String(units - head * 10 ** places).padStart(places, "0")}`;
}

const toUnits = (value, places) => Math.floor(value * 10 ** places + 0.5);

const share = (part, n) =>
  n === 0 ? NONE : `${fixed(Math.floor((2000 * part + n) / (2 * n)), 1)}\u00a0%`;

const percent = (rate) => `${fixed(toUnits(rate, 3), 1)}\u00a0%`;

const ratio = (value) => fixed(toUnits(value, 4), 4).replace(/0+$/, "").replace(/\.$/, "");

const moneyPlaces = (error) => (error >= 10 ? 0 : error >= 0.1 ? 2 : error >= 0.001 ? 4 : 6);

const quoted = (label) => `“\u2068${label}\u2069”`;

const sum = (values) => values.reduce((total, value) => total + value, 0);

function wilson(part, n, worth, z) {
  if (n === 0) return [0, 1];
  const p = part / n, m = n * worth, z2 = z * z;
  const shrink = 1 + z2 / m;
  const middle = (p + z2 / (2 * m)) / shrink;
  const half = (z / shrink) * Math.sqrt((p * (1 - p)) / m + z2 / (4 * m * m));
  return [part > 0 ? middle - half : 0, part < n ? middle + half : 1];
}

function firstLeast(values) {
  let best = 0;
  values.forEach((value, i) => { if (value < values[best]) best = i; });
  return best;
}

const cheapest = (data, error, review) =>
  firstLeast(data.wrong.map((wrong, i) => error * wrong + review * data.reviewed[i]));

// A refit belongs to a price: take the closest.  A share of the ranking does not: take the cheapest.
const bestPoint = (data, error, review) =>
  data.axis === "reject_cost"
    ? firstLeast(data.costs.map((cost) => Math.abs(cost - review / error)))
    : cheapest(data, error, review);

const reviewWorth = (data, setting) =>
  data.axis === "reject_cost" ? data.costs[setting.point] : setting.review / setting.error;

function numbers(data, setting) {
  const found = {};
  for (const [key, texts] of Object.entries(data.texts)) found[key] = texts[setting.point];
  Object.assign(found, priceTexts(data, setting), costTexts(data, setting));
  found["tenths-line"] = lineText(data, setting);
  Object.assign(found, matrixTexts(data, setting.point));
  if (data.groups.length) Object.assign(found, groupTexts(data, setting.point));
  return found;
}

function priceTexts(data, { point, error, review }) {
  const lowest = cheapest(data, error, review);
  const places = moneyPlaces(error);
  const cost = toUnits((BATCH * (error * data.wrong[lowest])) / data.n, places)
    + toUnits((BATCH * (review * data.reviewed[lowest])) / data.n, places);
  let text = `Your prices: a review costs ${ratio(review / error)} of an error`;
  if (data.axis === "reject_cost") {
    const nearest = bestPoint(data, error, review);
    const shown = nearest === point ? "shown here" : `the page shows ${ratio(data.costs[point])}`;
    text += `. The closest point is ${ratio(data.costs[nearest])}; ${shown}`;
  }
  const here = lowest === point ? " (shown here)" : "";
  const name = data.texts["point-name"][lowest];
  return {
    "price-ratio": `${text}.`,
    "cheapest": `Cheapest point at these prices: ${name.slice(0, 1).toLowerCase()}${name.slice(1)}`
      + `${here}, at a cost of ${fixed(cost, places)} per ${whole(BATCH)} cases.`,
  };
}

function costTexts(data, setting) {
  const { point, error, review } = setting;
  const n = data.n, places = moneyPlaces(error);
  const amount = (value) => fixed(toUnits(value, places), places);
  const between = (low, high) => `${amount(low)} to ${amount(high)}`;
  const ofWrong = toUnits((BATCH * (error * data.wrong[point])) / n, places);
  const ofReview = toUnits((BATCH * (review * data.reviewed[point])) / n, places);
  const ofForced = toUnits((BATCH * (error * data.forced[point])) / n, places);
  const byHand = toUnits(BATCH * review, places);
  const total = ofWrong + ofReview;
  const ranges = data.ranges[point];
  const forcedRange = between(error * ranges[4], error * ranges[5]);
  return {
    "cost-wrong": fixed(ofWrong, places),
    "cost-wrong-range": between(error * ranges[0], error * ranges[1]),
    "cost-review": fixed(ofReview, places),
    "cost-review-range": between(review * ranges[2], review * ranges[3]),
    "cost-total": fixed(total, places),
    "cost-total-range": between(...totalRange(data, setting)),
    "forced-cost-wrong": fixed(ofForced, places),
    "forced-cost-wrong-range": forcedRange,
    "forced-cost-total": fixed(ofForced, places),
    "forced-cost-total-range": forcedRange,
    "hand-cost-review": fixed(byHand, places),
    "hand-cost-total": fixed(byHand, places),
    "saving": `Per ${whole(BATCH)} cases this costs ${compare(ofForced - total, places)} deciding `
      + `every case, and ${compare(byHand - total, places)} reviewing every case.`,
  };
}

function totalRange(data, { point, error, review }) {
  const n = data.n, size = data.size, wrong = data.wrong[point], reviewed = data.reviewed[point];
  const p = ((wrong / n) * size + 0.5) / (size + 1);
  const q = ((reviewed / n) * size + 0.5) / (size + 1);
  const mean = error * p + review * q;
  const variance = error * error * p + review * review * q - mean * mean;
  const half = data.z * Math.sqrt(Math.max(variance, 0) * BATCH * (1 + BATCH / size));
  const middle = (BATCH * (error * wrong + review * reviewed)) / n;
  return [Math.max(middle - half, 0), Math.min(middle + half, BATCH * error)];
}

function compare(saved, places) {
  if (saved === 0) return "as much as";
  return `${fixed(Math.abs(saved), places)} ${saved > 0 ? "less" : "more"} than`;
}

function lineText(data, setting) {
  const price = reviewWorth(data, setting);
  return `The line: a review that costs ${ratio(price)} of an error pays where more than `
    + `${percent(price)} of the decisions would be wrong.`;
}

function matrixTexts(data, point) {
  const found = {};
  data.matrix[point].forEach((row, k) => {
    const n = sum(row);
    row.forEach((count, o) => {
      found[`cell-${k}-${o}`] = whole(count);
      found[`cell-${k}-${o}-share`] = share(count, n);
    });
  });
  return found;
}

// Reviewed of all, and wrong of the decided: part, whole, overall rate.
function groupParts(data, group, point) {
  const decided = data.n - data.reviewed[point];
  return {
    review: [group.reviewed[point], group.n, data.reviewed[point] / data.n],
    wrong: [group.wrong[point], group.n - group.reviewed[point],
      decided ? data.wrong[point] / decided : 0],
  };
}

function groupTexts(data, point) {
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
    if (group.n < SMALL) {
      found[`${key}-verdict`] = `◌ fewer than ${SMALL} cases: too few to judge`;
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
  if (!judged) return `No group has the ${SMALL} cases needed to judge it.`;
  if (!differing.length) return "No group differs significantly from all cases.";
  const byChance = fixed(toUnits(2 * judged * (1 - data.confidence), 1), 1);
  return `${differing.length} of ${judged} groups ${differing.length === 1 ? "differs" : "differ"} `
    + `significantly from all cases: ${differing.join(", ")}. In ${2 * judged} `
    + `comparisons, about ${byChance} such differences are expected by chance alone.`;
}
