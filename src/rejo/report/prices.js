// Prices, and what the counts of a point cost.  The functions have the same names as in _prices.py and
// compute in the same order, so that both find the same amounts.  Prices are a matrix with a row for
// each true class and a column for each decision and, last, for the review.

const LEAST_PRICE = 1e-6;
const HIGHEST_PRICE = 1e9;

const rightColumn = (data, k) => (data.wide ? k : 0);

// The prices of an error and of a review for all classes, as a matrix.
const uniformPrices = (data, error, review) => data.prices.map((row, k) => row.map((_, c) =>
  (c === row.length - 1 ? review : c === rightColumn(data, k) ? 0 : error)));

function twoPrices(data, prices) {
  const last = prices[0].length - 1;
  const [error, review] = [prices[0][1], prices[0][last]];
  const alike = prices.every((row, k) => row.every((price, c) =>
    (c === last ? price === review : price === error || c === rightColumn(data, k))));
  return alike ? [error, review] : null;
}

const highestError = (prices) => Math.max(...prices.map((row) => Math.max(...row.slice(0, -1))));

const nothing = () => ({ n: 0, cost: 0, square: 0 });

function addCases(total, count, price) {
  total.n += count;
  total.cost += count * price;
  total.square += count * price * price;
}

function moments(data, point, prices) {
  const last = prices[0].length - 1, wrong = nothing(), reviewed = nothing();
  data.matrix[point].forEach((row, k) => row.forEach((count, o) => {
    const c = data.columns[o];
    if (count && c === last) addCases(reviewed, count, prices[k][c]);
    else if (count && !data.errors && c !== rightColumn(data, k)) addCases(wrong, count, prices[k][c]);
  }));
  return [data.errors ? cellMoments(data.errors[point], prices) : wrong, reviewed];
}

function cellMoments(cells, prices) {
  const total = nothing();
  for (let i = 0; i < cells.length; i += 3) addCases(total, cells[i + 2], prices[cells[i]][cells[i + 1]]);
  return total;
}

function reviewMoments(classes, prices) {
  const total = nothing();
  classes.forEach((count, k) => addCases(total, count, prices[k][prices[k].length - 1]));
  return total;
}

function errorMoments(data, prices) {
  const total = nothing();
  prices.forEach((row, k) => row.slice(0, -1).forEach((price, c) => {
    if (c !== rightColumn(data, k)) addCases(total, data.counts[k] / (row.length - 2), price);
  }));
  return total;
}

const forcedMoments = (data, point, prices) => cellMoments(data.forced.cells[data.forced.of[point]], prices);

function pointCost(data, point, prices) {
  const [wrong, reviewed] = moments(data, point, prices);
  return wrong.cost + reviewed.cost;
}

function firstLeast(values) {
  let best = 0;
  values.forEach((value, i) => { if (value < values[best]) best = i; });
  return best;
}

const cheapest = (data, prices) => firstLeast(data.wrong.map((_, point) => pointCost(data, point, prices)));

// A refit belongs to one price of a review: take the closest.  A share of the ranking does not, and
// prices by class are no such price: take the cheapest.
function bestPoint(data, prices) {
  const two = twoPrices(data, prices);
  if (!two || data.axis !== "reject_cost") return cheapest(data, prices);
  return firstLeast(data.costs.map((cost) => Math.abs(cost - two[1] / two[0])));
}

const reviewWorth = (data, point, two) =>
  data.axis === "reject_cost" ? data.costs[point] : two[1] / two[0];

// How many times those given the prices of errors are; null if classes differ in this.
function scaleOf(data, prices) {
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

function sameRanking(data, prices) {
  const scale = scaleOf(data, prices);
  if (scale === null) return false;
  const last = prices[0].length - 1;
  const added = prices.map((row, k) => row[last] - scale * data.prices[k][last]);
  return Math.max(...added) - Math.min(...added) <= 1e-9 * highestError(prices);
}

const inMoney = (data, prices) => data.expected !== null || twoPrices(data, prices) === null;

// For each tenth of the queue: mean cost of deciding a case, of a review, and as expected.
function tenthCosts(data, point, prices) {
  const queue = data.queues[data.queue[point]], scale = scaleOf(data, prices);
  return data.tenthSizes.map((n, t) => {
    if (!n) return null;
    const decided = cellMoments(queue.wrong[t], prices);
    const known = queue.expected !== null && scale !== null;
    return {
      n, decided, cost: decided.cost / n, review: reviewMoments(queue.classes[t], prices).cost / n,
      expected: known ? (scale * queue.expected[t]) / n : null,
    };
  });
}
