// The island of data, and the rows as objects.

const DATA = JSON.parse(document.getElementById("data").textContent);

const ROWS = DATA.rows.row.map((row, i) => {
  const c = DATA.rows;
  return {
    row,
    policy: c.policies[c.policy[i]],
    uses: c.trigger_type[i] === 1,
    trigger: c.trigger[i],
    keep: c.keep[i],
    clear_at_least: c.clear_at_least[i],
    exclude_tools: c.exclude_tools[i] === null ? null : c.exclusions[c.exclude_tools[i]],
    clear_tool_inputs: c.clear_tool_inputs[i] === null ? null : c.inputs[c.clear_tool_inputs[i]],
    params: c.params_of[c.params[i]],
    requests: c.requests[i],
    refetches: c.refetches[i],
    costly: c.costly_refetches[i],
    refetch_rate: c.refetches_per_100_requests[i],
    missing: c.missing_needs[i],
    clears: c.clear_events[i],
    invalidations: c.cache_invalidations[i],
    freed: c.freed_tokens[i],
    invalidated: c.invalidated_tokens[i],
    prompt: c.prompt_tokens[i],
    peak: c.peak_prompt_tokens[i],
    cost: c.cost_usd[i],
    overflowed: c.overflowed_transcripts[i],
    value: c.value ? c.value[i] : null,
  };
});
const BY_ROW = new Map(ROWS.map((r) => [r.row, r]));
const NONE = BY_ROW.get(DATA.roles.none) ?? ROWS.find((r) => r.policy === "none") ?? null;
const FRONT = new Set(DATA.front);
const PLATEAU = new Set(DATA.plateau);
/** Rows that are configs: what hindsight reaches is none. */
const HINDSIGHT = new Set(["oracle", "bound"]);
const CONFIGS = ROWS.filter((r) => !HINDSIGHT.has(r.policy));
const EDIT = "clear_tool_uses_20250919";

const ROLES = [
  ["recommended", "recommended"],
  ["best", DATA.verdict === "too_few_sessions" ? "best of few sessions" : "best, turned down"],
  ["current", "what you run"],
  ["api_defaults", "API's defaults"],
  ["best_edit", "best API edit"],
  ["runner_up", "runner-up"],
  ["none", "no clearing"],
];

/** What a row is, in words; empty for most. */
function roleOf(row) {
  const found = ROLES.find(([key]) => DATA.roles[key] === row.row);
  return found ? found[1] : "";
}

/** The row that the page is about: what is recommended, else what was turned down, else what clears best. */
const FOCUS = BY_ROW.get(DATA.roles.recommended) ?? BY_ROW.get(DATA.roles.best) ?? null;

/** Of the API's edits the one that the page is about. */
const FOCUS_EDIT = FOCUS?.policy === EDIT ? FOCUS : BY_ROW.get(DATA.roles.best_edit) ?? null;

/** The knobs in short, as the terminal names them. */
function label(r) {
  if (r.policy === "none") return "no clearing";
  const parts = [];
  if (r.policy !== EDIT) parts.push(r.policy);
  if (r.trigger !== null) parts.push(`trigger ${r.uses ? count(r.trigger, "use") : short(r.trigger)}`);
  if (r.keep !== null) parts.push(`keep ${r.keep}`);
  if (r.clear_at_least !== null && (r.policy === EDIT || r.clear_at_least > 0)) parts.push(`clear_at_least ${short(r.clear_at_least)}`);
  if (r.exclude_tools?.length) parts.push(`without ${r.exclude_tools.join(", ")}`);
  if (r.clear_tool_inputs === true) parts.push("inputs cleared");
  else if (Array.isArray(r.clear_tool_inputs)) parts.push(`inputs of ${r.clear_tool_inputs.join(", ")} cleared`);
  if (r.params) parts.push(r.params.replaceAll(";", ", "));
  return parts.join(", ");
}
for (const r of ROWS) {
  r.label = label(r);
  r.search = `${r.label} ${r.policy} ${roleOf(r)} trigger ${r.trigger} clear_at_least ${r.clear_at_least}`.toLowerCase();
}

/** `context_management` of a row, to paste, as the answer writes it; null where the API has no such config. */
function paste(r) {
  if (r.policy !== EDIT) return null;
  const list = (names) => `[${names.map((name) => JSON.stringify(name)).join(", ")}]`;
  const lines = [
    `"type": "${EDIT}"`,
    `"trigger": {"type": "${r.uses ? "tool_uses" : "input_tokens"}", "value": ${r.trigger}}`,
    `"keep": {"type": "tool_uses", "value": ${r.keep}}`,
  ];
  if (r.clear_at_least > 0) lines.push(`"clear_at_least": {"type": "input_tokens", "value": ${r.clear_at_least}}`);
  if (r.exclude_tools?.length) lines.push(`"exclude_tools": ${list(r.exclude_tools)}`);
  if (r.clear_tool_inputs === true) lines.push('"clear_tool_inputs": true');
  else if (Array.isArray(r.clear_tool_inputs)) lines.push(`"clear_tool_inputs": ${list(r.clear_tool_inputs)}`);
  return `{\n  "context_management": {\n    "edits": [\n      {\n        ${lines.join(",\n        ")}\n      }\n    ]\n  }\n}`;
}

/** What can be an axis, a colour or a column. */
const METRICS = {
  cost: { name: "cost against no clearing", get: (r) => (NONE && NONE.cost > 0 ? r.cost / NONE.cost - 1 : 0), text: change },
  refetches: { name: "re-fetches per 100 requests", get: (r) => r.refetch_rate, text: oneDecimal },
  peak: { name: "largest prompt (tokens)", get: (r) => r.peak, text: short },
  prompt: { name: "prompt tokens in all", get: (r) => r.prompt, text: short },
  missing: { name: "lost or unmet needs", get: (r) => r.missing, text: thousands },
  invalidations: { name: "cache invalidations", get: (r) => r.invalidations, text: thousands },
  clears: { name: "clear events", get: (r) => r.clears, text: thousands },
  freed: { name: "freed tokens", get: (r) => r.freed, text: short },
};
if (DATA.rows.value) {
  const names = { prompt_tokens: "prompt tokens (minimised)", peak: "largest prompts, summed (minimised)", latency: "waiting time in seconds (minimised)" };
  METRICS.value = { name: names[DATA.objective] ?? "what is minimised", get: (r) => r.value, text: short };
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** Fills a select; `options` are pairs of value and text. */
function options(select, pairs, chosen) {
  select.replaceChildren(...pairs.map(([value, text]) => {
    const option = element("option", { value }, text);
    option.selected = String(value) === String(chosen);
    return option;
  }));
}
const byId = (id) => document.getElementById(id);
