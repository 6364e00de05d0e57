// What a person does with report.html, in headless Chromium. Every check says what it saw when it fails.
//
//   node check.mjs BROWSER FOLDER      FOLDER holds the result folders that run.sh makes
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const [browserPath, folder] = process.argv.slice(2);
const CHARTS = ["tradeoff", "heat", "context", "keep"];
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox"] });
let opened = [];
let passed = 0;
let failed = 0;

/** A page of a result folder, with all that it complains of. */
async function open(name, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, colorScheme: "light", reducedMotion: "reduce", ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const page = await context.newPage();
  opened.push(page);
  page.complaints = [];
  page.asked = [];
  page.on("console", (m) => { if (/error|warning/.test(m.type()) && !m.text().includes("willReadFrequently")) page.complaints.push(m.text()); });
  page.on("pageerror", (e) => page.complaints.push(e.message));
  page.on("request", (r) => { if (!r.url().startsWith("file:") && !r.url().startsWith("data:")) page.asked.push(r.url()); });
  await page.goto(pathToFileURL(join(folder, name, "report.html")).href);
  await page.waitForFunction(() => window.cleartune?.charts.size > 0, null, { timeout: 10_000 })
    .catch((error) => { throw new Error(`the page does not start: ${page.complaints.join("; ") || error.message}`); });
  return page;
}

async function check(name, run) {
  opened = [];
  try {
    await run();
    // Whatever was done: nothing may go wrong on the way.
    assert.deepEqual(opened.flatMap((page) => page.complaints), []);
    passed += 1;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    for (const page of opened) await page.context().close();
    console.log(`FAILED ${name}\n      ${String(error.message).split("\n").slice(0, 12).join("\n      ")}`);
  }
}

/** Points of a chart's data, and pixels of its canvas that are not the background. */
const marks = (page, id) => page.evaluate((chartId) => {
  const chart = window.cleartune.charts.get(chartId);
  const points = chart.data.datasets.filter((set) => set.label !== "selected").reduce((sum, set) => sum + set.data.length, 0);
  const canvas = chart.canvas;
  if (canvas.hidden) return { points, inked: 0, hidden: true };
  const { left, top, right, bottom } = chart.chartArea;
  const scale = canvas.width / canvas.clientWidth;
  const pixels = canvas.getContext("2d").getImageData(left * scale, top * scale, (right - left) * scale, (bottom - top) * scale).data;
  let inked = 0;
  for (let i = 3; i < pixels.length; i += 4) if (pixels[i] > 60) inked += 1;
  return { points, inked, hidden: false };
}, id);
/** A fingerprint of what a chart shows. */
const picture = async (page, id) => createHash("sha256").update(await page.evaluate((chartId) => window.cleartune.charts.get(chartId).canvas.toDataURL(), id)).digest("hex");
const sideways = (page) => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
const tableTotal = async (page) => Number((await page.locator("#page-at").textContent()).split(" of ")[1]?.replaceAll(",", "") ?? 0);

for (const name of readdirSync(folder).filter((n) => statSync(join(folder, n)).isDirectory())) {
  await check(`${name}: no error, nothing loaded, under 2 MB`, async () => {
    const page = await open(name);
    assert.deepEqual(page.complaints, []);
    assert.deepEqual(page.asked, []);
    const size = statSync(join(folder, name, "report.html")).size;
    assert.ok(size < 2_000_000, `${size} bytes`);
    await page.context().close();
  });
  await check(`${name}: every chart has marks, and words`, async () => {
    const page = await open(name);
    for (const id of CHARTS) {
      const { points, inked, hidden } = await marks(page, id);
      const nothing = await page.locator(`#chart-${id}`).locator("xpath=..").locator(".empty").count();
      // A log without needs has no keep curve: then the place says so.
      if (name === "one" && hidden) { assert.equal(nothing, 1, id); continue; }
      assert.ok(points > 0 && inked > 100, `${id}: ${points} points, ${inked} pixels`);
      assert.equal(nothing, 0, id);
      const caption = await page.locator(`#caption-${id}`).textContent();
      assert.ok(caption.length > 20, `${id}: ${caption}`);
    }
    await page.context().close();
  });
  await check(`${name}: 400 px wide without sideways scroll`, async () => {
    const page = await open(name, { viewport: { width: 400, height: 800 } });
    for (const details of await page.locator("details:not([hidden]) > summary").all()) await details.click();
    assert.equal(await sideways(page), 0);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });
}

