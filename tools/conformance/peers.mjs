// What the JavaScript packages clear, request by request, of the conversations in the first argument's folder.
import { readFileSync, writeFileSync } from "node:fs";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { pruneMessages } from "ai";
import { ClearToolUsesEdit } from "langchain";

const folder = process.argv[2];
const read = (name) => readFileSync(`${folder}/${name}`, "utf8").trim().split("\n").map((line) => JSON.parse(line));
const conversations = read("conversations.jsonl");
console.warn = () => {};

function* requests({ steps }) {
  let history = [], pending = [], number = 0;
  for (const [user, text, uses] of steps) {
    const parts = pending.map(([use, tool, tokens]) => ["result", use, tool, tokens]);
    if (user) parts.push(["user", null, null, user]);
    if (parts.length) history = [...history, ["user", parts]];
    yield history;
    const answer = text ? [["text", null, null, text]] : [];
    pending = [];
    for (const [tool, size, result] of uses) {
      answer.push(["use", number, tool, size]);
      pending.push([number, tool, result]);
      number += 1;
    }
    if (answer.length) history = [...history, ["assistant", answer]];
  }
}

async function langchainJs(convo, knobs) {
  const edit = new ClearToolUsesEdit({
    trigger: { tokens: Math.max(knobs.trigger, 1) },
    keep: { messages: knobs.keep },
    clearAtLeast: knobs.clear_at_least,
    excludeTools: knobs.exclude_tools,
  });
  // One character is a token, a placeholder three.
  const countTokens = (messages) =>
    messages.reduce((sum, m) => {
      const inputs = (m.tool_calls ?? []).reduce((n, call) => n + (call.args.q ?? "").length, 0);
      return sum + inputs + (m.content === edit.placeholder ? 3 : m.content.length);
    }, 0);
  const sets = [];
  for (const history of requests(convo)) {
    const messages = [];
    for (const [role, parts] of history) {
      if (role === "assistant") {
        const tool_calls = parts.filter(([kind]) => kind === "use")
          .map(([, use, name, n]) => ({ name, args: { q: "q".repeat(n) }, id: String(use) }));
        messages.push(new AIMessage({ content: parts.filter(([k]) => k === "text").map(([, , , n]) => "t".repeat(n)).join(""), tool_calls }));
        continue;
      }
      for (const [kind, use, name, n] of parts) {
        messages.push(kind === "result"
          ? new ToolMessage({ content: "r".repeat(n), tool_call_id: String(use), name })
          : new HumanMessage("u".repeat(n)));
      }
    }
    await edit.apply({ messages, model: undefined, countTokens });
    sets.push(messages.filter((m) => ToolMessage.isInstance(m) && m.content === edit.placeholder).map((m) => Number(m.tool_call_id)));
  }
  return sets;
}

async function vercel(convo, { messages: last }) {
  const sets = [];
  for (const history of requests(convo)) {
    const all = new Set();
    const messages = history.map(([role, parts]) => {
      if (role === "assistant") {
        return { role, content: parts.map(([kind, use, toolName, n]) => kind === "use"
          ? { type: "tool-call", toolCallId: String(use), toolName, input: {} }
          : { type: "text", text: "t".repeat(n) }) };
      }
      // Here results never come together with a user's words.
      if (parts[0][0] === "user") return { role: "user", content: [{ type: "text", text: "u".repeat(parts[0][3]) }] };
      return { role: "tool", content: parts.map(([, use, toolName, n]) => {
        all.add(use);
        return { type: "tool-result", toolCallId: String(use), toolName, output: { type: "text", value: "r".repeat(n) } };
      }) };
    });
    const left = pruneMessages({ messages, toolCalls: `before-last-${last}-messages` });
    for (const m of left) if (m.role === "tool") for (const part of m.content) all.delete(Number(part.toolCallId));
    sets.push([...all]);
  }
  return sets;
}

const changes = (sets) => {
  let before = new Set();
  return sets.map((set) => {
    const now = new Set(set);
    const changed = [...before].filter((u) => !now.has(u)).concat([...now].filter((u) => !before.has(u)));
    before = now;
    return changed.sort((a, b) => a - b);
  });
};

const rows = read("langchain_py.jsonl");
const byId = new Map(conversations.map((c) => [c.id, c]));
for (const [name, run, knobsOf] of [
  ["langchain_js", langchainJs, (row) => row.knobs],
  ["vercel_prune", vercel, (row) => ({ messages: 1 + row.knobs.keep })],
]) {
  const out = [];
  for (const row of rows) {
    const knobs = knobsOf(row);
    out.push({ conversation: row.conversation, knobs, changed: changes(await run(byId.get(row.conversation), knobs)) });
  }
  writeFileSync(`${folder}/${name}.jsonl`, out.map((row) => JSON.stringify(row) + "\n").join(""));
  console.log(`${name}: ${out.reduce((n, row) => n + row.changed.length, 0)} requests`);
}
