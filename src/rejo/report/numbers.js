// From a setting to every text of the page that depends on it, by the id of its element.

function numbers(data, setting) {
  const { point } = setting;
  return {
    ...caseTexts(data, point), ...costTexts(data, setting), ...priceTexts(data, setting),
    ...pictureTexts(data, setting), ...matrixTexts(data, point), ...groupTexts(data, point),
    ...(data.kinds ? kindTexts(data, point) : {}),
    "headline": `${headline(data, point)} ${priceSentence(data, setting)}`,
    "point-name": pointName(data, point),
    "promises-line": `The promises are for ${point === data.chosen ? "this point"
      : "the point at which the page opens, not for this one"}.`,
    "options": pointOptions(data, setting),
  };
}

const fromTo = ([low, high], write = whole) => `${write(low)} to ${write(high)}`;

function pointName(data, point) {
  const cost = data.costs[point];
  if (data.axis === "reject_cost" && cost !== null) return `A review costs ${ratio(cost)} of an error`;
  const best = byWorth(data) && cost > 0
    ? `, best if a review costs ${ratio(cost)} of an error${data.uniform ? "" : " on average"}` : "";
  const own = point === data.chosen ? ", as the model decides" : "";
  return `${share(data.reviewed[point], data.n)} of the cases go to review${best}${own}`;
}

// Counts out of 1,000 cases that add up; fewer than 10 errors, and the right decisions, get a decimal.
function countBatch(data, wrong, reviewed) {
  const per = (part, unit) => Math.floor((2 * data.batch * unit * part + data.n) / (2 * data.n));
  const out = per(reviewed, 1), left = data.batch - out;
  const unit = per(wrong, 10) < 100 ? 10 : 1;
  // Reviews may have been rounded up by half a case: errors cannot exceed decisions.
  const bad = Math.min(per(wrong, unit), unit * left);
  const write = (units) => (bad % unit ? fixed(units, 1) : whole(units / unit));
  return { right: write(unit * left - bad), wrong: write(bad), reviewed: whole(out), decided: whole(left) };
}

const forcedWrongs = (data, point) => atPoint(data.left, point)[0];

function caseTexts(data, point) {
  const counts = countBatch(data, data.wrong[point], data.reviewed[point]);
  const forced = countBatch(data, forcedWrongs(data, point), 0);
  const [right, wrong, reviewed, [low, high]] = data.ranges[point];
  return {
    "cases-right": counts.right, "cases-right-range": fromTo(right),
    "cases-wrong": counts.wrong, "cases-wrong-range": fromTo(wrong),
    "cases-review": counts.reviewed, "cases-review-range": fromTo(reviewed),
    "forced-right": forced.right, "forced-right-range": fromTo([data.batch - high, data.batch - low]),
    "forced-wrong": forced.wrong, "forced-wrong-range": fromTo([low, high]),
  };
}

function headline(data, point) {
  const counts = countBatch(data, data.wrong[point], data.reviewed[point]), start = `Of ${whole(data.batch)} cases,`;
  if (data.reviewed[point] === data.n) return `${start} none is decided automatically; all go to review.`;
  if (counts.decided === "0") return `${start} fewer than one is decided automatically; the rest go to review.`;
  const wrong = data.wrong[point] ? `about ${counts.wrong} of them wrong` : "none of them wrong in the cases so far";
  const reviews = data.reviewed[point] ? `${counts.reviewed} go to review` : "none goes to review";
  return `${start} ${counts.decided} are decided automatically, ${wrong} (${ratio(100 * data.confidence)}\u00a0% `
    + `interval ${fromTo(data.ranges[point][1])}); ${reviews}.`;
}

// What 1,000 cases cost at the prices of the fields.
function priceSentence(data, { point, prices }) {
  const places = moneyPlaces(highestError(prices)), two = twoPrices(data, prices);
  const { total } = pointUnits(data, point, prices, places);
  const at = two ? `If a wrong decision costs ${asPrice(two[0])} and a review ${asPrice(two[1])}`
    : `If a wrong decision costs ${priceRanges(data, prices)}`;
  return `${at}, they cost ${fixed(total, places)} in all.`;
}

