// Trigger × keep, a plane for each clear_at_least.

const HEAT_METRICS = ["cost", "refetches", "peak", "missing", "invalidations"].map((key) => [key, METRICS[key].name]);
/** Planes: the rows of the API's edit that agree in all other knobs. */
const PLANES = [];

function planes() {
  const found = new Map();
  for (const r of CONFIGS.filter((row) => row.policy === EDIT)) {
    const key = JSON.stringify([r.uses, r.exclude_tools, r.clear_tool_inputs]);
    if (!found.has(key)) found.set(key, []);
    found.get(key).push(r);
  }
  for (const rows of found.values()) {
    const values = (get) => {
      const all = [...new Set(rows.map(get))].sort((a, b) => a - b);
      // A value that one config alone has, such as the API's defaults, would be an empty line.
      const lines = all.filter((v) => rows.filter((r) => get(r) === v).length > 1 || rows.some((r) => r === FOCUS_EDIT && get(r) === v));
      return lines.length ? lines : all;
    };
    PLANES.push({
      name: planeName(rows[0]), rows, uses: rows[0].uses,
      triggers: values((r) => r.trigger), keeps: values((r) => r.keep), least: values((r) => r.clear_at_least),
      at: new Map(rows.map((r) => [`${r.clear_at_least} ${r.keep} ${r.trigger}`, r])),
    });
  }
  PLANES.sort((a, b) => b.rows.length - a.rows.length);
}

function planeName(r) {
  const parts = [r.exclude_tools.length ? `without ${r.exclude_tools.join(", ")}` : "no tool excluded"];
  if (r.uses) parts.push("trigger in tool uses");
  if (r.clear_tool_inputs === true) parts.push("inputs cleared");
  else if (r.clear_tool_inputs) parts.push(`inputs of ${r.clear_tool_inputs.join(", ")} cleared`);
  return parts.join(", ");
}

/** Scale of the colours: that of all values of clear_at_least of the plane, so that they can be compared. */
function heatScale(plane, metric, key) {
  const values = plane.rows.map(metric.get).filter((v) => v !== null);
  const low = Math.min(...values), high = Math.max(...values);
  if (key === "cost") {
    // Both sides have their own end; roots keep small differences apart beside large ones.
    const side = (v, end) => (end === 0 ? 0 : Math.sqrt(Math.min(1, Math.abs(v / end))));
    return { low, high, of: (v) => (v < 0 ? -side(v, low) : side(v, Math.max(high, 0))), ends: [Math.min(low, 0), Math.max(high, 0)] };
  }
  const of = (v) => (high > low ? -1 + 2 * Math.sqrt((v - low) / (high - low)) : -1);
  return { low, high, of, ends: [low, high] };
}

function drawHeat() {
  const plane = PLANES[Number(byId("heat-rest").value) || 0];
  if (!plane) {
    show("heat", { type: "matrix", data: { datasets: [] }, options: { scales: {} }, plugins: [CELLS] }, "No config of this sweep is the API's edit.");
    byId("heat-controls").hidden = true;
    return;
  }
  const slider = byId("heat-slider");
  slider.max = String(plane.least.length - 1);
  slider.disabled = plane.least.length < 2;
  const least = plane.least[Math.min(Number(slider.value), plane.least.length - 1)];
  byId("heat-value").textContent = least === 0 ? "0 (none)" : short(least);
  slider.setAttribute("aria-valuetext", `${short(least)} tokens`);
  const key = byId("heat-metric").value, metric = METRICS[key];
  const scale = heatScale(plane, metric, key);
  const xText = (v) => (plane.uses ? thousands(v) : short(v));
  const cells = [];
  for (const keep of plane.keeps) {
    for (const trigger of plane.triggers) {
      const r = plane.at.get(`${least} ${keep} ${trigger}`);
      if (r && metric.get(r) !== null) cells.push({ x: xText(trigger), y: thousands(keep), r, v: metric.get(r) });
    }
  }
  const fill = (cell) => (cell ? diverging(scale.of(cell.v)) : [0, 0, 0]);
  byId("heat-box").style.height = `${Math.min(40, Math.max(14, plane.keeps.length * 2.4 + 5))}rem`;
  show("heat", {
    type: "matrix",
    data: {
      datasets: [{
        label: metric.name, data: cells,
        backgroundColor: (c) => `rgb(${fill(c.dataset.data[c.dataIndex]).join(" ")})`,
        borderColor: (c) => (FOCUS_EDIT && c.dataset.data[c.dataIndex]?.r === FOCUS_EDIT ? colour("focus") : "transparent"),
        borderWidth: (c) => (FOCUS_EDIT && c.dataset.data[c.dataIndex]?.r === FOCUS_EDIT ? 3 : 0),
        width: ({ chart }) => Math.max(1, (chart.chartArea?.width ?? 100) / plane.triggers.length - 2),
        height: ({ chart }) => Math.max(1, (chart.chartArea?.height ?? 100) / plane.keeps.length - 2),
      }],
    },
    extra: { cells: { text: metric.text, fill } },
    options: {
      scales: {
        x: { type: "category", labels: plane.triggers.map(xText), offset: true, grid: { display: false }, title: { display: true, text: plane.uses ? "trigger (tool uses)" : "trigger (input tokens)", color: colour("ink") }, ticks: { maxRotation: 0 } },
        y: { type: "category", labels: plane.keeps.map(thousands).reverse(), offset: true, grid: { display: false }, title: { display: true, text: "keep (tool uses)", color: colour("ink") } },
      },
      onClick: (event, hits, chart) => { if (hits.length) select(chart.data.datasets[0].data[hits[0].index].r, true); },
      plugins: {
        legend: { display: false },
        tooltip: {
          displayColors: false,
          callbacks: {
            title: (items) => wrapped(items[0].raw.r.label, 40),
            label: ({ raw }) => [`${usd(raw.r.cost)} (${change(METRICS.cost.get(raw.r))})`, `${oneDecimal(raw.r.refetch_rate)} re-fetches per 100 requests`, ...(raw.r.missing ? [count(raw.r.missing, "need lost or unmet", "needs lost or unmet")] : []), ...(key in { cost: 1, refetches: 1, missing: 1 } ? [] : [`${metric.name}: ${metric.text(raw.v)}`])],
          },
        },
      },
    },
    plugins: [CELLS],
  }, cells.length ? "" : "No config stands here.");
  heatWords(plane, least, cells, metric, scale, xText);
}