await check("numbers read as the terminal writes them", async () => {
  const page = await open("clear");
  const said = await page.evaluate(() => {
    const { short, usd, percent, change, thousands } = window.cleartune.format;
    return [[0, 7, 999.4, 999.6, 1234, 40000, 335279, 999499, 1250000, -168153, 2.5e9].map(short), [0, 12.345, 0.1234, 0.01234, -3, 250000].map(usd), [0.314, 0.0314, -0.0001].map(percent), [0.5, -0.02, 0].map(change), thousands(1234567)];
  });
  assert.deepEqual(said, [["0", "7", "999", "1k", "1.23k", "40k", "335k", "999k", "1.25M", "-168k", "2.5B"], ["$0.00", "$12.35", "$0.123", "$0.0123", "-$3.00", "$250k"], ["31 %", "3.1 %", "0 %"], ["+50 %", "-2.0 %", "0 %"], "1,234,567"]);
  await page.context().close();
});

for (const [name, id] of [["clear", "paste-0-text"], ["cold", "best-edit-0-text"]]) {
  await check(`${name}: the copy button copies what is shown`, async () => {
    const page = await open(name);
    await page.evaluate(() => navigator.clipboard.writeText("before"));
    const button = page.locator(`[data-copy="${id}"]`);
    await button.click();
    await page.waitForFunction((b) => document.querySelector(`[data-copy="${b}"]`).textContent === "Copied", id);
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const config = JSON.parse(copied);
    assert.equal(config.context_management.edits[0].type, "clear_tool_uses_20250919");
    assert.equal(copied, await page.locator(`#${id}`).textContent());
    assert.equal(await page.locator("#said").textContent(), "Config copied");
    await page.context().close();
  });
}

await check("the copy button works where the clipboard is out of reach", async () => {
  const page = await open("clear");
  await page.evaluate(() => { navigator.clipboard.writeText = () => Promise.reject(new Error("no")); });
  await page.locator('[data-copy="paste-0-text"]').click();
  await page.waitForFunction(() => /Copied|Ctrl/.test(document.querySelector('[data-copy="paste-0-text"]').textContent));
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.includes("clear_tool_uses_20250919"), copied);
  await page.context().close();
});

