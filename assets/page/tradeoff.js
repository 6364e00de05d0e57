// The scatter of configs, the table that filters with it, and the selected config.

const PAGE_ROWS = 15;
const COLUMNS = [
  { key: "label", name: "Config", get: (r) => r.label },
  { key: "cost", name: "Cost", get: METRICS.cost.get, text: change, number: true },
  { key: "refetches", name: "Re\u2011fetches per 100", get: METRICS.refetches.get, text: oneDecimal, number: true },
  { key: "missing", name: "Lost or unmet", get: METRICS.missing.get, text: thousands, number: true, more: true },
  { key: "peak", name: "Largest prompt", get: METRICS.peak.get, text: short, number: true, more: true },
  { key: "invalidations", name: "Invalidations", get: METRICS.invalidations.get, text: thousands, number: true, more: true },
];

/** The order at the start: what loses nothing first, then the cheapest. */
const BY_RANK = { key: "rank", get: (r) => (r.missing > 0 ? 1e15 : 0) + r.cost, number: true };

const table = { sort: BY_RANK.key, descending: false, at: 0, rows: CONFIGS, selected: null, pointed: null };

/** The rows that pass the filters. */
function filtered() {
  const words = byId("filter-text").value.toLowerCase().split(/[\s,]+/).filter(Boolean);
  // Words that belong together, `keep 5`, have to stand together.
  const phrase = words.join(" ");
  const equal = (id, get) => {
    const value = byId(id).value;
    return value === "" ? () => true : (r) => String(get(r)) === value;
  };
  const tests = [
    equal("filter-trigger", (r) => (r.trigger === null ? "" : `${r.uses ? "u" : "t"}${r.trigger}`)),
    equal("filter-keep", (r) => r.keep),
    equal("filter-clear_at_least", (r) => r.clear_at_least),
    equal("filter-policy", (r) => r.policy),
  ];
  const lossless = byId("filter-lossless").checked, front = byId("filter-front").checked;
  return CONFIGS.filter((r) =>
    tests.every((test) => test(r)) && (!lossless || r.missing === 0) && (!front || FRONT.has(r.row)) && matches(r, phrase, words));
}

function matches(r, phrase, words) {
  if (!phrase) return true;
  const text = ` ${r.search.replaceAll(",", "")} `;
  return /\d/.test(phrase) && words.length > 1 ? text.includes(` ${phrase} `) : words.every((word) => text.includes(word));
}

function fillFilters() {
  const values = (get) => [...new Set(CONFIGS.map(get).filter((v) => v !== null))].sort((a, b) => a - b);
  const any = ["", "any"];
  const triggers = values((r) => (r.uses ? null : r.trigger)).map((v) => [`t${v}`, short(v)]);
  const uses = values((r) => (r.uses ? r.trigger : null)).map((v) => [`u${v}`, count(v, "use")]);
  options(byId("filter-trigger"), [any, ...triggers, ...uses], "");
  options(byId("filter-keep"), [any, ...values((r) => r.keep).map((v) => [v, thousands(v)])], "");
  options(byId("filter-clear_at_least"), [any, ...values((r) => r.clear_at_least).map((v) => [v, short(v)])], "");
  const policies = [...new Set(CONFIGS.map((r) => r.policy))];
  options(byId("filter-policy"), [any, ...policies.map((p) => [p, p])], "");
  byId("filter-policy-label").hidden = policies.length < 2;
  const metrics = Object.entries(METRICS).map(([key, m]) => [key, m.name]);
  options(byId("axis-x"), metrics, DATA.rows.value && DATA.objective !== "cost" ? "value" : "refetches");
  options(byId("axis-y"), metrics, "cost");
}

function restretch() {
  const [x, y] = ["axis-x", "axis-y"].map((id) => CONFIGS.map(METRICS[byId(id).value].get).filter((v) => v !== null));
  byId("stretch").checked = isSkewed(x) || isSkewed(y);
}

/** Kinds of points, in the order of the legend; each row is of the first kind that it fits. */
function kinds() {
  const named = (r) => ["recommended", "best", "best_edit", "api_defaults", "current", "none"].some((key) => DATA.roles[key] === r.row);
  return [
    { name: "named in the answer", test: named, style: "star", size: 8, colour: colour("ink"), width: 2 },
    { name: "Pareto front", test: (r) => FRONT.has(r.row) && r.missing === 0, style: "rectRot", size: 5.5, colour: colour("green"), width: 1 },
    { name: "needs lost or unmet", test: (r) => r.missing > 0, style: "triangle", size: 4, colour: colour("vermillion"), width: 1 },
    { name: "the API's edit", test: (r) => r.policy === EDIT, style: "circle", size: 3.5, colour: colour("blue"), width: 1 },
    { name: "other policies", test: () => true, style: "rect", size: 4, colour: colour("purple"), width: 1 },
  ];
}

