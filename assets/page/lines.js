// Context size over the requests of one transcript, and keep curves.

const EVENTS = [
  { bit: 1, name: "clear", style: "triangle", rotation: 180, colour: "orange" },
  { bit: 2, name: "re-fetch", style: "circle", rotation: 0, colour: "green" },
  { bit: 4, name: "need lost or unmet", style: "crossRot", rotation: 0, colour: "bad" },
];

function configName(row) {
  const r = BY_ROW.get(row);
  if (!r) return `row ${row}`;
  const role = roleOf(r);
  return role && role !== r.label ? `${role}: ${r.label}` : r.label;
}

function drawContext() {
  const session = DATA.sessions[Number(byId("context-session").value)];
  if (!session) {
    show("context", { type: "line", data: { datasets: [] }, options: {} }, "No transcript was replayed.");
    return;
  }
  const rows = [byId("context-a"), byId("context-b")].map((s) => Number(s.value));
  const lines = rows.map((row) => session.lines.find((line) => line.row === row));
  const colours = [colour("grey"), colour("blue")];
  const datasets = [];
  lines.forEach((line, i) => {
    if (i === 1 && rows[0] === rows[1]) return;
    datasets.push({
      label: roleOf(BY_ROW.get(line.row)) || BY_ROW.get(line.row).label, data: line.x.map((x, j) => ({ x, y: line.y[j] })), stepped: true, borderColor: colours[i],
      backgroundColor: colours[i], borderWidth: i === 0 ? 3.5 : 2, radius: line.x.length === 1 ? 3 : 0, hoverRadius: 4, pointStyle: "line", order: 10 - i,
    });
  });
  const marked = rows[0] === rows[1] ? lines.slice(0, 1) : lines;
  for (const event of EVENTS) {
    const at = marked.flatMap((line) => line.x.map((x, j) => ({ x, y: line.y[j], row: line.row })).filter((p, j) => Number(line.events[j]) & event.bit));
    if (!at.length) continue;
    const many = at.length > 60;
    datasets.push({
      label: event.name, data: at, showLine: false, pointStyle: event.style, rotation: event.rotation, radius: many ? 2.5 : 5, hoverRadius: 6,
      borderColor: event.style === "crossRot" ? colour(event.colour) : colour("card"), backgroundColor: colour(event.colour), borderWidth: event.style === "crossRot" ? 2 : 1, order: 1,
    });
  }
  const highest = Math.max(...lines.map((line) => line.peak));
  const across = [];
  const add = (at, text, name) => { if (at !== null && at <= highest * 1.3 && !across.some((line) => line.text === text)) across.push({ axis: "y", at, text, colour: colour(name) }); };
  add(session.window, "context window", "bad");
  for (const row of new Set(rows)) {
    const r = BY_ROW.get(row);
    if (r && r.trigger !== null && !r.uses) add(r.trigger, `trigger ${short(r.trigger)}`, "muted");
  }
  const last = Math.max(1, ...lines.flatMap((line) => line.x));
  show("context", {
    type: "line",
    data: { datasets },
    extra: { across },
    options: {
      parsing: false, interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: {
        x: { type: "linear", min: 0, max: last, title: { display: true, text: "request", color: colour("ink") }, grid: { display: false }, ticks: { precision: 0, maxRotation: 0, includeBounds: false } },
        y: { type: "linear", min: 0, suggestedMax: Math.max(highest * 1.05, ...across.map((line) => line.at * 1.05)), title: { display: true, text: "prompt (tokens)", color: colour("ink") }, grid: { color: colour("soft") }, ticks: { callback: (v) => short(v) } },
      },
      plugins: {
        tooltip: { callbacks: { title: (items) => (items.length ? `request ${thousands(items[0].raw.x)}` : ""), label: (item) => (item.dataset.showLine === false ? item.dataset.label : `${item.dataset.label}: ${short(item.raw.y)} tokens`) } },
      },
    },
  });
  const words = marked.map((line) => {
    const what = [`peak ${short(line.peak)}`, usd(line.cost_usd), count(line.clear_events, "clear event"), count(line.refetches, "re-fetch", "re-fetches")];
    if (line.missing_needs) what.push(count(line.missing_needs, "need lost or unmet", "needs lost or unmet"));
    return `${configName(line.row)}: ${what.join(", ")}.`;
  });
  if (session.window !== null && !across.some((line) => line.text === "context window")) words.push(`The context window (${short(session.window)}) lies far above.`);
  byId("caption-context").textContent = words.join(" ");
  // Some two dozen requests, evenly spread.
  const step = Math.max(1, Math.ceil((last + 1) / 24));
  const sizeAt = (line, x) => { let i = 0; while (i + 1 < line.x.length && line.x[i + 1] <= x) i++; return short(line.y[i]); };
  const shown = Array.from({ length: Math.floor(last / step) + 1 }, (_, i) => i * step).filter((x) => x <= Math.max(...lines.flatMap((line) => line.x)));
  fillTable("context-table", ["request", ...marked.map((line) => configName(line.row))], shown.map((x) => [thousands(x), ...marked.map((line) => sizeAt(line, x))]));
}

function startContext() {
  const sessions = DATA.sessions;
  const costOf = (line) => line?.cost_usd ?? 0;
  options(byId("context-session"), sessions.map((s, i) => [i, `${s.name} · ${count(s.requests, "request")} · ${usd(costOf(s.lines[0]))}`]), startSession());
  const rows = sessions.length ? sessions[0].lines.map((line) => line.row) : [];
  const pairs = rows.map((row) => [row, configName(row)]);
  options(byId("context-a"), pairs, rows[0]);
  options(byId("context-b"), pairs, FOCUS && rows.includes(FOCUS.row) ? FOCUS.row : rows[1] ?? rows[0]);
  for (const id of ["context-session", "context-a", "context-b"]) byId(id).addEventListener("change", drawContext);
  REDRAW.push(drawContext);
}