await check("filters apply to the scatter and the table", async () => {
  const page = await open("cold");
  const all = { points: (await marks(page, "tradeoff")).points, rows: await tableTotal(page) };
  assert.equal(all.points, all.rows);
  const after = async () => [(await marks(page, "tradeoff")).points, await tableTotal(page)];
  const keep = await page.locator("#filter-keep option").nth(3).getAttribute("value");
  await page.locator("#filter-keep").selectOption(keep);
  const [points, rows] = await after();
  assert.ok(points === rows && rows > 0 && rows < all.rows, `${points} points, ${rows} rows of ${all.rows}`);
  for (const label of await page.locator("#configs tbody tr td:first-child").allTextContents()) assert.ok(label.includes(`keep ${keep}`), label);
  await page.locator("#filter-lossless").check();
  const [fewer] = await after();
  assert.ok(fewer < points, `${fewer} of ${points} lose nothing`);
  for (const lost of await page.locator("#configs tbody tr td:nth-child(4)").allTextContents()) assert.equal(lost, "0");
  await page.locator("#filter-reset").click();
  await page.waitForFunction((n) => document.querySelector("#page-at").textContent.endsWith(n), String(all.rows));
  await page.locator("#filter-text").fill("when_cold");
  const [found, listed] = await after();
  assert.ok(found === listed && found > 0 && found < 40, `${found} points, ${listed} rows`);
  await page.locator("#filter-text").fill("keep 1");
  for (const label of await page.locator("#configs tbody tr td:first-child").allTextContents()) assert.match(label, /keep 1(?!\d)/);
  await page.locator("#filter-text").fill("no such tool");
  assert.deepEqual(await after(), [0, 0]);
  assert.equal(await page.locator("#chart-tradeoff").isVisible(), false);
  await page.locator("#filter-reset").click();
  await page.waitForFunction((n) => document.querySelector("#page-at").textContent.endsWith(n), String(all.rows));
  assert.ok((await marks(page, "tradeoff")).inked > 100);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

await check("axes change, the table sorts and turns its pages", async () => {
  const page = await open("cold");
  const before = await picture(page, "tradeoff");
  await page.locator("#axis-x").selectOption("peak");
  assert.notEqual(await picture(page, "tradeoff"), before);
  assert.match(await page.locator("#caption-tradeoff").textContent(), /largest prompt/);
  await page.locator("#configs thead button").nth(2).click();
  const rates = async () => (await page.locator("#configs tbody tr td:nth-child(3)").allTextContents()).map(Number);
  const rising = await rates();
  assert.deepEqual(rising, [...rising].sort((a, b) => a - b));
  await page.locator("#configs thead button").nth(2).click();
  const falling = await rates();
  assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
  assert.ok(falling[0] > rising[0]);
  assert.equal(await page.locator("#configs thead th").nth(2).getAttribute("aria-sort"), "descending");
  const first = await page.locator("#configs tbody").textContent();
  await page.locator("#page-on").click();
  assert.notEqual(await page.locator("#configs tbody").textContent(), first);
  assert.ok(await page.locator("#configs tbody tr").count() <= 15);
  await page.locator("#page-back").click();
  assert.equal(await page.locator("#configs tbody").textContent(), first);
  await page.context().close();
});

await check("a point and a row select their config", async () => {
  const page = await open("clear");
  const at = await page.evaluate(() => {
    const chart = window.cleartune.charts.get("tradeoff");
    const { data } = window.cleartune;
    const set = chart.data.datasets.findIndex((s) => s.data.some((p) => p.r.row === data.roles.api_defaults));
    const i = chart.data.datasets[set].data.findIndex((p) => p.r.row === data.roles.api_defaults);
    const { x, y } = chart.getDatasetMeta(set).data[i];
    const box = chart.canvas.getBoundingClientRect();
    return { x: box.x + x, y: box.y + y + window.scrollY };
  });
  await page.evaluate((y) => window.scrollTo(0, y - 400), at.y);
  const scrolled = await page.evaluate(() => window.scrollY);
  await page.mouse.move(at.x, at.y - scrolled);
  await page.waitForFunction(() => window.cleartune.charts.get("tradeoff").tooltip.opacity === 1);
  await page.mouse.click(at.x, at.y - scrolled);
  assert.match(await page.locator("#selected h3").textContent(), /API's defaults/);
  assert.ok((await page.locator("#selected-text").textContent()).includes("100000"));
  await page.locator("#configs tbody tr").nth(3).click();
  const label = await page.locator("#configs tbody tr").nth(3).locator("td").first().textContent();
  assert.ok((await page.locator("#selected h3").textContent()).startsWith(label.split(" recommended")[0].slice(0, 20)));
  await page.evaluate(() => navigator.clipboard.writeText("before"));
  await page.locator('[data-copy="selected-text"]').click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).includes("context_management"));
  await page.context().close();
});

await check("what a row gives to paste is what the answer gives", async () => {
  const page = await open("clear");
  const text = await page.locator("#selected-text").textContent();
  assert.match(await page.locator("#selected h3").textContent(), /recommended/);
  assert.equal(text, await page.locator("#paste-0-text").textContent());
  await page.context().close();
});

await check("the slider, the number and the other knobs change the heat map", async () => {
  const page = await open("clear");
  const values = () => page.evaluate(() => window.cleartune.charts.get("heat").data.datasets[0].data.map((c) => c.v));
  await page.locator("#heat-slider").fill("0");
  const [first, drawn] = [await values(), await picture(page, "heat")];
  await page.locator("#heat-slider").fill(await page.locator("#heat-slider").getAttribute("max"));
  assert.notDeepEqual(await values(), first);
  assert.notEqual(await picture(page, "heat"), drawn);
  assert.notEqual(await page.locator("#heat-value").textContent(), "0 (none)");
  const last = await values();
  await page.locator("#heat-metric").selectOption("refetches");
  assert.notDeepEqual(await values(), last);
  await page.locator("#heat-map details > summary").click();
  assert.equal(await page.locator("#heat-table tbody td").count(), last.length);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

await check("the selects change the context size", async () => {
  const page = await open("clear");
  const lines = () => page.evaluate(() => JSON.stringify(window.cleartune.charts.get("context").data.datasets));
  let before = await lines();
  for (const [id, at] of [["context-session", 0], ["context-b", 2], ["context-a", 1]]) {
    const value = await page.locator(`#${id} option`).nth(at).getAttribute("value");
    await page.locator(`#${id}`).selectOption(value);
    const after = await lines();
    assert.notEqual(after, before, id);
    before = after;
  }
  assert.ok((await marks(page, "context")).inked > 100);
  const names = await page.locator("#caption-context").textContent();
  assert.match(names, /peak .*clear event/);
  await page.context().close();
});

await check("the keep curve shows other tools and the other share", async () => {
  const page = await open("cold");
  const count = () => page.evaluate(() => window.cleartune.charts.get("keep").data.datasets.length);
  const before = await count();
  await page.locator("#keep-tools button").first().click();
  assert.equal(await count(), before - 1);
  assert.equal(await page.locator("#keep-tools button").first().getAttribute("aria-pressed"), "false");
  const drawn = await picture(page, "keep");
  await page.locator("#keep-measure").selectOption("results_cut_off");
  assert.notEqual(await picture(page, "keep"), drawn);
  await page.context().close();
});

await check("the keyboard reaches and works every control", async () => {
  const page = await open("clear");
  const seen = new Set();
  for (let i = 0; i < 140; i++) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      const outline = getComputedStyle(e);
      const name = e.id || e.dataset.copy || e.getAttribute("href") || (e.dataset.row ? "row" : e.closest("thead") ? "sort" : e.closest("#keep-tools") ? "tool" : e.tagName);
      return { name, visible: outline.outlineStyle !== "none" && parseFloat(outline.outlineWidth) >= 2 };
    });
    if (at.name === "BODY") break;
    assert.ok(at.visible, `${at.name} has no visible focus`);
    seen.add(at.name);
  }
  for (const name of ["#answer", "paste-0-text", "filter-text", "filter-trigger", "filter-keep", "filter-clear_at_least", "filter-lossless", "filter-front", "filter-reset", "axis-x", "axis-y", "stretch", "row", "sort", "page-on", "selected-text", "heat-metric", "heat-slider", "context-session", "context-a", "context-b", "keep-measure", "tool", "SUMMARY"]) {
    assert.ok(seen.has(name), `${name} is out of reach; reached: ${[...seen].join(" ")}`);
  }
  await page.locator("#configs tbody tr").first().focus();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await page.locator("#configs tbody tr").nth(1).getAttribute("aria-selected"), "true");
  const slider = page.locator("#heat-slider");
  await slider.focus();
  await page.keyboard.press("Home");
  const before = await page.locator("#heat-value").textContent();
  await page.keyboard.press("ArrowRight");
  assert.notEqual(await page.locator("#heat-value").textContent(), before);
  await page.context().close();
});