// The lowest and highest price of an error and of a review.
function priceRanges(data, prices) {
  const short = (price) => asPrice(prices.numbers ? Number(price.toPrecision(3)) : price);
  const ends = (all) => [...new Set([Math.min(...all), Math.max(...all)].map(short))].join(" to ");
  const errors = prices.flatMap((row, k) => errorPrices(data, row, k));
  return `${ends(errors)} and a review ${ends(prices.map((row) => row.at(-1)))}, ${prices.numbers ? "on average " : ""}by class`;
}

function priceTexts(data, { point, prices }) {
  const places = moneyPlaces(highestError(prices)), two = twoPrices(data, prices);
  const lowest = cheapest(data, prices), most = 1 - 1 / data.classes.length;
  let text = `Your prices: a wrong decision costs ${priceRanges(data, prices)}.`;
  if (two) {
    text = `Your prices: a review costs ${ratio(two[1] / two[0])} of an error.`;
    if (two[1] > two[0] * most) text += ` A review that costs more than ${ratio(most)} of an error never pays.`;
  }
  if (two && data.axis === "reject_cost") {
    const nearest = bestPoint(data, prices);
    const shown = nearest === point ? "shown here" : `the page shows ${ratio(data.costs[point])}`;
    text += ` The closest point is ${ratio(data.costs[nearest])}; ${shown}.`;
  }
  const name = pointName(data, lowest);
  const which = lowest === point ? "the one shown here" : `${name.slice(0, 1).toLowerCase()}${name.slice(1)}`;
  return {
    "price-ratio": text,
    "price-note": !byWorth(data) || sameRanking(data, prices) ? ""
      : "The cases on this page were decided for the prices given when it was made. At these prices the "
        + "classifier itself would decide some of them differently.",
    "cheapest": `Cheapest point at these prices: ${which}, at a cost of `
      + `${fixed(pointUnits(data, lowest, prices, places).total, places)} per ${whole(data.batch)} cases.`,
  };
}

function costTexts(data, setting) {
  const { point, prices } = setting;
  const places = moneyPlaces(highestError(prices)), two = twoPrices(data, prices);
  const money = (units) => fixed(units, places);
  const between = (limits) => fromTo(limits, (value) => money(toUnits(value, places)));
  const [wrong, reviewed] = moments(data, point, prices);
  const forced = forcedMoments(data, point, prices);
  const byHand = byHandMoments(data, prices);
  const errors = errorMoments(data, prices);
  const [, ofWrongs, ofReviews, ofForced] = data.ranges[point];
  const range = (part, every, price, counts) =>
    between(two ? counts.map((count) => price * count) : costRange(data, prices, [part], [every]));
  const forcedRange = range(forced, errors, two?.[0], ofForced);
  const here = pointUnits(data, point, prices, places);
  const decideAll = perBatchUnits(data, forced.cost, places);
  const reviewAll = perBatchUnits(data, byHand.cost, places);
  const least = pointUnits(data, cheapest(data, prices), prices, places).total;
  return {
    "cost-wrong": money(here.wrong), "cost-wrong-range": range(wrong, errors, two?.[0], ofWrongs),
    "cost-review": money(here.review), "cost-review-range": range(reviewed, byHand, two?.[1], ofReviews),
    "cost-total": money(here.total),
    "cost-total-range": between(costRange(data, prices, [wrong, reviewed], [errors, byHand])),
    "forced-cost-wrong": money(decideAll), "forced-cost-wrong-range": forcedRange,
    "forced-cost-total": money(decideAll), "forced-cost-total-range": forcedRange,
    "hand-cost-review": money(reviewAll), "hand-cost-total": money(reviewAll),
    "baseline": baseline(data, decideAll, reviewAll, here.total, least, money),
    "saving": `Per ${whole(data.batch)} cases this costs ${compare(decideAll - here.total, money)} deciding `
      + `every case${reviewAll > 0 ? `, and ${compare(reviewAll - here.total, money)} reviewing every case` : ""}.`,
    "reviews-save": reviewsSave(data, setting, decideAll - here.wrong, here.review, places),
  };
}

