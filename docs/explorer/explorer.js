"use strict";
// Looks up what plans predict (tables.js) and shows it as words, a chart and a table.
(() => {
  const TABLES = window.explorerTables;
  const AXES = TABLES.axes;
  const ORDER = Object.keys(AXES); // rows are last, and run fastest
  const START = { rows: 10000, columns: 10, epsilon: 1, delta: 1e-6, balance: 0.2 };
  const WIDE = { width: 720, height: 360, left: 58, right: 14, top: 14, bottom: 46 };
  const NARROW = { width: 380, height: 320, left: 50, right: 10, top: 14, bottom: 46 };
  const HIDDEN = "not identified";
  const SHOWN = {
    rows: (value) => value.toLocaleString("en"),
    columns: (value) => `${value}`,
    epsilon: (value) => `${value}`,
    delta: (value) => `10⁻${"⁰¹²³⁴⁵⁶⁷⁸⁹"[Math.round(-Math.log10(value))]}`,
    balance: (value) => `${100 * value} %`,
  };
  const state = {};
  const byId = (name) => document.getElementById(`explorer-${name}`);

  function place(choice) {
    return ORDER.reduce((sum, axis) => sum * AXES[axis].length + choice[axis], 0);
  }

  function cell(rows = state.rows) {
    const here = place({ ...state, rows });
    const count = AXES.rows.length;
    const { columns, balance } = state;
    const free = (columns * AXES.balance.length + balance) * count + rows;
    return {
      rows: AXES.rows[rows],
      narrow: TABLES.narrow[here],
      width: TABLES.width[here],
      wide: TABLES.wide[here],
      error: TABLES.error[here],
      area: TABLES.area[here],
      noise: TABLES.noise[Math.floor(here / count)],
      sampling: TABLES.sampling[free],
    };
  }

  const number = (value) => (value === null ? HIDDEN : `${Number(value.toPrecision(2))}`);
  const ratio = (width) => (width === null ? "none" : Math.exp(width / 2).toFixed(2));

  function answer() {
    const here = cell();
    const best = TABLES.ceiling[state.balance].toFixed(2);
    const facts = [
      ["Interval width", number(here.width)],
      ["Smallest detectable odds ratio", ratio(here.width)],
      ["Area under the ROC curve", `${here.area.toFixed(2)} <small>of ${best} at best</small>`],
      ["Noise", number(here.noise)],
    ];
    const list = facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`);
    return `<dl>${list.join("")}</dl><p>${meaning(here)}</p>`;
  }

  function meaning(here) {
    if (here.width === null) {
      return "Noise hides the coefficients here: more rows, a larger epsilon or fewer columns " +
        "are needed.";
    }
    if (here.sampling === null) return "Sampling alone hides such a coefficient as well.";
    const times = here.width / here.sampling;
    if (times < 1.1) {
      return "Privacy costs next to nothing here: the interval is about as wide as sampling " +
        "alone would make it.";
    }
    return `Privacy noise makes the interval ${times.toFixed(1)} times as wide as sampling ` +
      "alone would.";
  }

  // ------------------------------------------------------------------------------- chart

  function range(cells) {
    const known = cells.flatMap((one) => [one.narrow, one.wide, one.width, one.sampling]);
    const values = known.filter((value) => value !== null);
    const low = Math.floor(Math.log10(Math.min(...values)) * 2) / 2;
    const high = Math.ceil(Math.log10(Math.max(...values)) * 2) / 2;
    return [10 ** low, 10 ** Math.max(high, low + 1)];
  }

  function scale(from, to, start, end) {
    const [low, high] = [Math.log10(from), Math.log10(to)];
    return (value) => start + ((Math.log10(value) - low) / (high - low)) * (end - start);
  }

  function ticks(low, high) {
    const found = [];
    for (let power = Math.floor(Math.log10(low)); 10 ** power <= high * 1.001; power += 1) {
      for (const step of [1, 3]) {
        const value = step * 10 ** power;
        if (value >= low * 0.999 && value <= high * 1.001) found.push(value);
      }
    }
    return found;
  }

  function path(cells, field, x, y) {
    let drawn = "";
    let joined = false;
    for (const one of cells) {
      const value = one[field];
      if (value !== null) {
        drawn += `${joined ? "L" : "M"}${x(one.rows).toFixed(1)} ${y(value).toFixed(1)}`;
      }
      joined = value !== null;
    }
    return drawn;
  }

  function band(cells, x, y) {
    const known = cells.filter((one) => one.narrow !== null && one.wide !== null);
    if (known.length < 2) return "";
    const point = (one, field) => `${x(one.rows).toFixed(1)} ${y(one[field]).toFixed(1)}`;
    const there = known.map((one) => point(one, "wide"));
    const back = known.map((one) => point(one, "narrow")).reverse();
    return `M${[...there, ...back].join("L")}Z`;
  }

  function shortRows(value) {
    return value >= 1e6 ? `${value / 1e6}M` : `${value / 1e3}k`;
  }

  function chart(cells) {
    const box = byId("chart").clientWidth < 520 ? NARROW : WIDE;
    const [low, high] = range(cells);
    const right = box.width - box.right;
    const bottom = box.height - box.bottom;
    const x = scale(AXES.rows[0], AXES.rows.at(-1), box.left, right);
    const y = scale(low, high, bottom, box.top);
    const across = ticks(low, high).map((value) => {
      const at = y(value).toFixed(1);
      const label = Number(value.toPrecision(1));
      return `<line class="grid" x1="${box.left}" x2="${right}" y1="${at}" y2="${at}"/>` +
        `<text x="${box.left - 6}" y="${at}" dy="4" text-anchor="end">${label}</text>`;
    });
    const along = AXES.rows.filter((value) => /^1/.test(`${value}`)).map((value) =>
      `<text x="${x(value).toFixed(1)}" y="${bottom + 20}" text-anchor="middle">` +
      `${shortRows(value)}</text>`);
    const now = cells[state.rows];
    const here = x(now.rows).toFixed(1);
    const dot = now.width === null ? "" : `<circle cx="${here}" cy="${y(now.width)}" r="6"/>`;
    const middle = (box.left + right) / 2;
    const height = (box.top + bottom) / 2;
    return `<svg viewBox="0 0 ${box.width} ${box.height}" role="img" ` +
      `aria-labelledby="explorer-caption">${across.join("")}${along.join("")}` +
      `<path class="band" d="${band(cells, x, y)}"/>` +
      `<path class="sampling" d="${path(cells, "sampling", x, y)}"/>` +
      `<path class="private" d="${path(cells, "width", x, y)}"/>` +
      `<line class="here" x1="${here}" x2="${here}" y1="${box.top}" y2="${bottom}"/>${dot}` +
      `<text x="${middle}" y="${box.height - 8}" text-anchor="middle">rows</text>` +
      `<text transform="translate(14 ${height}) rotate(-90)" text-anchor="middle">` +
      "interval width</text></svg>";
  }

  // ------------------------------------------------------------------------------- table

  function table(cells) {
    const lines = cells.map((one, index) => {
      const current = index === state.rows ? ' aria-current="true"' : "";
      const values = [one.width, one.sampling].map(number);
      return `<tr${current}><th scope="row">${SHOWN.rows(one.rows)}</th>` +
        `<td>${values.join("</td><td>")}</td><td>${one.area.toFixed(2)}</td></tr>`;
    });
    return "<table><thead><tr><th scope=\"col\">Rows</th>" +
      "<th scope=\"col\">Interval width</th><th scope=\"col\">From sampling alone</th>" +
      "<th scope=\"col\">ROC area</th></tr></thead>" +
      `<tbody>${lines.join("")}</tbody></table>`;
  }

  // ------------------------------------------------------------------------------- page

  function show() {
    const cells = AXES.rows.map((_, index) => cell(index));
    byId("answer").innerHTML = answer();
    byId("chart").innerHTML = chart(cells);
    byId("table").innerHTML = table(cells);
    byId("caption").textContent = "Width of a 95 % interval by number of rows, on " +
      "logarithmic scales. Solid: private, with the middle half of assumed tables as a " +
      "band; dashed: sampling alone. The line ends where noise hides a coefficient.";
  }

  function read(axis) {
    const slider = byId(axis);
    const text = SHOWN[axis](AXES[axis][slider.value]);
    state[axis] = Number(slider.value);
    slider.setAttribute("aria-valuetext", text);
    slider.parentNode.querySelector("output").textContent = text;
  }

  function begin() {
    for (const axis of ORDER) {
      const slider = byId(axis);
      Object.assign(slider, { min: 0, max: AXES[axis].length - 1, step: 1 });
      slider.value = AXES[axis].indexOf(START[axis]);
      read(axis);
      slider.addEventListener("input", () => { read(axis); show(); });
    }
    document.querySelectorAll("#explorer [hidden]").forEach((part) => { part.hidden = false; });
    window.addEventListener("resize", show);
    show();
  }

  begin();
})();