await check("every control has a name, every chart a role and words", async () => {
  const page = await open("policies");
  const nameless = await page.evaluate(() => [...document.querySelectorAll("select, input, button")].filter((e) => !(e.labels?.[0]?.textContent ?? e.textContent).trim()).map((e) => e.id || e.outerHTML));
  assert.deepEqual(nameless, []);
  for (const canvas of await page.locator("canvas").all()) {
    assert.equal(await canvas.getAttribute("role"), "img");
    assert.ok(await canvas.getAttribute("aria-label"));
    assert.ok(await page.locator(`#${await canvas.getAttribute("aria-describedby")}`).count());
  }
  await page.context().close();
});

await check("dark differs from light, charts too, and reads", async () => {
  const [light, dark] = [await open("clear"), await open("clear", { colorScheme: "dark" })];
  const colours = (page) => page.evaluate(() => { const s = getComputedStyle(document.querySelector("section")); return [s.backgroundColor, s.color].map((c) => c.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0) / 3); });
  const [[lightPage, lightInk], [darkPage, darkInk]] = [await colours(light), await colours(dark)];
  assert.ok(lightPage - lightInk > 150 && darkInk - darkPage > 150, `${[lightPage, lightInk, darkPage, darkInk]}`);
  for (const id of CHARTS) assert.notEqual(await picture(light, id), await picture(dark, id), id);
  // A change of the theme while the page is open redraws.
  const before = await picture(light, "heat");
  await light.emulateMedia({ colorScheme: "dark" });
  await light.waitForTimeout(200);
  assert.notEqual(await picture(light, "heat"), before);
  await light.context().close();
  await dark.context().close();
});

await check("policies stand in the table, hindsight does not", async () => {
  const page = await open("policies");
  const policies = await page.locator("#filter-policy option").allTextContents();
  assert.ok(policies.length > 10, policies.join(", "));
  assert.ok(!policies.includes("oracle") && !policies.includes("bound"));
  assert.equal(await tableTotal(page), await page.evaluate(() => window.cleartune.data.rows_in_all - window.cleartune.data.rows.policy.filter((p) => ["oracle", "bound"].includes(window.cleartune.data.rows.policies[p])).length));
  await page.locator("#filter-policy").selectOption(policies.find((p) => p !== "any" && p !== "none" && p !== "clear_tool_uses_20250919"));
  await page.locator("#configs tbody tr").first().click();
  assert.match(await page.locator("#selected").textContent(), /no such config/);
  await page.context().close();
});

await check("names from a log stay text", async () => {
  const page = await open("hostile");
  assert.equal(await page.locator("img").count(), 0);
  assert.ok((await page.title()).endsWith("cleartune"));
  assert.ok((await page.locator("#context-session option").first().textContent()).includes("</script><img"));
  assert.ok((await page.locator("#keep-tools").textContent()).includes("<b>read</b>"));
  await page.context().close();
});

await check("a large sweep shows every config or says how many", async () => {
  const page = await open("large");
  const [shown, all] = await page.evaluate(() => [window.cleartune.data.rows.row.length, window.cleartune.data.rows_in_all]);
  assert.ok(all > 2500, `${all} rows`);
  assert.equal(await page.locator("#rows-left-out").count(), shown === all ? 0 : 1);
  assert.ok(await page.locator("#configs tbody tr").count() <= 15);
  await page.context().close();
});

await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
