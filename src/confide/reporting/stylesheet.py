"""How the page looks: light, dark, on a phone and on paper."""

STYLE = """
:root { color-scheme: light dark;
  --paper: #ffffff; --ink: #1c2430; --soft: #56606e; --line: #d5dae1; --wash: #f4f6f9;
  --mark: #1f5fa8; --zero: #7b8694; --good: #17663a; --doubt: #7f5200; --bad: #b3191f;
  --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14181e; --ink: #e4e8ee; --soft: #a3adba; --line: #343c47; --wash: #1c222a;
  --mark: #7fb2ee; --zero: #8b96a5; --good: #6fcf97; --doubt: #f0c060; --bad: #ff8a80;
  --on: #14181e; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.55;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif; }
main { max-width: 52rem; margin: 0 auto; padding: 2.5rem 1.25rem 3rem; }
h1, h2, h3, p, li, dd, th, summary { overflow-wrap: anywhere; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.75rem 0 0.75rem; }
h3 { font-size: 1.05rem; margin: 1.5rem 0 0.4rem; }
p { margin: 0.6rem 0; }
ul { margin: 0.4rem 0; padding-left: 1.3rem; }
.about { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem;
  margin: 0.6rem 0 0; font-size: 0.95rem; }
.about dt { color: var(--soft); }
.about dd { margin: 0; overflow-wrap: anywhere; }
.kicker { margin: 0 0 0.3rem; color: var(--soft); font-size: 0.9rem; }
.note, caption, footer { color: var(--soft); font-size: 0.875rem; }
.promise { margin-top: 1.5rem; padding: 1.1rem 1.4rem 1.2rem; background: var(--wash);
  border-left: 5px solid var(--good); }
.promise.claimed { border-color: var(--doubt); }
.promise.refuted, .promise.seeded { border-color: var(--bad); }
.promise h2 { margin: 0; }
.head { display: flex; flex-wrap: wrap; gap: 0.5rem 0.8rem; align-items: center; }
.budget { font-size: 1.05rem; font-weight: 600; margin: 0.5rem 0 0.8rem; }
.badge { padding: 0.1rem 0.6rem; border-radius: 3px; font-size: 0.78rem; font-weight: 700;
  letter-spacing: 0.05em; color: var(--on); background: var(--good); white-space: nowrap;
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.badge.claimed { background: var(--doubt); }
.badge.refuted, .badge.seeded { background: var(--bad); }
.badge.moot { background: none; color: var(--soft); border: 1px solid var(--soft); }
.warning { color: var(--bad); border: 2px solid var(--bad); padding: 0.6rem 0.9rem;
  font-weight: 600; margin: 0.8rem 0; }
figure { margin: 0; }
figcaption p { margin: 0.25rem 0; }
svg { display: block; width: 100%; height: auto; font-family: inherit; }
svg.narrow { display: none; }
svg.paid { max-width: 30rem; }
svg text { fill: var(--ink); font-size: 13px; }
svg .name, svg .value { paint-order: stroke; stroke: var(--paper); stroke-width: 5px;
  stroke-linejoin: round; }
svg .tick { fill: var(--soft); font-size: 12px; text-anchor: middle; }
svg .tick.side { text-anchor: end; }
svg .value { text-anchor: end; font-variant-numeric: tabular-nums; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .zero { stroke: var(--zero); stroke-width: 1.5; }
svg .bar { stroke: var(--mark); stroke-width: 2; fill: none; }
svg .core { stroke: var(--mark); stroke-width: 9; fill: none; opacity: 0.35; }
svg.key { display: inline-block; width: 2.75rem; height: 0.75rem;
  vertical-align: baseline; }
.legend span { white-space: nowrap; margin-right: 1.2rem; }
svg .curve { stroke: var(--mark); stroke-width: 2; fill: none; stroke-linejoin: round; }
svg .dot { fill: var(--mark); stroke: var(--paper); stroke-width: 1; }
.scroll { overflow-x: auto; }
.sure { color: var(--mark); font-weight: 700; text-decoration: none; }
table { border-collapse: collapse; width: 100%; font-size: 0.925rem; }
caption { text-align: left; padding: 0 0 0.5rem; }
th, td { padding: 0.32rem 0.6rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
thead th { border-bottom: 2px solid var(--zero); color: var(--soft); font-weight: 600; }
tbody th { font-weight: 400; }
.number { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums lining-nums; }
.number .tail { display: inline-block; text-align: left; }
.facts th { width: 8rem; color: var(--soft); }
.meter { height: 0.9rem; margin: 0.3rem 0 1rem; background: var(--line); border-radius: 3px;
  overflow: hidden; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.meter span { display: block; height: 100%; min-width: 2px; background: var(--mark);
  -webkit-print-color-adjust: exact; print-color-adjust: exact; }
.meter.over span { background: var(--bad); }
details { border: 1px solid var(--line); padding: 0 1rem; margin: 1rem 0; }
details[open] { padding-bottom: 1rem; }
summary { padding: 0.7rem 0; cursor: pointer; font-weight: 600; }
summary:focus-visible { outline: 3px solid var(--mark); outline-offset: 2px; }
footer { margin-top: 3rem; padding-top: 0.8rem; border-top: 1px solid var(--line); }
@media (max-width: 40rem) {
  main { padding: 1.4rem 1rem 2rem; }
  h1 { font-size: 1.5rem; }
  .promise { padding: 0.9rem 1rem; }
  svg.wide { display: none; } svg.narrow { display: block; }
  th, td { padding: 0.32rem 0.35rem; }
  table { font-size: 0.85rem; }
  .facts th { width: 5rem; }
  .bounded, .bounded caption, .bounded thead, .bounded tbody { display: block; }
  .bounded tr { display: grid; grid-template-columns: repeat(3, 1fr) 5.5rem;
    border-bottom: 1px solid var(--line); }
  .bounded th, .bounded td, .bounded thead th { border: 0; }
  .bounded th:first-child { grid-column: 1 / -1; padding-bottom: 0; }
  details { padding: 0 0.7rem; }
}
@media print {
  :root { color-scheme: light; --paper: #ffffff; --ink: #000000; --soft: #444444;
    --line: #c4c4c4; --wash: #ffffff; --mark: #1f5fa8; --zero: #666666; --good: #17663a;
    --doubt: #7f5200; --bad: #b3191f; --on: #ffffff; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  h2, h3, summary { break-after: avoid; }
  .promise, tr, svg.paid { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