/** The middle one of the transcripts that the config changes, else the middle one. */
function startSession() {
  const all = DATA.sessions.map((s, i) => i);
  const changed = all.filter((i) => DATA.sessions[i].lines.some((line) => line.row === FOCUS?.row && line.clear_events > 0));
  const pick = changed.length ? changed : all;
  return pick[Math.floor(pick.length / 2)] ?? 0;
}

const LINE_COLOURS = ["ink", "blue", "vermillion", "green", "purple", "orange", "sky"];
const SHOWN_TOOLS = new Set();

function curveColour(i) {
  return colour(LINE_COLOURS[i === 0 ? 0 : ((i - 1) % (LINE_COLOURS.length - 1)) + 1]);
}

function drawKeep() {
  const measure = byId("keep-measure").value;
  const curves = DATA.curves.map((curve, i) => ({ curve, i })).filter(({ i }) => SHOWN_TOOLS.has(i));
  const reach = Math.max(2, ...DATA.curves.map((c) => c.keep[c.keep.length - 1] ?? 1));
  const at = (c, k) => { let i = 0; while (i + 1 < c.keep.length && c.keep[i + 1] <= k) i++; return c[measure][i] ?? 0; };
  const datasets = curves.map(({ curve, i }) => ({
    label: curve.tool,
    data: [{ x: 1, y: at(curve, 1) * 100 }, ...curve.keep.map((k, j) => ({ x: k, y: curve[measure][j] * 100 })).filter((p) => p.x > 1), { x: reach, y: at(curve, reach) * 100 }],
    stepped: true, borderColor: curveColour(i), backgroundColor: curveColour(i), borderWidth: i === 0 ? 3.5 : 2, borderDash: i > 6 ? [6, 3] : [], radius: 0, hoverRadius: 4, order: i,
  }));
  const across = [FOCUS, BY_ROW.get(DATA.roles.api_defaults)].filter((r) => r && r.keep !== null && r.keep >= 1 && r.keep <= reach)
    .map((r) => ({ axis: "x", at: r.keep, text: `keep ${r.keep} (${roleOf(r)})`, colour: colour("muted") }));
  const needs = DATA.curves[0]?.needs ?? 0;
  show("keep", {
    type: "line",
    data: { datasets },
    extra: { across },
    options: {
      parsing: false, interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: {
        x: { type: "logarithmic", min: 1, max: reach, title: { display: true, text: "keep (tool uses)", color: colour("ink") }, grid: { display: false },
          afterBuildTicks: (axis) => { axis.ticks = roundValues(1, reach, { of: Math.log }, Math.log(reach) / Math.max(4, axis.chart.width / 70)).map((value) => ({ value })); },
          ticks: { callback: (v) => thousands(v), autoSkip: false, maxRotation: 0 } },
        y: { type: "linear", min: 0, max: measure === "needs_cut_off" ? 100 : undefined, title: { display: true, text: measure === "needs_cut_off" ? "needs cut off (%)" : "results needed later (%)", color: colour("ink") }, grid: { color: colour("soft") } },
      },
      plugins: {
        legend: { display: false },
        tooltip: { callbacks: { title: (items) => (items.length ? `keep ${thousands(items[0].raw.x)}` : ""), label: (item) => `${item.dataset.label}: ${percent(item.raw.y / 100)}` } },
      },
    },
  }, needs ? "" : "No request of these transcripts draws on an earlier result, so no keep cuts anything off.");
  const all = DATA.curves[0];
  byId("keep-table").closest("details").hidden = !needs;
  if (!needs) { byId("caption-keep").textContent = ""; return; }
  const keeps = [0, 1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 75, 100, 150, 200, 300, 500, 1000].filter((k) => k < reach).concat(reach);
  fillTable("keep-table", ["keep", ...curves.map(({ curve }) => curve.tool)], keeps.map((k) => [thousands(k), ...curves.map(({ curve }) => percent(at(curve, k)))]));
  const named = measure === "needs_cut_off" ? "of the needs" : "of the results";
  const words = [1, 3, 10, 30, 100].filter((k) => k < reach).map((k) => `keep ${k}: ${percent(at(all, k))}`);
  byId("caption-keep").textContent = `${count(all.needs, "need")} in ${count(all.results, "result")}. All tools, share ${named} that would be cut off: ${words.length ? words.join(", ") : percent(at(all, 1))}. Nothing is cut off from keep ${thousands(all.keep[all.keep.length - 1])} on.`;
}

function startKeep() {
  const chips = byId("keep-tools");
  DATA.curves.forEach((curve, i) => {
    if (i < 6) SHOWN_TOOLS.add(i);
    const chip = element("button", { type: "button", "aria-pressed": String(SHOWN_TOOLS.has(i)) }, curve.tool);
    chip.addEventListener("click", () => {
      if (SHOWN_TOOLS.has(i)) SHOWN_TOOLS.delete(i); else SHOWN_TOOLS.add(i);
      chip.setAttribute("aria-pressed", String(SHOWN_TOOLS.has(i)));
      drawKeep();
    });
    chips.append(chip);
  });
  byId("keep-measure").addEventListener("change", drawKeep);
  REDRAW.push(drawKeep, () => [...chips.children].forEach((chip, i) => chip.style.setProperty("--chip", curveColour(i))));
}