/** Order of points at one place. */
function firstNamed(a, b) {
  return (roleOf(a) === "") - (roleOf(b) === "") || a.cost - b.cost || a.row - b.row;
}

function drawScatter() {
  const x = METRICS[byId("axis-x").value], y = METRICS[byId("axis-y").value];
  const rows = table.rows.filter((r) => x.get(r) !== null && y.get(r) !== null);
  const on = byId("stretch").checked;
  const [xs, ys] = [rows.map(x.get), rows.map(y.get)];
  const [xScale, yScale] = [stretched(xs, on), stretched(ys, on)];
  const point = (r) => ({ x: xScale.of(x.get(r)), y: yScale.of(y.get(r)), r });
  const all = kinds();
  const groups = all.map(() => []);
  for (const r of rows) groups[all.findIndex((kind) => kind.test(r))].push(point(r));
  const datasets = all.map((kind, i) => ({
    label: kind.name, data: groups[i], pointStyle: kind.style, radius: kind.size, hoverRadius: kind.size + 2, hitRadius: 5,
    backgroundColor: `${kind.colour}99`, borderColor: kind.colour, borderWidth: kind.width, order: 10 - (all.length - i),
  })).filter((set) => set.data.length);
  const marked = [table.pointed, table.selected].filter((r) => r && rows.includes(r)).slice(0, 1).map(point);
  datasets.push({
    label: "selected", data: marked, pointStyle: "circle", radius: 10, hoverRadius: 10, hitRadius: 0, backgroundColor: "transparent",
    borderColor: colour("focus"), borderWidth: 3, order: 0,
  });
  const across = [];
  for (const [axis, metric, scale] of [["x", x, xScale], ["y", y, yScale]]) {
    if (metric !== METRICS.cost || !NONE) continue;
    for (const [key, text] of [["oracle", "oracle"], ["bound", "bound"]]) {
      if (DATA.roles[key] !== null) across.push({ axis, at: scale.of(DATA.roles[key] / NONE.cost - 1), text, colour: colour("muted") });
    }
  }
  const named = rows.filter((r) => all[0].test(r));
  show("tradeoff", {
    type: "scatter",
    data: { datasets },
    extra: { across, names: named.map((r) => ({ ...point(r), text: r.row === DATA.roles.best ? "best" : roleOf(r) })) },
    options: {
      scales: { x: axis(x, xs, xScale), y: axis(y, ys, yScale) },
      interaction: { mode: "point", intersect: true },
      onClick: (event, hits, chart) => {
        const hit = hits.map((h) => chart.data.datasets[h.datasetIndex].data[h.index].r).sort(firstNamed)[0];
        if (hit) select(hit, true);
      },
      plugins: {
        legend: { labels: { filter: (item) => item.text !== "selected" } },
        tooltip: {
          // Of several at one place the one that the answer names, else the cheapest.
          filter: (item, i, items) => item.raw.r === [...items].map((other) => other.raw.r).sort(firstNamed)[0] && item.dataset.label !== "selected",
          callbacks: {
            title: (items) => (items.length ? wrapped(items[0].raw.r.label, 40) : []),
            label: (item) => {
              const r = item.raw.r;
              return [
                `${usd(r.cost)} (${METRICS.cost.text(METRICS.cost.get(r))})`,
                `${oneDecimal(r.refetch_rate)} re-fetches per 100 requests`,
                `${short(r.peak)} tokens at most`,
                ...(r.missing ? [count(r.missing, "need lost or unmet", "needs lost or unmet")] : []),
                ...(roleOf(r) ? [roleOf(r)] : []),
              ];
            },
            footer: (items) => {
              if (!items.length) return "";
              const { chart, element: { x: px, y: py } } = items[0];
              const here = chart.getElementsAtEventForMode({ type: "mousemove", x: px, y: py, native: null, chart }, "point", { intersect: true }, true);
              const rows = new Set(here.map((h) => chart.data.datasets[h.datasetIndex].data[h.index].r));
              return rows.size > 1 ? `and ${count(rows.size - 1, "config")} more at this place` : "";
            },
          },
        },
      },
    },
    plugins: [NAMES],
  }, rows.length ? "" : "No config passes the filters.");
  const cheapest = rows.filter((r) => r.missing === 0).reduce((best, r) => (best && best.cost <= r.cost ? best : r), null);
  const all_ = `${thousands(rows.length)} of ${count(CONFIGS.length, "config")}; ${x.name} (across) and ${y.name} (up).`;
  byId("caption-tradeoff").textContent = cheapest
    ? `${all_} The cheapest of them that loses nothing: ${cheapest.label} (${change(METRICS.cost.get(cheapest))}, ${oneDecimal(cheapest.refetch_rate)} re-fetches per 100 requests).`
    : all_;
}

