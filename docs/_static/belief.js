// How sure somebody can be after a release, by how sure they were before: plain SVG, no dependencies.
(() => {
  const host = document.getElementById("belief");
  if (!host) return;
  const W = 400, H = 310, LEFT = 66, RIGHT = 22, TOP = 12, BOTTOM = 48;
  const x = p => LEFT + p * (W - LEFT - RIGHT);
  const y = p => H - BOTTOM - p * (H - TOP - BOTTOM);
  const after = (p, epsilon) => p / (p + (1 - p) * Math.exp(-epsilon));
  const percent = p => {
    const value = 100 * p;
    const digits = value < 1 || value > 99 ? 2 : value < 10 || value > 90 ? 1 : 0;
    return Number(value.toFixed(digits)) + " %";
  };
  const epsilonOf = place => Math.pow(10, place);
  const shown = epsilon => epsilon < 0.995 ? epsilon.toFixed(2) : epsilon.toFixed(1);

  host.className = "belief";
  host.innerHTML = `
    <form class="belief-controls">
      <label for="belief-before">Belief before the release <output id="belief-before-shown"></output></label>
      <input id="belief-before" type="range" min="1" max="99" step="1" value="10">
      <label for="belief-epsilon">Budget ε <output id="belief-epsilon-shown"></output></label>
      <input id="belief-epsilon" type="range" min="-2" max="1" step="0.02" value="0">
    </form>
    <svg viewBox="0 0 ${W} ${H}" role="img" aria-labelledby="belief-said">
      <g class="belief-grid"></g>
      <path class="belief-band"></path>
      <line class="belief-same" x1="${x(0)}" y1="${y(0)}" x2="${x(1)}" y2="${y(1)}"></line>
      <line class="belief-reach"></line>
      <circle class="belief-point" r="4.5"></circle><circle class="belief-point" r="4.5"></circle>
      <text class="belief-most" font-size="13"></text><text class="belief-least" font-size="13"></text>
    </svg>
    <p id="belief-said" aria-live="polite"></p>`;
  const find = selector => host.querySelector(selector);
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  find(".belief-grid").innerHTML = ticks.map(t => `
    <line x1="${x(t)}" x2="${x(t)}" y1="${y(0)}" y2="${y(1)}"></line>
    <line x1="${x(0)}" x2="${x(1)}" y1="${y(t)}" y2="${y(t)}"></line>
    <text x="${x(t)}" y="${y(0) + 18}" text-anchor="middle" font-size="12">${100 * t} %</text>
    <text x="${x(0) - 8}" y="${y(t) + 4}" text-anchor="end" font-size="12">${100 * t} %</text>`).join("") + `
    <text x="${x(0.5)}" y="${H - 8}" text-anchor="middle" font-size="13">belief before</text>
    <text x="13" y="${y(0.5)}" text-anchor="middle" font-size="13"
      transform="rotate(-90 13 ${y(0.5)})">belief afterwards</text>`;

  const place = (element, attributes) =>
    Object.entries(attributes).forEach(([name, value]) => element.setAttribute(name, value));
  const draw = () => {
    const p = Number(find("#belief-before").value) / 100;
    const epsilon = epsilonOf(Number(find("#belief-epsilon").value));
    const most = after(p, epsilon), least = after(p, -epsilon);
    const steps = Array.from({ length: 101 }, (_, k) => k / 100);
    const upper = steps.map(t => `${x(t)},${y(after(t, epsilon))}`);
    const lower = steps.map(t => `${x(t)},${y(after(t, -epsilon))}`).reverse();
    place(find(".belief-band"), { d: `M${upper.concat(lower).join("L")}Z` });
    place(find(".belief-reach"), { x1: x(p), x2: x(p), y1: y(least), y2: y(most) });
    host.querySelectorAll(".belief-point").forEach((point, k) =>
      place(point, { cx: x(p), cy: y(k ? least : most) }));
    const side = p > 0.6 ? -9 : 9, anchor = p > 0.6 ? "end" : "start";
    const apart = y(least) - y(most) > 16 ? 0 : 9;
    place(find(".belief-most"), { x: x(p) + side, y: Math.max(y(most) + 4 - apart, 24), "text-anchor": anchor });
    place(find(".belief-least"), { x: x(p) + side, y: Math.min(y(least) + 4 + apart, y(0) - 6), "text-anchor": anchor });
    find(".belief-most").textContent = percent(most);
    find(".belief-least").textContent = percent(least);
    find("#belief-before-shown").textContent = percent(p);
    find("#belief-epsilon-shown").textContent = shown(epsilon);
    find("#belief-before").setAttribute("aria-valuetext", percent(p));
    find("#belief-epsilon").setAttribute("aria-valuetext", "epsilon " + shown(epsilon));
    find("#belief-said").textContent =
      `Somebody who is ${percent(p)} sure that a person is in the table can be at least ${percent(least)} ` +
      `and at most ${percent(most)} sure after a release with ε = ${shown(epsilon)}.`;
  };
  find("form").addEventListener("input", draw);
  find("form").addEventListener("submit", event => event.preventDefault());
  draw();
})();
