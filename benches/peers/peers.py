"""Evaluated requests a second of the peers' context editing: what each does before one call of the model.

A transcript is a conversation in words; each of its requests sends all messages before an answer. Requests are evaluated at 30 places
spread evenly over each transcript, and at its end, where all 300 tool uses are in the prompt; time is the best of three rounds.
"""

import json
import os
import sys
import time
from importlib.metadata import version

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

from langchain.agents.middleware.context_editing import ClearToolUsesEdit  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.messages.utils import count_tokens_approximately  # noqa: E402
from litellm.llms.anthropic.messages.context_management.editors import (  # noqa: E402
    apply_clear_tool_uses_20250919,
)

PLACES = 30
# Trigger, keep, clear_at_least: batches, and clearing that slides with every use.
CONFIGS = {"batched": (40_000, 20, 20_000), "sliding": (30_000, 6, 0)}


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content)


def to_langchain(messages):
    """The same messages as LangChain's classes."""
    out = []
    for message in messages:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        words = "".join(block.get("text", "") for block in blocks if block["type"] == "text")
        if message["role"] == "assistant":
            calls = [{"name": b["name"], "args": b["input"], "id": b["id"]} for b in blocks if b["type"] == "tool_use"]
            out.append(AIMessage(content=words, tool_calls=calls))
            continue
        for block in blocks:
            if block["type"] == "tool_result":
                out.append(ToolMessage(content=text_of(block["content"]), tool_call_id=block["tool_use_id"]))
        if words:
            out.append(HumanMessage(content=words))
    return out


def langchain(prompt, config):
    trigger, keep, clear_at_least = config
    edit = ClearToolUsesEdit(trigger=trigger, keep=keep, clear_at_least=clear_at_least)
    # The middleware copies the messages deeply before; that is left out, in its favour.
    edit.apply(list(prompt), count_tokens=count_tokens_approximately)


def litellm(prompt, config):
    trigger, keep, clear_at_least = config
    spec = {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": trigger},
        "keep": {"type": "tool_uses", "value": keep},
    }
    if clear_at_least:
        spec["clear_at_least"] = {"type": "input_tokens", "value": clear_at_least}
    apply_clear_tool_uses_20250919(
        model="claude-sonnet-4-6", messages=prompt, tools=None, system=None, edit_spec=spec
    )


def seconds(evaluate, prompts, config):
    best = float("inf")
    for _ in range(3):
        start = time.perf_counter()
        for prompt in prompts:
            evaluate(prompt, config)
        best = min(best, time.perf_counter() - start)
    return best / len(prompts)


def main(path):
    with open(path, encoding="utf-8") as lines:
        conversations = [json.loads(line) for line in lines]
    conversations = [body.get("request", body).get("messages") for body in conversations]
    spread, ends = [], []
    for messages in conversations:
        # A request is what stands before an answer of the model.
        requests = [i for i, message in enumerate(messages) if message["role"] == "assistant"]
        step = max(1, len(requests) // PLACES)
        spread += [messages[:end] for end in requests[::step] if end]
        ends.append(messages)
    uses = [sum(b["type"] == "tool_use" for m in c if not isinstance(m["content"], str) for b in m["content"]) for c in ends]
    print(f"{len(conversations)} conversations of {uses} tool uses, {len(spread)} requests evaluated; Python {sys.version.split()[0]}")
    for name, evaluate, convert in [("langchain", langchain, to_langchain), ("litellm", litellm, lambda prompt: prompt)]:
        converted, last = [convert(p) for p in spread], [convert(p) for p in ends]
        for kind, config in CONFIGS.items():
            over = 1 / seconds(evaluate, converted, config)
            at_end = 1 / seconds(evaluate, last, config)
            print(f"{name} {version(name)}, {kind}: {over:.1f} requests/s over the transcript, {at_end:.1f} at its end")


main(sys.argv[1])