/** Names beside the points that the answer is about, out of each other's way. */
const NAMES = {
  id: "names",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales } = chart;
    const boxes = [];
    ctx.save();
    ctx.font = `600 12px ${Chart.defaults.font.family}`;
    for (const { x, y, text } of EXTRA.get(chart.canvas).names ?? []) {
      if (!text) continue;
      const [px, py] = [scales.x.getPixelForValue(x), scales.y.getPixelForValue(y)];
      const width = ctx.measureText(text).width;
      const places = [[px + 10, py + 4], [px - 10 - width, py + 4], [px + 10, py - 10], [px + 10, py + 18], [px - 10 - width, py - 10], [px - 10 - width, py + 18], [px + 10, py - 24], [px + 10, py + 32]];
      const inside = ([bx, by]) => bx >= area.left && bx + width <= area.right && by - 12 >= area.top && by <= area.bottom;
      const free = ([bx, by]) => boxes.every((b) => bx > b.x + b.width || bx + width < b.x || Math.abs(by - b.y) > 13);
      const [bx, by] = places.find((p) => inside(p) && free(p)) ?? places.find(inside) ?? places[0];
      boxes.push({ x: bx, y: by, width });
      ctx.lineWidth = 4;
      ctx.strokeStyle = colour("card");
      ctx.strokeText(text, bx, by);
      ctx.fillStyle = colour("ink");
      ctx.fillText(text, bx, by);
    }
    ctx.restore();
  },
};