// Range for the cost of the next 1,000 cases, by the normal approximation.  A case is never both an error
// and a review, so their ranges cannot simply be added.  As in the ranges of the counts, half a case is
// added to each: one that costs as much as all cases would on average.
function costRange(data, prices, parts, ifAll) {
  const { n, size, batch } = data;
  const total = (all, what) => sum(all.map((part) => part[what])) / n;
  const mean = (total(parts, "cost") * size + 0.5 * total(ifAll, "cost")) / (size + 1);
  const meanSquare = (total(parts, "square") * size + 0.5 * total(ifAll, "square")) / (size + 1);
  const half = data.z * Math.sqrt(Math.max(meanSquare - mean * mean, 0) * batch * (1 + batch / size));
  const middle = batch * total(parts, "cost"), highest = prices.highest ?? Math.max(...prices.flat());
  return [Math.max(middle - half, 0), Math.min(middle + half, batch * highest)];
}

const compare = (saved, money) =>
  (saved === 0 ? "as much as" : `${money(Math.abs(saved))} ${saved > 0 ? "less" : "more"} than`);

// Say so if no classifier, or no reviews, would be cheaper; where reviews are free, that says nothing.
function baseline(data, decideAll, reviewAll, total, least, money) {
  const lower = Math.min(decideAll, reviewAll);
  if (lower >= total || reviewAll === 0) return "";
  const also = lower < least ? ", and less than every other point" : "";
  return `At these prices, ${reviewAll <= decideAll ? "reviewing" : "deciding"} every case costs `
    + `${money(total - lower)} less per ${whole(data.batch)} cases than this point${also}.`;
}

function reviewsSave(data, { point, prices }, prevented, ofReview, places) {
  if (data.reviewed[point] === 0) return "At this point there are no reviews.";
  const money = (units) => (units < 0 ? "-" : "") + fixed(Math.abs(units), places);
  const text = `The reviews cost ${money(ofReview)}`, scale = scaleOf(data, prices);
  if (!byWorth(data) || scale === null) {
    return `${text} and prevent wrong decisions that would cost ${money(prevented)}.`;
  }
  const expected = perBatchUnits(data, scale * data.expected[point], places), saved = expected - ofReview;
  const net = saved === 0 ? "so they just pay for themselves"
    : saved < 0 ? `so they cost ${money(-saved)} more than they save` : `so they save ${money(saved)}`;
  return `${text}. They are expected to prevent wrong decisions that would cost ${money(expected)}, ${net}. `
    + `In the cases so far they prevented ${money(prevented)}.`;
}

// The words below each picture.
function pictureTexts(data, setting) {
  const { point } = setting, { n } = data, reviewed = data.reviewed[point], wrong = data.wrong[point];
  const decided = n - reviewed, forced = forcedWrongs(data, point);
  const curve = `At this point, ${share(reviewed, n)} of the cases go to review`;
  const [, low, high] = data.accuracy[point] ?? [];
  const without = `Without reviews, ${countBatch(data, forced, 0).wrong} of ${whole(data.batch)} decisions are wrong`;
  const counts = countBatch(data, wrong, reviewed);
  const doubts = !reviewed || !decided
    ? `${reviewed ? "Everything" : "Nothing"} goes to review at this point; if all cases are decided, `
      + `${share(forced, n)} are wrong.`
    : `Of the cases that go to review, ${share(forced - wrong, reviewed)} would be decided wrongly; of the others, `
      + `${share(wrong, decided)} are.`;
  return {
    "curve-words": decided ? `${curve} and ${share(decided - wrong, decided)} of the decided are correct `
      + `(band: ${percent(low)} to ${percent(high)}).` : `${curve}: nothing is decided.`,
    "budget-words": reviewed ? `${without}; after a review of the ${counts.reviewed} most doubtful cases, `
      + `${counts.wrong} wrong ones remain.` : `${without}; at this point nothing is reviewed.`,
    "tenths-words": doubts,
    "tenths-line": lineText(data, setting),
    "classes-words": classWords(data, point),
  };
}

