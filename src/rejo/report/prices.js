// What the counts of a point cost.  Prices are a matrix with a row for each true class and a column for
// each decision and, last, for the review.

const rightColumn = (data, k) => (data.wide ? k : 0);

// The prices of the wrong decisions for a class.
const errorPrices = (data, row, k) => row.slice(0, -1).filter((_, c) => c !== rightColumn(data, k));

// The prices of an error and of a review for all classes, as a matrix.
const uniformPrices = (data, error, review) => data.prices.map((row, k) => row.map((_, c) =>
  (c === row.length - 1 ? review : c === rightColumn(data, k) ? 0 : error)));

// The prices of an error and of a review, if they are the same for all classes.
function twoPrices(data, prices) {
  if (prices.numbers) return null;
  const review = prices[0].at(-1), [error] = errorPrices(data, prices[0], 0);
  const alike = prices.every((row, k) =>
    row.at(-1) === review && errorPrices(data, row, k).every((price) => price === error));
  return alike ? [error, review] : null;
}

// The means over the classes, in a few digits.
const meanPrices = (data, prices) =>
  [prices.flatMap((row, k) => errorPrices(data, row, k)), prices.map((row) => row.at(-1))]
    .map((all) => Number((sum(all) / all.length).toPrecision(3)));

const highestError = (prices) => Math.max(...prices.map((row) => Math.max(...row.slice(0, -1))));

const nothing = () => ({ n: 0, cost: 0, square: 0 });

function addCases(total, count, price) {
  total.n += count;
  total.cost += count * price;
  total.square += count * price * price;
  return total;
}

// Cases, costs and squared costs of wrong decisions, listed as class, column and number.
function cellMoments(cells, prices) {
  const total = nothing();
  for (let i = 0; i < cells.length; i += 3) addCases(total, cells[i + 2], prices[cells[i]][cells[i + 1]]);
  return total;
}

// The same if so many cases of each class are reviewed.
const reviewMoments = (classes, prices) =>
  classes.reduce((total, count, k) => addCases(total, count, prices[k].at(-1)), nothing());

// The same if all cases are.
const byHandMoments = (data, prices) =>
  (prices.numbers ? caseMoments(data, 0, prices, "reviewed", 0) : reviewMoments(data.counts, prices));

// The same if every case were decided wrongly, in each wrong way as often.
function errorMoments(data, prices) {
  if (prices.numbers) return prices.everyError;
  const total = nothing();
  prices.forEach((row, k) => {
    const wrong = errorPrices(data, row, k);
    for (const price of wrong) addCases(total, data.counts[k] / wrong.length, price);
  });
  return total;
}

const forcedMoments = (data, point, prices) =>
  (prices.numbers ? caseMoments(data, point, prices, "wrong", 0) : cellMoments(atPoint(data.forced, point), prices));

// The same of the wrong decisions and of the reviews at a point.
function moments(data, point, prices) {
  const first = data.reviewed[point];
  if (prices.numbers) {
    return [caseMoments(data, point, prices, "wrong", first), caseMoments(data, point, prices, "reviewed", 0, first)];
  }
  const last = prices[0].length - 1, wrong = nothing(), reviewed = nothing();
  data.matrix[point].forEach((row, k) => row.forEach((count, o) => {
    const c = data.columns[o];
    if (count && c === last) addCases(reviewed, count, prices[k][c]);
    else if (count && !data.errors && c !== rightColumn(data, k)) addCases(wrong, count, prices[k][c]);
  }));
  return [data.errors ? cellMoments(data.errors[point], prices) : wrong, reviewed];
}

const perBatchUnits = (data, cost, places) => toUnits((data.batch * cost) / data.n, places);

// Costs of the wrong decisions, of the reviews and of both, per 1,000 cases, so that they add up.
function pointUnits(data, point, prices, places) {
  const [wrong, review] = moments(data, point, prices).map(({ cost }) => perBatchUnits(data, cost, places));
  return { wrong, review, total: wrong + review };
}

function pointCost(data, point, prices) {
  const [wrong, reviewed] = moments(data, point, prices);
  return wrong.cost + reviewed.cost;
}

const firstLeast = (values) => values.reduce((best, value, i) => (value < values[best] ? i : best), 0);

const cheapest = (data, prices) => firstLeast(data.wrong.map((_, point) => pointCost(data, point, prices)));

// Where the slider goes when prices are given.  A refit belongs to one price of a review: take the
// closest.  A share of the ranking does not, and prices by class are no such price: take the cheapest.
function bestPoint(data, prices) {
  const two = twoPrices(data, prices);
  if (!two || data.axis !== "reject_cost") return cheapest(data, prices);
  return firstLeast(data.costs.map((cost) => Math.abs(cost - two[1] / two[0])));
}

// Probability of an error above which a review pays.
const reviewWorth = (data, point, two) =>
  data.axis === "reject_cost" ? data.costs[point] : two[1] / two[0];

// Whether the points are cuts in a ranking by what a review is worth.
const byWorth = (data) => data.cuts[0] !== null;

const samePrices = (one, other) => String(one.numbers ?? one) === String(other.numbers ?? other);

// How many times those given the prices of errors are; null if classes differ in this.
function scaleOf(data, prices) {
  if (prices.numbers) return samePrices(prices, data.prices) ? 1 : null;
  let scale = null;
  for (const [k, row] of prices.entries()) {
    for (const [c, price] of row.slice(0, -1).entries()) {
      const given = data.prices[k][c];
      if (price === 0 || given === 0) {
        if (price !== given) return null;
      } else if (scale === null) scale = price / given;
      else if (Math.abs(price - scale * given) > 1e-9 * price) return null;
    }
  }
  return scale;
}

// Whether a classifier that decides by prices only moves its cut at these.
function sameRanking(data, prices) {
  const scale = scaleOf(data, prices);
  if (scale === null) return false;
  const added = prices.map((row, k) => row.at(-1) - scale * data.prices[k].at(-1));
  return Math.max(...added) - Math.min(...added) <= 1e-9 * highestError(prices);
}

// Whether the queue is shown in money, not in errors.
const inMoney = (data, prices) => byWorth(data) || twoPrices(data, prices) === null;

// For each tenth of the queue: mean cost of deciding a case, of a review, and as expected.
function tenthCosts(data, point, prices) {
  const [wrong, classes, expected] = atPoint(data.queue, point), scale = scaleOf(data, prices);
  let end = 0;
  return data.tenthSizes.map((n, t) => {
    const of = (what) => caseMoments(data, point, prices, what, end - n, end);
    end += n;
    if (!n) return null;
    const decided = prices.numbers ? of("wrong") : cellMoments(wrong[t], prices);
    const review = prices.numbers ? of("reviewed") : reviewMoments(classes[t], prices);
    return {
      n, decided, cost: decided.cost / n, review: review.cost / n,
      expected: expected !== null && scale !== null ? (scale * expected[t]) / n : null,
    };
  });
}
