"use strict";

// From a setting to every text of the page that depends on it.  The functions have the same names as
// in _format.py and _numbers.py, so that both write the same text.

const BATCH = 1000;
const NONE = "–";

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

function amount(value) {
  const places = value >= 1000 ? 0 : value >= 1 ? 2 : value >= 0.01 ? 4 : 6;
  const text = fixed(toUnits(value, places), places);
  return places ? text.replace(/0+$/, "").replace(/\.$/, "") : text;
}

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

function numbers(data, setting) {
  const found = {};
  for (const [key, texts] of Object.entries(data.texts)) found[key] = texts[setting.point];
  Object.assign(found, priceTexts(data, setting), costTexts(data, setting));
  found["tenths-line"] = lineText(data, setting);
  Object.assign(found, matrixTexts(data, setting.point));
  if (data.groups.length) Object.assign(found, groupTexts(data, setting.point));
  return found;
}

const perBatchUnits = (data, cost, places) => toUnits((BATCH * cost) / data.n, places);

function priceTexts(data, { point, prices }) {
  const places = moneyPlaces(highestError(prices));
  const lowest = cheapest(data, prices);
  const [wrong, reviewed] = moments(data, lowest, prices);
  const cost = perBatchUnits(data, wrong.cost, places) + perBatchUnits(data, reviewed.cost, places);
  let text = pricesWords(data, prices);
  if (twoPrices(data, prices) && data.axis === "reject_cost") {
    const nearest = bestPoint(data, prices);
    const shown = nearest === point ? "shown here" : `the page shows ${ratio(data.costs[point])}`;
    text += ` The closest point is ${ratio(data.costs[nearest])}; ${shown}.`;
  }
  const name = data.texts["point-name"][lowest];
  const which = lowest === point ? "the one shown here" : `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
  const note = data.expected === null || sameRanking(data, prices) ? ""
    : "The cases on this page were decided for the prices given when it was made. At these prices the "
      + "classifier itself would decide some of them differently.";
  return {
    "price-ratio": text,
    "price-note": note,
    "cheapest": `Cheapest point at these prices: ${which}, at a cost of ${fixed(cost, places)} per `
      + `${whole(BATCH)} cases.`,
  };
}

function pricesWords(data, prices) {
  const two = twoPrices(data, prices);
  if (!two) {
    const wrong = prices.flatMap((row, k) => row.slice(0, -1).filter((_, c) => c !== rightColumn(data, k)));
    const reviews = prices.map((row) => row[row.length - 1]);
    return `Your prices differ by class: a wrong decision costs ${fromTo(wrong)}, a review ${fromTo(reviews)}.`;
  }
  const [error, review] = two, most = 1 - 1 / data.classes.length;
  const never = review > error * most ? ` A review that costs more than ${ratio(most)} of an error never pays.` : "";
  return `Your prices: a review costs ${ratio(review / error)} of an error.${never}`;
}

function fromTo(prices) {
  const low = amount(Math.min(...prices)), high = amount(Math.max(...prices));
  return low === high ? low : `${low} to ${high}`;
}

function costTexts(data, setting) {
  const { point, prices } = setting;
  const places = moneyPlaces(highestError(prices)), two = twoPrices(data, prices);
  const between = ([low, high]) =>
    `${fixed(toUnits(low, places), places)} to ${fixed(toUnits(high, places), places)}`;
  const [wrong, reviewed] = moments(data, point, prices);
  const forced = forcedMoments(data, point, prices);
  const byHand = reviewMoments(data.counts, prices);
  const errors = errorMoments(data, prices);
  const counts = data.ranges[point]; // of the wrong, the reviewed, the wrong if all are decided
  const range = (part, every, price, i) =>
    between(two ? [price * counts[i], price * counts[i + 1]] : costRange(data, prices, [part], [every]));
  const forcedRange = range(forced, errors, prices[0][1], 4);
  const ofWrong = perBatchUnits(data, wrong.cost, places);
  const ofReview = perBatchUnits(data, reviewed.cost, places);
  const ofForced = perBatchUnits(data, forced.cost, places);
  const ofHand = perBatchUnits(data, byHand.cost, places);
  const total = ofWrong + ofReview;
  const [lowest, itsReviews] = moments(data, cheapest(data, prices), prices);
  const least = perBatchUnits(data, lowest.cost, places) + perBatchUnits(data, itsReviews.cost, places);
  return {
    "cost-wrong": fixed(ofWrong, places),
    "cost-wrong-range": range(wrong, errors, prices[0][1], 0),
    "cost-review": fixed(ofReview, places),
    "cost-review-range": range(reviewed, byHand, prices[0][prices[0].length - 1], 2),
    "cost-total": fixed(total, places),
    "cost-total-range": between(costRange(data, prices, [wrong, reviewed], [errors, byHand])),
    "forced-cost-wrong": fixed(ofForced, places),
    "forced-cost-wrong-range": forcedRange,
    "forced-cost-total": fixed(ofForced, places),
    "forced-cost-total-range": forcedRange,
    "hand-cost-review": fixed(ofHand, places),
    "hand-cost-total": fixed(ofHand, places),
    "baseline": baseline(ofForced, ofHand, total, least, places),
    "saving": `Per ${whole(BATCH)} cases this costs ${compare(ofForced - total, places)} deciding `
      + `every case, and ${compare(ofHand - total, places)} reviewing every case.`,
    "reviews-save": reviewsSave(data, setting, ofForced - ofWrong, ofReview, places),
  };
}

function costRange(data, prices, parts, ifAll) {
  const n = data.n, size = data.size;
  let cost = 0, square = 0, moreCost = 0, moreSquare = 0;
  parts.forEach((part, i) => {
    cost += part.cost;
    square += part.square;
    moreCost += ifAll[i].cost / n;
    moreSquare += ifAll[i].square / n;
  });
  const mean = ((cost / n) * size + 0.5 * moreCost) / (size + 1);
  const meanSquare = ((square / n) * size + 0.5 * moreSquare) / (size + 1);
  const half = data.z * Math.sqrt(Math.max(meanSquare - mean * mean, 0) * BATCH * (1 + BATCH / size));
  const middle = (BATCH * cost) / n;
  const highest = Math.max(...prices.map((row) => Math.max(...row)));
  return [Math.max(middle - half, 0), Math.min(middle + half, BATCH * highest)];
}

function compare(saved, places) {
  if (saved === 0) return "as much as";
  return `${fixed(Math.abs(saved), places)} ${saved > 0 ? "less" : "more"} than`;
}

function baseline(ofForced, ofHand, total, least, places) {
  const lower = Math.min(ofForced, ofHand);
  if (lower >= total) return "";
  const also = lower < least ? ", and less than every other point" : "";
  return `At these prices, ${ofHand <= ofForced ? "reviewing" : "deciding"} every case costs `
    + `${fixed(total - lower, places)} less per ${whole(BATCH)} cases than this point${also}.`;
}

function reviewsSave(data, { point, prices }, prevented, ofReview, places) {
  if (data.reviewed[point] === 0) return "At this point there are no reviews.";
  const text = `The reviews cost ${fixed(ofReview, places)}`;
  const scale = scaleOf(data, prices);
  if (data.expected === null || scale === null) {
    return `${text} and prevent wrong decisions that would cost ${signed(prevented, places)}.`;
  }
  const expected = perBatchUnits(data, scale * data.expected[point], places);
  return `${text}. They are expected to prevent wrong decisions that would cost `
    + `${signed(expected, places)}, ${net(expected - ofReview, places)}. In the cases so far `
    + `they prevented ${signed(prevented, places)}.`;
}

function net(saved, places) {
  if (saved === 0) return "so they just pay for themselves";
  if (saved < 0) return `so they cost ${fixed(-saved, places)} more than they save`;
  return `so they save ${fixed(saved, places)}`;
}

const signed = (units, places) => (units < 0 ? `-${fixed(-units, places)}` : fixed(units, places));

function lineText(data, { point, prices }) {
  const two = twoPrices(data, prices);
  if (two && !inMoney(data, prices)) {
    const price = reviewWorth(data, point, two);
    return `The line: a review that costs ${ratio(price)} of an error pays where more than `
      + `${percent(price)} of the decisions would be wrong.`;
  }
  const tenths = tenthCosts(data, point, prices).filter(Boolean);
  const first = tenths[0], last = tenths[tenths.length - 1];
  const places = moneyPlaces(highestError(prices) / 100);
  const mean = (value) => fixed(toUnits(Math.max(value, 0), places), places);
  const text = `A decision in the first tenth costs ${mean(first.cost)} on average, in the last tenth `
    + `${mean(last.cost)}; a review costs ${mean(first.review)}.`;
  return first.expected === null ? text
    : `${text} The classifier expected ${mean(first.expected)} and ${mean(last.expected)}.`;
}

function matrixTexts(data, point) {
  const found = {}, byRow = [], byColumn = new Map();
  const review = data.prices[0].length - 1;
  data.columns.forEach((c, o) => { if (c !== review) byColumn.set(o, [0, 0]); });
  data.matrix[point].forEach((row, k) => {
    const n = sum(row);
    let wrong = 0, decided = 0;
    row.forEach((count, o) => {
      found[`cell-${k}-${o}`] = whole(count);
      found[`cell-${k}-${o}-share`] = share(count, n);
      if (!byColumn.has(o)) return;
      const missed = data.columns[o] === rightColumn(data, k) ? 0 : count, total = byColumn.get(o);
      wrong += missed;
      decided += count;
      total[0] += missed;
      total[1] += count;
    });
    byRow.push([wrong, decided]);
    if (row.length - byColumn.size > 1) Object.assign(found, partOf(`row-${k}-review`, n - decided, n));
    Object.assign(found, partOf(`row-${k}-wrong`, wrong, decided));
  });
  if (data.wide) byColumn.forEach((total, o) => Object.assign(found, partOf(`column-${o}-wrong`, ...total)));
  found["matrix-line"] = worstClass(data, data.wide ? [...byColumn.values()] : byRow);
  return found;
}

const partOf = (key, part, of) => ({
  [key]: of ? `${whole(part)} of ${whole(of)}` : NONE,
  [`${key}-share`]: share(part, of),
});

function worstClass(data, rates) {
  const wrong = sum(rates.map((rate) => rate[0])), decided = sum(rates.map((rate) => rate[1]));
  if (!wrong) return decided ? "No decision is wrong in the cases so far." : "Nothing is decided.";
  let worst = 0, highest = -1;
  rates.forEach(([part, of], k) => {
    const low = of ? wilson(part, of, data.worth, data.z)[0] : 0;
    if (low > highest) [worst, highest] = [k, low];
  });
  const [part, of] = rates[worst], which = data.wide ? "decisions for" : "decided cases of";
  return `Of the ${which} ${quoted(data.classes[worst])}, ${share(part, of)} are wrong `
    + `(${whole(part)} of ${whole(of)}); of all decisions, ${share(wrong, decided)}.`;
}
