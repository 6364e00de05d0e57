"""What the Python packages clear, request by request, of the conversations in the first argument's folder."""

import asyncio
import os
import sys
from copy import deepcopy
from types import SimpleNamespace

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from converse import changes, config, conversation, requests, write  # noqa: E402

COUNT, CONFIGS = 70, 2


def langchain_py(convo, knobs):
    from langchain.agents.middleware.context_editing import ClearToolUsesEdit
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    edit = ClearToolUsesEdit(**knobs)

    # One character is a token, a placeholder three.
    def count(messages):
        inputs = sum(len(c["args"].get("q", "")) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls)
        return inputs + sum(3 if m.content == edit.placeholder else len(m.content) for m in messages)

    for history in requests(convo):
        messages = []
        for role, parts in history:
            if role == "assistant":
                calls = [{"name": t, "args": {"q": "q" * n}, "id": str(u)} for k, u, t, n in parts if k == "use"]
                words = "".join("t" * n for k, _, _, n in parts if k == "text")
                messages.append(AIMessage(content=words, tool_calls=calls))
                continue
            for kind, use, tool, tokens in parts:
                if kind == "result":
                    messages.append(ToolMessage(content="r" * tokens, tool_call_id=str(use), name=tool))
                else:
                    messages.append(HumanMessage(content="u" * tokens))
        edit.apply(messages, count_tokens=count)
        yield {int(m.tool_call_id) for m in messages if isinstance(m, ToolMessage) and m.content == edit.placeholder}


def litellm(convo, knobs):
    from litellm.llms.anthropic.messages.context_management.editors import clear_tool_uses as module

    placeholder = module.build_cleared_tool_result_content("r")

    def size(block):
        if block["type"] == "tool_use":
            return len(block["input"].get("q", ""))
        text = block.get("text", block.get("content"))
        return 7 if text == placeholder else len(text)

    module._count_tokens = lambda model, messages, tools: sum(size(b) for m in messages for b in m["content"])
    module.count_system_tokens = lambda model, system: convo["base"]
    spec = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": knobs["trigger"]},
        "keep": {"type": "tool_uses", "value": knobs["keep"]},
        "clear_at_least": {"type": "input_tokens", "value": knobs["clear_at_least"]},
        "exclude_tools": knobs["exclude_tools"],
    }
    for history in requests(convo):
        messages = []
        for role, parts in history:
            content = []
            for kind, use, tool, tokens in parts:
                if kind == "use":
                    content.append({"type": "tool_use", "id": str(use), "name": tool, "input": {"q": "q" * tokens}})
                elif kind == "result":
                    content.append({"type": "tool_result", "tool_use_id": str(use), "content": "r" * tokens})
                else:
                    content.append({"type": "text", "text": "t" * tokens})
            messages.append({"role": role, "content": content})
        edited, _ = module.apply_clear_tool_uses_20250919(
            model="claude-sonnet-4-6", messages=messages, tools=None, system=None, edit_spec=spec
        )
        blocks = [b for m in edited for b in m["content"] if b["type"] == "tool_result"]
        yield {int(b["tool_use_id"]) for b in blocks if b["content"] == placeholder}


def pydantic_ai(convo, knobs):
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
    from pydantic_ai_harness.compaction import ClearToolResults, _clear_tool_results, _shared

    edit = ClearToolResults(
        max_tokens=max(knobs["trigger"], 1),
        keep_pairs=knobs["keep"],
        min_clear_tokens=knobs["clear_at_least"] or None,
        exclude_tools=frozenset(knobs["exclude_tools"]),
    )

    def size(part):
        if isinstance(part, ToolCallPart):
            return len(part.args["q"])
        return 6 if part.content == edit.placeholder else len(part.content)

    def count(messages, *_, **__):
        return sum(size(p) for m in messages for p in m.parts)

    _clear_tool_results.estimate_token_count = count
    # The system prompt is what the provider's usage would count.
    _shared.estimate_context_tokens = lambda messages, *_, **__: count(messages) + convo["base"]
    memory, seen = [], 0
    for history in requests(convo):
        for role, parts in history[seen:]:
            made = []
            for kind, use, tool, tokens in parts:
                if kind == "use":
                    made.append(ToolCallPart(tool_name=tool, args={"q": "q" * tokens}, tool_call_id=str(use)))
                elif kind == "result":
                    made.append(ToolReturnPart(tool_name=tool, content="r" * tokens, tool_call_id=str(use)))
                else:
                    made.append((TextPart if role == "assistant" else UserPromptPart)(content="t" * tokens))
            memory.append(ModelResponse(parts=made) if role == "assistant" else ModelRequest(parts=made))
        seen = len(history)
        if _shared.exceeds(memory, None, edit.max_tokens, None):
            memory = asyncio.run(edit.compact(memory, SimpleNamespace()))
        returns = [p for m in memory for p in m.parts if isinstance(p, ToolReturnPart)]
        yield {int(p.tool_call_id) for p in returns if p.content == edit.placeholder}


def main(folder):
    convos = [conversation(i) for i in range(COUNT)]
    write(f"{folder}/conversations.jsonl", convos)
    for peer in (langchain_py, litellm, pydantic_ai):
        rows = []
        for convo in convos:
            for seed in range(CONFIGS):
                knobs = config(convo, seed)
                sets = list(peer(convo, deepcopy(knobs)))
                rows.append({"conversation": convo["id"], "knobs": knobs, "changed": changes(sets)})
        write(f"{folder}/{peer.__name__}.jsonl", rows)
        print(f"{peer.__name__}: {sum(len(r['changed']) for r in rows)} requests")


main(sys.argv[1])
