// The options of `rejo train` for the point that is shown.

// A number without marks; three decimals could be taken for thousands.
const plainNumber = (value) => String(Number(value.toPrecision(12))).replace(/^([1-9]\d{0,2}\.\d{3})$/, "$10");

const className = (label) => (/[",;:=>]|^\s|\s$/.test(label) ? `"${label.replaceAll('"', '""')}"` : label);

const forShell = (text) => (/^[\w.,:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);

// Prices as --costs takes them.
function costsOption(data, prices) {
  if (prices.numbers) {
    const formulas = data.formulas.entries.map(({ name, parts, first }) =>
      `${name}=${parts.map((part, i) => (i ? plainNumber(prices.numbers[first + i - 1]) : "") + part).join("")}`);
    return `--costs ${forShell([...formulas, ...data.formulas.fixed].join(","))}`;
  }
  const two = twoPrices(data, prices);
  if (two) return `--costs error=${plainNumber(two[0])},review=${plainNumber(two[1])}`;
  const names = data.classes.map(className), reviews = prices.map((row) => row.at(-1));
  const errors = prices.flatMap((row, k) => {
    const wrong = errorPrices(data, row, k), others = names.filter((_, c) => c !== k);
    if (new Set(wrong).size === 1) return [`error:${names[k]}=${plainNumber(wrong[0])}`];
    return wrong.map((price, i) => `${names[k]}>${others[i]}=${plainNumber(price)}`);
  });
  const review = new Set(reviews).size === 1 ? [`review=${plainNumber(reviews[0])}`]
    : reviews.map((price, k) => `review:${names[k]}=${plainNumber(price)}`);
  return `--costs ${forShell([...errors, ...review].join(","))}`;
}

// The point that training for these prices gives; null if the page cannot tell.
function trainedPoint(data, prices) {
  if (!byWorth(data) || !sameRanking(data, prices)) return null;
  const cut = prices.numbers ? 0 : prices[0].at(-1) / scaleOf(data, prices) - data.prices[0].at(-1);
  return firstLeast(data.cuts.map((own) => Math.abs(own - cut)));
}

// Empty where no option makes such a model: without reviews, or without decisions.
function pointOptions(data, { point, prices }) {
  const part = data.reviewed[point], two = twoPrices(data, prices), costs = costsOption(data, prices);
  if (part === 0 || part === data.n) return "";
  if (data.axis === "reject_cost") {
    const cost = data.costs[point];
    return two && Math.abs(two[1] / two[0] - cost) < 1e-9 ? costs : `--reject-cost ${plainNumber(cost)}`;
  }
  const entered = data.priced || !samePrices(prices, data.prices);
  const review = Math.min(...prices.map((row) => row.at(-1)));
  const taken = review > 0 && review < highestError(prices); // by --costs
  if (taken && entered && point === trainedPoint(data, prices)) return costs;
  const budget = `--review-budget ${plainNumber(Math.min(Math.ceil((1e4 * part) / data.n), 9999) / 1e4)}`;
  if (!taken || (two && data.uniform)) return budget;
  if (part < data.reviewed[trainedPoint(data, prices) ?? cheapest(data, prices)]) return `${costs} ${budget}`;
  if (prices.numbers) return budget;
  // More reviews than pay: these are the prices at which they would.
  const moved = data.prices.map((row) => [...row.slice(0, -1), row.at(-1) + data.cuts[point]]);
  return byWorth(data) && moved.every((row) => row.at(-1) > 0) ? costsOption(data, moved) : budget;
}
