// Type-checks and runs the TypeScript snippets against the packages: what is sent is the object that `json` pastes.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";

const [folder] = process.argv.slice(2);
const BETA = "context-management-2025-06-27";
process.env.ANTHROPIC_API_KEY = "none";
let failed = false;
const check = (name, what, holds) => {
  console.log(`${holds ? "ok    " : "FAILED"} ${name}: ${what}`);
  failed ||= !holds;
};

const own = {
  typescript: `import type { BetaMessageParam, BetaTool } from "@anthropic-ai/sdk/resources/beta/messages";
const model = "claude-sonnet-4-6", max_tokens = 64;
const messages: BetaMessageParam[] = [{ role: "user", content: "hello" }];
const tools: BetaTool[] = [{ name: "read", input_schema: { type: "object" } }];
`,
  vercel: `import type { ModelMessage, ToolSet } from "ai";
const model = "claude-sonnet-4-6";
const messages: ModelMessage[] = [{ role: "user", content: "hello" }];
const tools: ToolSet = {};
`,
  vercel_prune: `import { anthropic } from "@ai-sdk/anthropic";
import type { ModelMessage, ToolSet } from "ai";
const model = anthropic("claude-sonnet-4-6");
const tools: ToolSet = {};
const messages: ModelMessage[] = [{ role: "user", content: "hello" }];
for (let i = 0; i < 40; i++) {
  messages.push({ role: "assistant", content: [{ type: "tool-call", toolCallId: String(i), toolName: "read", input: {} }] });
  messages.push({ role: "tool", content: [{ type: "tool-result", toolCallId: String(i), toolName: "read", output: { type: "text", value: "r" } }] });
}
`,
  langchain_js: `import { FakeListChatModel } from "@langchain/core/utils/testing";
const model = new FakeListChatModel({ responses: ["done"] });
const tools: [] = [];
`,
};

rmSync("checked", { recursive: true, force: true });
mkdirSync("checked");
const found = [];
for (const set of ["plain", "full"]) {
  for (const shape of Object.keys(own)) {
    const path = `${folder}/${set}.${shape}`;
    if (!existsSync(path)) continue;
    found.push([set, shape]);
    writeFileSync(`checked/${set}_${shape}.ts`, `${own[shape]}${readFileSync(path, "utf8")}\nexport {};\n`);
  }
}
try {
  execFileSync("node_modules/.bin/tsc", ["--pretty", "false"], { encoding: "utf8" });
  check("all", "tsc", true);
} catch (error) {
  check("all", `tsc ${error.stdout}`, false);
}

for (const [set, shape] of found) {
  const name = `${set}.${shape}`, requests = [];
  globalThis.fetch = async (url, init) => {
    const headers = new Headers(init.headers);
    requests.push({ url: String(url), beta: headers.get("anthropic-beta") ?? "", body: JSON.parse(init.body) });
    const body = { id: "msg_1", type: "message", role: "assistant", model: "m", stop_reason: "end_turn", stop_sequence: null,
      content: [{ type: "text", text: "done" }], usage: { input_tokens: 1, output_tokens: 1 } };
    return new Response(JSON.stringify(body), { status: 200, headers: { "content-type": "application/json" } });
  };
  await import(`./out/${set}_${shape}.js`);
  const text = readFileSync(`${folder}/${name}`, "utf8");
  if (shape === "typescript" || shape === "vercel") {
    const expected = JSON.parse(readFileSync(`${folder}/${set}.json`, "utf8")).context_management;
    const sorted = (v) => Array.isArray(v) ? v.map(sorted) : v && typeof v === "object"
      ? Object.fromEntries(Object.keys(v).sort().map((k) => [k, sorted(v[k])])) : v;
    check(name, "sends the object", requests.length === 1 && JSON.stringify(sorted(requests[0].body.context_management)) === JSON.stringify(sorted(expected)));
    check(name, "sends the header", requests[0].beta.includes(BETA));
  } else if (shape === "vercel_prune") {
    // 81 messages: of the last n a pair each is a call and a result.
    const n = Number(/before-last-(\d+)-messages/.exec(text)[1]);
    const left = requests[0].body.messages.flatMap((m) => m.content).filter((part) => part.type === "tool_result").length;
    check(name, `leaves ${left} results of 40 in the last ${n} messages`, left === Math.min(40, Math.ceil(n / 2)));
  } else {
    const { ClearToolUsesEdit } = await import("langchain");
    const edit = Function("ClearToolUsesEdit", `return ${/new ClearToolUsesEdit\([\s\S]*?\n {8}\}\)/.exec(text)[0]}`)(ClearToolUsesEdit);
    check(name, `builds trigger ${JSON.stringify(edit.trigger)}, keep ${JSON.stringify(edit.keep)}, without ${[...edit.excludeTools]}`, edit.trigger.tokens > 0);
  }
}
process.exit(failed ? 1 : 0);
