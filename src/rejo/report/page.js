// The controls; everything else follows their setting.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const slider = element("slider"), errorPrice = element("error-price"), reviewPrice = element("review-price");
  const byClass = element("by-class"), cells = [...document.querySelectorAll(".class-price")];
  const fields = [...document.querySelectorAll(".formula-number")];
  if (data.formulas) data.prices = pricesOfCases(data, data.formulas.numbers);
  const last = data.wrong.length - 1;
  const start = { point: data.chosen, prices: data.prices };
  let setting = { ...start };

  function write(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  function show() {
    const texts = numbers(data, setting);
    for (const node of document.querySelectorAll("[data-text]")) write(node, texts[node.dataset.text]);
    data.matrix[setting.point].forEach((row, k) => row.forEach((count, o) => {
      const cell = element(`cell-${k}-${o}`);
      cell.style.setProperty("--heat", (count / (sum(row) || 1)).toFixed(2));
      cell.classList.toggle("none", !count);
    }));
    element("no-options").hidden = Boolean(texts.options);
    for (const node of document.querySelectorAll(".some-options")) node.hidden = !texts.options;
    slider.value = setting.point;
    slider.setAttribute("aria-valuetext", texts["point-name"]);
    // Not disabled, or a button with the focus would lose it.
    const idle = (id, point) => element(id).setAttribute("aria-disabled", String(point === setting.point));
    idle("go-cheapest", cheapest(data, setting.prices));
    idle("go-start", start.point);
    draw(data, setting);
    remember();
  }

  function set(changes, notice = "") {
    setting = { ...setting, ...changes };
    show();
    write(element("moved"), notice);
    write(element("copied"), "");
  }

  // The message if prices make no sense, or an empty string.
  function refusal(prices) {
    const all = prices.flat(), highest = highestError(prices);
    if (all.some(Number.isNaN)) {
      const every = data.formulas ? "every field" : "every price";
      return `Enter ${byClass.checked ? `${every} as a number` : "both prices as numbers"}, such as 1,000 or 0.5.`;
    }
    if (highest <= 0) return "The price of a wrong decision must be positive.";
    if (all.some((price) => price < 0)) return "A price must not be negative.";
    if (prices.lowest < 0) return "A price must not be negative: that of some cases would be.";
    if (highest < data.leastPrice || Math.max(...all) > data.highestPrice) {
      return `The price of a wrong decision must be between ${asPrice(data.leastPrice)} and `
        + `${asPrice(data.highestPrice)}, and no other price higher.`;
    }
    return "";
  }

  const numberIn = (input) => readPrice(input.value);

  // A field of the table stands for one column, or for all wrong decisions of its class.
  const columnsOf = (input) => (input.dataset.column !== "error" ? [Number(input.dataset.column)]
    : data.prices[0].map((_, c) => c).slice(0, -1).filter((c) => c !== rightColumn(data, Number(input.dataset.row))));

  function enteredPrices() {
    if (data.formulas) return pricesOfCases(data, fields.map(numberIn));
    if (!byClass.checked) return uniformPrices(data, numberIn(errorPrice), numberIn(reviewPrice));
    const prices = uniformPrices(data, 0, 0);
    for (const input of cells) for (const c of columnsOf(input)) prices[input.dataset.row][c] = numberIn(input);
    return prices;
  }

  // Use the prices in the fields; false if they make no sense.
  function readPrices() {
    const prices = enteredPrices(), message = refusal(prices), two = twoPrices(data, setting.prices);
    const kept = message ? ` The page still uses ${two ? two.map(asPrice).join(" and ") : "the prices before"}.` : "";
    write(element("price-message"), message + kept);
    for (const input of [errorPrice, reviewPrice, ...cells, ...fields]) {
      const wrong = !(numberIn(input) >= 0) || !byClass.checked;
      input.setAttribute("aria-invalid", message && wrong ? "true" : "false");
    }
    if (message || samePrices(prices, setting.prices)) return !message;
    const point = bestPoint(data, prices);
    const target = twoPrices(data, prices) && data.axis === "reject_cost" ? "point closest to these prices" : "cheapest point";
    set({ prices, point }, point === setting.point ? "" : `The slider moved to the ${target}.`);
    return true;
  }

  // Show the fields for two prices or for all, filled with the prices in use.
  function arrange() {
    element("two-prices").hidden = byClass.checked;
    element("class-prices").hidden = !byClass.checked || Boolean(data.formulas);
    fields.forEach((input, i) => { input.value = asPrice(setting.prices.numbers[i]); });
    element("controls").classList.toggle("tall", byClass.checked);
    for (const input of cells) input.value = asPrice(setting.prices[input.dataset.row][columnsOf(input)[0]]);
    const two = twoPrices(data, setting.prices);
    if (two) [errorPrice.value, reviewPrice.value] = two.map(asPrice);
    else if (!errorPrice.value) [errorPrice.value, reviewPrice.value] = meanPrices(data, setting.prices).map(asPrice);
    measure();
  }

  function remember() {
    const changed = setting.point !== start.point || !samePrices(setting.prices, start.prices);
    if (!changed && !location.hash.startsWith("#point=")) return;
    const two = twoPrices(data, setting.prices), { numbers } = setting.prices;
    const prices = numbers ? `numbers=${numbers}` : two ? `error=${two[0]}&review=${two[1]}` : `prices=${setting.prices.map(String).join(";")}`;
    try {
      history.replaceState(null, "", `#point=${setting.point}&${prices}`);
    } catch {
      // Some browsers refuse this for a file; the page works anyway.
    }
  }

  // The setting in the address, if it is valid.
  function recall() {
    if (!location.hash.startsWith("#point=")) return;
    const asked = new URLSearchParams(location.hash.slice(1));
    const [point, error, review] = ["point", "error", "review"].map((key) => Number(asked.get(key) ?? NaN));
    const given = (asked.get("numbers") ?? "").split(",").map(Number);
    if (data.formulas && given.length !== fields.length) return;
    const prices = data.formulas ? pricesOfCases(data, given) : asked.has("prices") ? asked.get("prices").split(";").map((row) => row.split(",").map(Number))
      : uniformPrices(data, error, review);
    const fits = prices.length === data.prices.length && prices.every((row, k) =>
      row.length === data.prices[k].length && row[rightColumn(data, k)] === 0);
    if (!Number.isInteger(point) || point < 0 || point > last || !fits || refusal(prices)) return;
    setting = { point, prices };
    byClass.checked = !twoPrices(data, prices);
  }

  // A number that is still being typed often makes no sense: wait for a pause.
  let pause;
  for (const input of [errorPrice, reviewPrice, ...cells, ...fields]) {
    input.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(readPrices, 500);
    });
    input.addEventListener("change", () => {
      clearTimeout(pause);
      if (readPrices()) arrange();
    });
  }
  slider.addEventListener("input", () => set({ point: Number(slider.value) }));
  element("copy").addEventListener("click", async () => {
    const code = element("options");
    getSelection().selectAllChildren(code);
    try {
      await navigator.clipboard.writeText(code.textContent);
      write(element("copied"), "Copied.");
    } catch {
      write(element("copied"), "Selected: copy it with Ctrl+C.");
    }
  });
  element("go-cheapest").addEventListener("click", () => set({ point: cheapest(data, setting.prices) }));
  byClass.addEventListener("change", () => {
    arrange();
    readPrices();
  });
  element("go-start").addEventListener("click", () => set({ point: start.point }));
  window.addEventListener("hashchange", () => {
    recall();
    arrange();
    show();
  });

  for (const node of document.querySelectorAll(".drawn")) node.removeAttribute("hidden");
  for (const svg of document.querySelectorAll("[data-rival]")) {
    const i = Number(svg.dataset.rival);
    drawSwatch(svg, `rival rival-${i % 6}`, { "stroke-dasharray": dashOf(i) });
  }
  byClass.checked = !twoPrices(data, setting.prices);
  recall();
  arrange();
  show();

  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    measure();
    draw(data, setting);
  }).observe(document.body);
})();
