"use strict";

// How numbers are written and read.  A number becomes an integer of its last shown digit, halves up,
// so that parts add up to their total.

const NONE = "–";

const whole = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, ",");

function fixed(units, places) {
  if (places === 0) return whole(units);
  const head = Math.floor(units / 10 ** places);
  return `${whole(head)}.${String(units - head * 10 ** places).padStart(places, "0")}`;
}

const toUnits = (value, places) => Math.floor(value * 10 ** places + 0.5);

// Exact, because it is computed from counts.
const share = (part, n) =>
  n === 0 ? NONE : `${fixed(Math.floor((2000 * part + n) / (2 * n)), 1)}\u00a0%`;

const percent = (rate) => `${fixed(toUnits(rate, 3), 1)}\u00a0%`;

const ratio = (value) => fixed(toUnits(value, 4), 4).replace(/\.?0+$/, "");

// Decimals of all amounts, from the price of an error.
const moneyPlaces = (error) => (error >= 10 ? 0 : error >= 0.1 ? 2 : error >= 0.001 ? 4 : 6);

// A price with all its digits, as people write it: 1,000 or 0.25.
const asPrice = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 15 });

// The number that is meant; NaN if there is none, or if a comma might be a decimal mark.
function readPrice(text) {
  const plain = text.replace(/[\s']/g, "");
  const is = /^-?(\d+|\d{1,3}(,\d{3})+)?(\.\d*)?(e[-+]?\d+)?$/i.test(plain) && /\d/.test(plain);
  return is ? Number(plain.replaceAll(",", "")) : NaN;
}

const quoted = (label) => `“\u2068${label}\u2069”`; // keeps its own writing direction

const sum = (values) => values.reduce((total, value) => total + value, 0);

// What points share is kept once.
const atPoint = ({ kept, of }, point) => kept[of[point]];

// Wilson's interval, where a case counts for `worth` independent ones.
function wilson(part, n, worth, z) {
  if (n === 0) return [0, 1];
  const p = part / n, m = n * worth, z2 = z * z;
  const shrink = 1 + z2 / m;
  const middle = (p + z2 / (2 * m)) / shrink;
  const half = (z / shrink) * Math.sqrt((p * (1 - p)) / m + z2 / (4 * m * m));
  return [part > 0 ? middle - half : 0, part < n ? middle + half : 1];
}
