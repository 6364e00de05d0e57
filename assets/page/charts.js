// What the charts share: colours of the theme, axes, marks of the plugin for lines across.

const CHARTS = new Map();
const REDRAW = [];
/** What our own plugins draw, by canvas. Not in the options of the charts: functions in these are called by the library. */
const EXTRA = new Map();

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

function theme() {
  Chart.defaults.color = colour("muted");
  Chart.defaults.borderColor = colour("line");
  Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
  Chart.defaults.font.size = 12;
  Chart.defaults.animation = false;
  Chart.defaults.responsive = true;
  Chart.defaults.maintainAspectRatio = false;
  Object.assign(Chart.defaults.plugins.tooltip, {
    backgroundColor: colour("ink"), titleColor: colour("card"), bodyColor: colour("card"), padding: 10, boxPadding: 4, usePointStyle: true,
  });
  Object.assign(Chart.defaults.plugins.legend.labels, { usePointStyle: true, boxHeight: 7, color: colour("ink") });
}

/** Draws a chart anew, or for the first time, with the plugins of that time; an empty one says so in words. */
function show(id, config, empty = "") {
  const canvas = byId(`chart-${id}`);
  canvas.parentElement.querySelector(".empty")?.remove();
  canvas.hidden = Boolean(empty);
  if (empty) canvas.parentElement.append(element("p", { class: "empty" }, empty));
  EXTRA.set(canvas, config.extra ?? {});
  config.plugins = [...(config.plugins ?? []), LINES_ACROSS];
  const old = CHARTS.get(id);
  if (old) {
    old.data = config.data;
    old.options = config.options;
    old.update("none");
    return old;
  }
  const chart = new Chart(canvas, config);
  CHARTS.set(id, chart);
  return chart;
}

/** Draws everything again, in the colours of the theme. */
function redraw() {
  theme();
  for (const draw of REDRAW) draw();
}

/** Straight lines across a chart with a word at their end: `extra.across = [{axis, at, text, colour}]`. */
const LINES_ACROSS = {
  id: "across",
  afterDatasetsDraw(chart) {
    const { ctx, chartArea: area, scales } = chart;
    const taken = [];
    ctx.save();
    ctx.font = `12px ${Chart.defaults.font.family}`;
    for (const line of EXTRA.get(chart.canvas).across ?? []) {
      const scale = scales[line.axis];
      if (!scale || line.at < scale.min || line.at > scale.max) continue;
      const p = scale.getPixelForValue(line.at);
      ctx.strokeStyle = ctx.fillStyle = line.colour;
      ctx.setLineDash([5, 4]);
      ctx.beginPath();
      if (line.axis === "y") { ctx.moveTo(area.left, p); ctx.lineTo(area.right, p); } else { ctx.moveTo(p, area.top); ctx.lineTo(p, area.bottom); }
      ctx.stroke();
      ctx.setLineDash([]);
      const width = ctx.measureText(line.text).width;
      let x, y;
      if (line.axis === "y") {
        x = area.right - width - 4;
        y = p - 5 < area.top + 10 ? p + 14 : p - 5;
        while (taken.some((t) => Math.abs(t - y) < 13)) y += 13;
        taken.push(y);
      } else {
        x = p + 5 + width > area.right ? p - 5 - width : p + 5;
        y = area.bottom - 8;
        while (taken.some((t) => Math.abs(t - y) < 13)) y -= 14;
        taken.push(y);
      }
      ctx.lineWidth = 4;
      ctx.strokeStyle = colour("card");
      ctx.strokeText(line.text, x, y);
      ctx.lineWidth = 1;
      ctx.fillText(line.text, x, y);
    }
    ctx.restore();
  },
};

/** A scale that gives small values more room: linear near nothing, logarithmic far from it. */
function stretched(values, on) {
  const sizes = values.filter((v) => v !== 0).map(Math.abs).sort((a, b) => a - b);
  const unit = sizes.length ? sizes[Math.floor(sizes.length / 4)] : 1;
  return on && sizes.length ? { of: (v) => Math.asinh(v / unit), unit } : { of: (v) => v, unit: 0 };
}

/** Whether most of the values would stick to one end. */
function isSkewed(values) {
  const sorted = [...values].sort((a, b) => a - b);
  if (sorted.length < 3) return false;
  const [low, middle, high] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted[sorted.length - 1]];
  return high > low && (middle - low < (high - low) / 8);
}

/** Axis of a scatter: ticks at round values wherever the scale puts them. */
function axis(metric, values, scale, title) {
  let low = Math.min(...values), high = Math.max(...values);
  if (!values.length) [low, high] = [0, 1];
  if (low === high) [low, high] = low === 0 ? [0, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
  const [from, to] = [scale.of(low), scale.of(high)];
  const margin = (to - from) * 0.05;
  const options = {
    type: "linear", min: from - margin, max: to + margin,
    title: { display: true, text: title ?? metric.name, color: colour("ink") },
    grid: { color: colour("soft") }, border: { color: colour("grey") },
    ticks: { callback: (value) => metric.text(value), maxTicksLimit: 9, maxRotation: 0 },
  };
  if (scale.unit) {
    options.afterBuildTicks = (built) => {
      const room = built.isHorizontal() ? Math.max(3, built.chart.width / 75) : 9;
      built.ticks = roundValues(low, high, scale, (to - from) / room).map((v) => ({ value: scale.of(v), raw: v }));
    };
    options.ticks.autoSkip = false;
    options.ticks.callback = (value, i, ticks) => metric.text(ticks[i].raw);
  }
  return options;
}

/** Values 0, 1, 2 and 5 times powers of ten that stand at least `gap` apart. */
function roundValues(low, high, scale, gap) {
  const wanted = [0];
  for (const step of [1, 5, 2]) {
    for (let power = -4; power <= 12; power++) wanted.push(step * 10 ** power, -step * 10 ** power);
  }
  const taken = [];
  for (const v of wanted) {
    if (v >= low && v <= high && taken.every((t) => Math.abs(scale.of(t) - scale.of(v)) >= gap)) taken.push(v);
  }
  return taken.sort((a, b) => a - b);
}

function mixed(a, b, t) {
  const parse = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const [from, to] = [parse(a), parse(b)];
  return from.map((v, i) => Math.round(v + (to[i] - v) * t));
}

/** Colour of -1 (best) over 0 to 1 (worst), as red, green, blue. */
function diverging(t) {
  const stops = [colour("heat-low"), colour("heat-lowish"), colour("heat-mid"), colour("heat-highish"), colour("heat-high")];
  const at = Math.min(3.9999, Math.max(0, (t + 1) * 2));
  return mixed(stops[Math.floor(at)], stops[Math.floor(at) + 1], at - Math.floor(at));
}

/** Black or white, whichever reads on this colour. */
function inkOn([r, g, b]) {
  return r * 0.299 + g * 0.587 + b * 0.114 > 140 ? "#000000" : "#ffffff";
}

/** Fills the table that stands for a chart: names of the columns, then rows whose first cell is their name. */
function fillTable(id, names, rows) {
  const head = element("tr", {}, ...names.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map(([first, ...rest]) => element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((text) => element("td", {}, text))));
  byId(id).replaceChildren(element("thead", {}, head), element("tbody", {}, ...body));
}
