// Prices of each case, by formulas of its columns.  They are a matrix of means, as all prices are, that
// also has the numbers of the formulas and, for each ranking, running totals of what its cases cost.

const OPERATIONS = {
  "+": (a, b) => a + b, "-": (a, b) => a - b, "*": (a, b) => a * b, "min": Math.min, "max": Math.max,
};

// The value of a formula, by the steps of a stack machine: an operation, the place of a number from 1,
// 0 for a sign, or the place of a column from -1 down.
function formulaValue(steps, numbers, columns, i) {
  const stack = [];
  for (const step of steps) {
    if (typeof step === "string") {
      const last = stack.pop();
      stack.push(OPERATIONS[step](stack.pop(), last));
    } else stack.push(step > 0 ? numbers[step - 1] : step < 0 ? columns[-1 - step][i] : 0);
  }
  return stack[0];
}

function pricesOfCases(data, numbers) {
  const { entries, weights, y, values, rankings } = data.formulas;
  const priced = y.map((_, i) => values.every((column) => column[i] !== null));
  const found = entries.map(({ steps }) => y.map((_, i) => (priced[i] ? formulaValue(steps, numbers, values, i) : 0)));
  const price = (i, c) => sum(found.map((value, e) => value[i] * weights[e][y[i]][c]));
  const rows = y.map((_, i) => data.prices[0].map((_, c) => price(i, c)));
  const prices = data.prices.map((row, k) => {
    const own = rows.filter((_, i) => priced[i] && y[i] === k);
    return row.map((_, c) => (own.length ? sum(own.map((one) => one[c])) / own.length : 0));
  });
  const ends = rows.reduce(([low, high], row) => [Math.min(low, ...row), Math.max(high, ...row)], [Infinity, -Infinity]);
  const totals = rankings.kept.map(([order, forced]) => ({
    wrong: running(order, (i) => (forced[i] === rightColumn(data, y[i]) ? null : rows[i][forced[i]])),
    reviewed: running(order, (i) => rows[i].at(-1)),
  }));
  const everyError = nothing();
  rows.forEach((row, i) => {
    const wrong = errorPrices(data, row, y[i]);
    for (const one of wrong) addCases(everyError, 1 / wrong.length, one);
  });
  return Object.assign(prices, { numbers, totals, everyError, lowest: ends[0], highest: ends[1] });
}

// Totals of the first 0, 1, ... cases of a ranking.
function running(order, priceOf) {
  const total = nothing(), found = [{ ...total }];
  for (const i of order) {
    const price = priceOf(i);
    if (price !== null) addCases(total, 1, price);
    found.push({ ...total });
  }
  return found;
}

// Cases, costs and squared costs of those from one place of the ranking of a point to another.
function caseMoments(data, point, prices, what, from, to = data.n) {
  const found = prices.totals[data.formulas.rankings.of[point]][what], start = found[from], end = found[to];
  return { n: end.n - start.n, cost: end.cost - start.cost, square: end.square - start.square };
}