/** Numbers in the cells where there is room, a cross where needs are lost. */
const CELLS = {
  id: "cells",
  afterDatasetsDraw(chart) {
    const { ctx } = chart;
    const { cells } = EXTRA.get(chart.canvas);
    if (!cells) return;
    ctx.save();
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.font = `11px ${Chart.defaults.font.family}`;
    chart.getDatasetMeta(0).data.forEach((box, i) => {
      const cell = chart.data.datasets[0].data[i];
      const { x, y, width, height } = box.getProps(["x", "y", "width", "height"]);
      const [cx, cy] = [x + width / 2, y + height / 2];
      const text = cells.text(cell.v);
      ctx.fillStyle = ctx.strokeStyle = inkOn(cells.fill(cell));
      const fits = ctx.measureText(text).width + 8 <= width && height >= 15;
      if (fits) ctx.fillText(text, cx, cy);
      if (cell.r.missing > 0 && width >= 8 && height >= 8) {
        const [mx, my] = fits ? [x + width - 7, y + 7] : [cx, cy];
        ctx.lineWidth = 1.3;
        ctx.beginPath();
        ctx.moveTo(mx - 3, my - 3); ctx.lineTo(mx + 3, my + 3);
        ctx.moveTo(mx - 3, my + 3); ctx.lineTo(mx + 3, my - 3);
        ctx.stroke();
      }
    });
    ctx.restore();
  },
};

function heatWords(plane, least, cells, metric, scale, xText) {
  const stops = [-1, -0.5, 0, 0.5, 1].map((t) => `rgb(${diverging(t).join(" ")})`);
  const bar = element("i");
  bar.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
  byId("heat-scale").replaceChildren(`${metric.text(scale.ends[0])}`, bar, `${metric.text(scale.ends[1])}`);
  const best = cells.filter((c) => c.r.missing === 0).reduce((a, c) => (a && a.v <= c.v ? a : c), null);
  const lossy = cells.filter((c) => c.r.missing > 0).length;
  const words = [`${metric.name} at clear_at_least ${short(least)}.`];
  words[0] = words[0][0].toUpperCase() + words[0].slice(1);
  if (best) words.push(`Least where nothing is lost: ${metric.text(best.v)}, at trigger ${best.x} and keep ${best.y}.`);
  if (lossy) words.push(`${thousands(lossy)} of ${count(cells.length, "config")} lose needs.`);
  const missing = plane.triggers.length * plane.keeps.length - cells.length;
  if (missing) words.push(`${count(missing, "combination")} of these values ${missing === 1 ? "is" : "are"} not in ${DATA.rows_in_all > ROWS.length ? "this page" : "the grid"}.`);
  if (FOCUS_EDIT && cells.some((c) => c.r === FOCUS_EDIT)) words.push(`The framed cell is the ${DATA.roles.recommended === FOCUS_EDIT.row ? "recommended config" : "best of the API's edits"}.`);
  byId("caption-heat").textContent = words.join(" ");
  const at = new Map(cells.map((c) => [`${c.x} ${c.y}`, c]));
  fillTable("heat-table", ["keep \\ trigger", ...plane.triggers.map(xText)], plane.keeps.map(thousands).map((keep) => [keep, ...plane.triggers.map((t) => {
    const cell = at.get(`${xText(t)} ${keep}`);
    return cell ? `${metric.text(cell.v)}${cell.r.missing ? " ×" : ""}` : "–";
  })]));
}

function startHeat() {
  planes();
  options(byId("heat-metric"), HEAT_METRICS, "cost");
  // The plane of what the answer is about, else the largest.
  const about = FOCUS_EDIT;
  const start = Math.max(0, PLANES.findIndex((plane) => plane.rows.includes(about)));
  options(byId("heat-rest"), PLANES.map((plane, i) => [i, plane.name]), start);
  byId("heat-rest-label").hidden = PLANES.length < 2;
  if (PLANES.length && about) {
    byId("heat-slider").max = String(PLANES[start].least.length - 1);
    byId("heat-slider").value = String(Math.max(0, PLANES[start].least.indexOf(about.clear_at_least)));
  }
  byId("heat-slider").addEventListener("input", drawHeat);
  byId("heat-metric").addEventListener("change", drawHeat);
  byId("heat-rest").addEventListener("change", drawHeat);
  REDRAW.push(drawHeat);
}