function sorted(rows) {
  const column = COLUMNS.find((c) => c.key === table.sort) ?? BY_RANK;
  const sign = table.descending ? -1 : 1;
  const compare = (a, b) => {
    const [x, y] = [column.get(a), column.get(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (column.number ? x - y : x.localeCompare(y, "en", { numeric: true })) || a.row - b.row;
  };
  return [...rows].sort(compare);
}

function drawTable() {
  const head = element("tr");
  for (const column of COLUMNS) {
    const active = column.key === table.sort;
    const button = element("button", { type: "button" }, `${column.name}${active ? (table.descending ? " ▾" : " ▴") : ""}`);
    button.addEventListener("click", () => {
      table.descending = active ? !table.descending : false;
      table.sort = column.key;
      table.at = 0;
      drawTable();
      byId("configs").querySelectorAll("thead button")[COLUMNS.indexOf(column)].focus();
    });
    const classes = [column.number ? "number" : "", column.more ? "more" : ""].join(" ").trim();
    head.append(element("th", { scope: "col", class: classes, "aria-sort": active ? (table.descending ? "descending" : "ascending") : "none" }, button));
  }
  byId("configs").tHead.replaceChildren(head);
  const rows = sorted(table.rows);
  const pages = Math.max(1, Math.ceil(rows.length / PAGE_ROWS));
  table.at = Math.min(table.at, pages - 1);
  const shown = rows.slice(table.at * PAGE_ROWS, (table.at + 1) * PAGE_ROWS);
  byId("configs").tBodies[0].replaceChildren(...shown.map(tableRow));
  byId("configs-order").textContent = table.sort === BY_RANK.key ? ", those that lose nothing first, then the cheapest" : "";
  const first = table.at * PAGE_ROWS + 1;
  byId("page-at").textContent = rows.length ? `${thousands(first)} to ${thousands(first + shown.length - 1)} of ${thousands(rows.length)}` : "no config passes the filters";
  byId("page-back").disabled = table.at === 0;
  byId("page-on").disabled = table.at >= pages - 1;
}

function tableRow(r) {
  const made = element("tr", { tabindex: "0", "data-row": r.row, "aria-selected": String(r === table.selected) });
  for (const column of COLUMNS) {
    const classes = [column.number ? "number" : "", column.more ? "more" : ""].join(" ").trim();
    const value = column.get(r);
    const cell = element("td", { class: classes }, column.number ? (value === null ? "–" : column.text(value)) : r.label);
    if (column.key === "label" && roleOf(r) && roleOf(r) !== r.label) cell.append(" ", element("span", { class: "badge" }, roleOf(r)));
    // Where there is no room for that column.
    if (column.key === "label" && r.missing > 0) cell.append(" ", element("span", { class: "badge warn narrow" }, `${thousands(r.missing)} lost or unmet`));
    made.append(cell);
  }
  made.addEventListener("click", () => select(r, false));
  made.addEventListener("keydown", (event) => {
    const step = { ArrowDown: made.nextElementSibling, ArrowUp: made.previousElementSibling }[event.key];
    if (event.key === "Enter" || event.key === " ") select(r, false);
    else if (step) step.focus();
    else return;
    event.preventDefault();
  });
  const point = (row) => () => { table.pointed = row; mark(); };
  made.addEventListener("mouseenter", point(r));
  made.addEventListener("focus", point(r));
  made.addEventListener("mouseleave", point(null));
  made.addEventListener("blur", point(null));
  return made;
}

/** Moves the ring to the row under the pointer, or to the selected one. */
function mark() {
  const chart = CHARTS.get("tradeoff");
  const ring = chart?.data.datasets.find((set) => set.label === "selected");
  if (!ring) return;
  const all = chart.data.datasets.filter((set) => set !== ring).flatMap((set) => set.data);
  const r = table.pointed ?? table.selected;
  ring.data = all.filter((p) => p.r === r);
  chart.update("none");
}

/** Shows one config with its numbers and what to paste; `turn`: also its page of the table. */
function select(r, turn) {
  table.selected = r;
  if (turn) {
    const at = sorted(table.rows).indexOf(r);
    if (at >= 0) table.at = Math.floor(at / PAGE_ROWS);
    drawTable();
  }
  for (const row of byId("configs").tBodies[0].rows) row.setAttribute("aria-selected", String(Number(row.dataset.row) === r.row));
  mark();
  const facts = [
    ["Cost", `${usd(r.cost)} (${change(METRICS.cost.get(r))})`],
    ["Re-fetches", `${thousands(r.refetches)}${r.costly ? `, ${thousands(r.costly)} costly` : ""}`],
    ["Lost or unmet needs", thousands(r.missing)],
    ["Largest prompt", short(r.peak)],
    ["Clear events", thousands(r.clears)],
    ["Cache invalidations", thousands(r.invalidations)],
    ["Tokens freed", short(r.freed)],
    ["Tokens written again", short(r.invalidated)],
    ...(r.overflowed ? [["Transcripts that overflow", thousands(r.overflowed)]] : []),
  ];
  const box = byId("selected");
  box.replaceChildren(element("h3", {}, r.label, ...(roleOf(r) && roleOf(r) !== r.label ? [" ", element("span", { class: "badge" }, roleOf(r))] : [])));
  const list = element("dl", { class: "facts" });
  for (const [name, value] of facts) list.append(element("div", {}, element("dt", {}, name), element("dd", {}, value)));
  box.append(list);
  const text = paste(r);
  if (text) {
    const button = element("button", { type: "button", class: "copy", "data-copy": "selected-text" }, "Copy");
    box.append(element("div", { class: "code" }, button, element("pre", { tabindex: "0", "aria-label": "context_management of the selected config" }, element("code", { id: "selected-text" }, text))));
  } else if (r.policy !== "none") {
    box.append(element("p", { class: "aside" }, "The API has no such config: your client has to do this."));
  }
}

function refilter() {
  table.rows = filtered();
  table.at = 0;
  drawScatter();
  drawTable();
}

function startTradeoff() {
  fillFilters();
  restretch();
  const start = FOCUS ?? NONE;
  if (start) table.selected = start;
  for (const event of ["input", "change"]) byId("filters").addEventListener(event, refilter);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("reset", () => setTimeout(refilter));
  for (const id of ["axis-x", "axis-y"]) byId(id).addEventListener("change", () => { restretch(); drawScatter(); });
  byId("stretch").addEventListener("change", drawScatter);
  byId("page-back").addEventListener("click", () => { table.at--; drawTable(); });
  byId("page-on").addEventListener("click", () => { table.at++; drawTable(); });
  REDRAW.push(drawScatter);
  table.rows = filtered();
  drawTable();
  if (start) select(start, false);
}
