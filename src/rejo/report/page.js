// The controls; everything else follows their setting.

(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const element = (id) => document.getElementById(id);
  const slider = element("slider"), errorPrice = element("error-price"), reviewPrice = element("review-price");
  const last = data.wrong.length - 1;
  const start = { point: data.chosen, error: data.prices[0], review: data.prices[1] };
  let setting = { ...start };

  function write(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  function show() {
    const texts = numbers(data, setting);
    for (const [id, text] of Object.entries(texts)) write(element(id), text);
    for (const node of document.querySelectorAll("[data-copy]")) write(node, texts[node.dataset.copy]);
    data.matrix[setting.point].forEach((row, k) => row.forEach((count, o) => {
      const cell = element(`cell-${k}-${o}`).parentElement;
      cell.dataset.heat = heat(count, sum(row));
    }));
    slider.value = setting.point;
    slider.setAttribute("aria-valuetext", texts["point-name"]);
    // Not disabled, or a button with the focus would lose it.
    const idle = (id, point) => element(id).setAttribute("aria-disabled", String(point === setting.point));
    idle("go-cheapest", cheapest(data, setting.error, setting.review));
    idle("go-start", start.point);
    draw(data, setting);
    remember();
  }

  const heat = (count, n) => (n ? Math.floor((20 * count + n) / (2 * n)) : 0);

  function set(changes, notice = "") {
    setting = { ...setting, ...changes };
    show();
    write(element("moved"), notice);
  }

  // The message if prices make no sense, or an empty string.
  function refusal(error, review) {
    if (Number.isNaN(error) || Number.isNaN(review)) return "Enter both prices as numbers.";
    if (error <= 0) return "The price of a wrong decision must be positive.";
    if (review < 0) return "The price of a review must not be negative.";
    if (error < LEAST_PRICE || error > HIGHEST_PRICE) {
      return "The price of a wrong decision must be between 0.000001 and 1,000,000,000.";
    }
    if (review > error * 0.5) {
      return "A review that costs more than half an error never pays: enter a lower price.";
    }
    return "";
  }

  function readPrices() {
    const [error, review] = [errorPrice, reviewPrice].map((input) => (input.value === "" ? NaN : Number(input.value)));
    const message = refusal(error, review);
    const kept = message ? ` The page still uses ${setting.error} and ${setting.review}.` : "";
    write(element("price-message"), message + kept);
    for (const input of [errorPrice, reviewPrice]) input.setAttribute("aria-invalid", message ? "true" : "false");
    if (message || (error === setting.error && review === setting.review)) return;
    const point = bestPoint(data, error, review);
    const target = data.axis === "reject_cost" ? "point closest to these prices" : "cheapest point";
    set({ error, review, point }, point === setting.point ? "" : `The slider moved to the ${target}.`);
  }

  function remember() {
    const changed = Object.keys(start).some((key) => setting[key] !== start[key]);
    if (!changed && !location.hash.startsWith("#point=")) return;
    const hash = `#point=${setting.point}&error=${setting.error}&review=${setting.review}`;
    try {
      history.replaceState(null, "", hash);
    } catch {
      // Some browsers refuse this for a file; the page works anyway.
    }
  }

  // The setting in the address, if it is valid.
  function recall() {
    if (!location.hash.startsWith("#point=")) return;
    const asked = new URLSearchParams(location.hash.slice(1));
    const [point, error, review] = ["point", "error", "review"].map((key) => Number(asked.get(key) ?? NaN));
    if (!Number.isInteger(point) || point < 0 || point > last || refusal(error, review)) return;
    setting = { point, error, review };
    errorPrice.value = error;
    reviewPrice.value = review;
  }

  // A number that is still being typed often makes no sense: wait for a pause.
  let pause;
  for (const input of [errorPrice, reviewPrice]) {
    input.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(readPrices, 500);
    });
    input.addEventListener("change", () => {
      clearTimeout(pause);
      readPrices();
    });
  }
  slider.addEventListener("input", () => set({ point: Number(slider.value) }));
  element("go-cheapest").addEventListener("click", () => set({ point: cheapest(data, setting.error, setting.review) }));
  element("go-start").addEventListener("click", () => set({ point: start.point }));
  window.addEventListener("hashchange", () => {
    recall();
    show();
  });

  element("controls").hidden = false;
  for (const node of document.querySelectorAll(".drawn")) node.removeAttribute("hidden");
  recall();
  measure();
  show();

  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (document.body.clientWidth === width) return;
    width = document.body.clientWidth;
    measure();
    draw(data, setting);
  }).observe(document.body);
})();