function lineText(data, { point, prices }) {
  const two = twoPrices(data, prices);
  if (two && !inMoney(data, prices)) {
    const price = reviewWorth(data, point, two);
    return `The line: a review that costs ${ratio(price)} of an error pays where more than `
      + `${percent(price)} of the decisions would be wrong.`;
  }
  const tenths = tenthCosts(data, point, prices).filter(Boolean), [first, last] = [tenths[0], tenths.at(-1)];
  const places = moneyPlaces(highestError(prices) / 100);
  const mean = (value) => fixed(toUnits(Math.max(value, 0), places), places);
  const text = `A decision in the first tenth costs ${mean(first.cost)} on average, in the last tenth `
    + `${mean(last.cost)}; a review costs ${mean(first.review)}.`;
  return first.expected === null ? text
    : `${text} The classifier expected ${mean(first.expected)} and ${mean(last.expected)}.`;
}

const NAMED_CLASSES = 6; // in a sentence

// Share of each class that goes to review; of many classes, the highest and lowest.
function classWords(data, point) {
  const review = data.prices[0].length - 1;
  const found = data.matrix[point].map((row, k) =>
    ({ part: sum(row.filter((_, o) => data.columns[o] === review)), n: sum(row), label: data.classes[k] }));
  const each = (some) => {
    const parts = some.map(({ part, n, label }) => `${share(part, n)} of ${quoted(label)}`);
    return `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
  };
  if (found.length <= NAMED_CLASSES) return `Sent to review: ${each(found)}.`;
  found.sort((a, b) => b.part / Math.max(b.n, 1) - a.part / Math.max(a.n, 1));
  const half = NAMED_CLASSES / 2;
  return `Most often sent to review: ${each(found.slice(0, half))}; least often ${each(found.slice(-half))}.`;
}

// Counts of outcomes, and errors by true class (rows) and by decided class (columns).
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

// Name the class with the most errors beyond doubt: by the lower end of the interval.
function worstClass(data, rates) {
  const wrong = sum(rates.map((rate) => rate[0])), decided = sum(rates.map((rate) => rate[1]));
  if (!wrong) return decided ? "No decision is wrong in the cases so far." : "Nothing is decided.";
  const lows = rates.map(([part, of]) => (of ? wilson(part, of, data.worth, data.z)[0] : 0));
  const worst = lows.indexOf(Math.max(...lows)), [part, of] = rates[worst];
  return `Of the ${data.wide ? "decisions for" : "decided cases of"} ${quoted(data.classes[worst])}, ${share(part, of)} `
    + `are wrong (${whole(part)} of ${whole(of)}); of all decisions, ${share(wrong, decided)}.`;
}

// Reviews by reason.
function kindTexts(data, point) {
  const kinds = data.kinds[point], total = data.reviewed[point];
  const [ambiguous, novel, policy] = kinds.map(([reviewed]) => whole(reviewed));
  const found = {
    "kinds-words": `Of ${whole(total)} cases in review, ${ambiguous} are ambiguous, ${novel} are novel and ${policy} `
      + "are there by a rule. Those that are not ambiguous go to review at every point.",
    "kind-all": whole(total), "kind-all-share": share(total, data.n),
    "kind-all-wrong": share(sum(kinds.map(([, wrong]) => wrong)), total),
  };
  kinds.forEach(([reviewed, wrong], k) => {
    found[`kind-${k}`] = whole(reviewed);
    found[`kind-${k}-share`] = share(reviewed, total);
    found[`kind-${k}-wrong`] = share(wrong, reviewed);
  });
  return found;
}
