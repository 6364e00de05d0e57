"""Runs the Python snippets against the packages: what is sent is the object that `json` pastes, and what is cleared is what was recorded."""

import ast
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ["ANTHROPIC_API_KEY"] = os.environ["OPENROUTER_API_KEY"] = "none"
BETA = "context-management-2025-06-27"
ANSWER = {
    "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "stop_reason": "end_turn", "stop_sequence": None,
    "content": [{"type": "text", "text": "done"}], "usage": {"input_tokens": 1, "output_tokens": 1},
}
OWN = {
    "anthropic": "from anthropic.types.beta import BetaMessageParam, BetaToolParam\n\n"
    'model = "claude-sonnet-4-6"\nmax_tokens = 64\nmessages: list[BetaMessageParam] = [{"role": "user", "content": "hello"}]\n'
    'tools: list[BetaToolParam] = [{"name": "read", "input_schema": {"type": "object"}}]\n\n',
    "litellm": "from typing import Any\n\n"
    'model = "claude-sonnet-4-6"\nmax_tokens = 64\nmessages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]\n'
    'tools: list[dict[str, Any]] = [{"name": "read", "input_schema": {"type": "object"}}]\n\n',
    "langchain": "from langchain_core.language_models.fake_chat_models import FakeListChatModel\n\n"
    'model = FakeListChatModel(responses=["done"])\ntools: list[dict[str, object]] = []\n\n',
}


def sent(text):
    """Host, beta header and body of the request that a snippet of `anthropic` sends."""
    import httpx

    seen = []

    def answer(request):
        seen.append((request.url, request.headers.get("anthropic-beta", ""), json.loads(request.content)))
        return httpx.Response(200, json=ANSWER, request=request)

    import anthropic

    whole, anthropic.Anthropic = anthropic.Anthropic, lambda **kw: whole(**kw, http_client=transport(answer))
    try:
        exec(compile(OWN["anthropic"] + text, "snippet", "exec"), {})
    finally:
        anthropic.Anthropic = whole
    [request] = seen
    return request


def transport(answer):
    import anthropic
    import inspect

    # The client of the package may be httpx or its successor.
    module = sys.modules[anthropic.DefaultHttpxClient.__mro__[1].__module__.split(".")[0]]

    def handler(request):
        found = answer(request)
        return module.Response(found.status_code, json=ANSWER, request=request) if module.__name__ != "httpx" else found

    return module.Client(transport=module.MockTransport(handler))


def litellm_sends(text):
    """The body that LiteLLM sends for Claude."""
    import litellm

    seen = []

    class Stop(Exception):
        pass

    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    async def post(self, url=None, data=None, json=None, headers=None, **_):
        seen.append((headers or {}, json or data))
        raise Stop

    whole, AsyncHTTPHandler.post = AsyncHTTPHandler.post, post
    body = OWN["litellm"] + "async def call():\n" + "".join(f"    {line}\n" for line in text.splitlines())
    space = {}
    exec(compile(body, "snippet", "exec"), space)
    try:
        asyncio.run(space["call"]())
    except Exception:
        if not seen:
            raise
    finally:
        AsyncHTTPHandler.post = whole
    headers, data = seen[0]
    return headers, json.loads(data) if isinstance(data, (str, bytes)) else data


def middleware(text):
    """The edit that a snippet of LangChain builds."""
    space = {}
    exec(compile(OWN["langchain"] + text, "snippet", "exec"), space)
    tree = ast.parse(text)
    call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "ContextEditingMiddleware")
    built = eval(compile(ast.Expression(call), "snippet", "eval"), space)
    return built.edits[0]


def main(folder, fixtures):
    failed = []

    def check(name, what, holds):
        print(f"{'ok    ' if holds else 'FAILED'} {name}: {what}")
        if not holds:
            failed.append(name)

    for path in sorted(folder.glob("*.*")):
        which, shape = path.name.split(".", 1)
        if shape not in ("python", "openrouter", "litellm", "langchain"):
            continue
        text = path.read_text()
        typed = folder / f"{which}_{shape}.py"
        own = OWN.get(shape, OWN["anthropic"])
        body = text if shape != "litellm" else "async def call() -> None:\n" + "".join(f"    {line}\n" for line in text.splitlines())
        typed.write_text(own + body)
        found = subprocess.run([sys.executable, "-m", "mypy", "--ignore-missing-imports", "--follow-imports=silent", str(typed)], capture_output=True, text=True)
        check(path.name, f"mypy {found.stdout.strip().splitlines()[-1]}", found.returncode == 0)
        if shape in ("python", "openrouter"):
            url, betas, request = sent(text)
            expected = json.loads((folder / f"{which}.json").read_text())["context_management"]
            check(path.name, "sends the object", request["context_management"] == expected)
            check(path.name, f"sends the header to {url.host}{url.path}", BETA in betas)
            check(path.name, "host", (url.host == "openrouter.ai" and url.path == "/api/v1/messages") == (shape == "openrouter"))
        elif shape == "litellm":
            headers, request = litellm_sends(text)
            tree = ast.parse(body)
            given = next(k.value for n in ast.walk(tree) if isinstance(n, ast.Call) for k in n.keywords if k.arg == "context_management")
            check(path.name, "hands the object on to Claude", request["context_management"] == ast.literal_eval(given))
            betas = next((v for k, v in headers.items() if k.lower() == "anthropic-beta"), "")
            check(path.name, "sends the header", BETA in str(betas))
        else:
            edit = middleware(text)
            check(path.name, f"builds {edit}", True)
            same_sets(check, path.name, edit, fixtures)
    sys.exit(1 if failed else 0)


def same_sets(check, name, edit, fixtures):
    """The edit that the snippet builds, with the knobs of a recorded run, clears what was recorded: one code, one meaning of its fields."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "conformance"))
    from converse import changes, conversation, requests
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    rows = [json.loads(line) for line in (fixtures / "langchain_py.jsonl").read_text().splitlines()]
    same = total = 0
    for row in rows[:20]:
        knobs = row["knobs"]
        for field in ("trigger", "keep", "clear_at_least", "exclude_tools"):
            setattr(edit, field, knobs[field])

        def count(messages):
            inputs = sum(len(c["args"].get("q", "")) for m in messages if isinstance(m, AIMessage) for c in m.tool_calls)
            return inputs + sum(3 if m.content == edit.placeholder else len(m.content) for m in messages)

        sets = []
        for history in requests(conversation(row["conversation"])):
            messages = []
            for role, parts in history:
                if role == "assistant":
                    calls = [{"name": t, "args": {"q": "q" * n}, "id": str(u)} for k, u, t, n in parts if k == "use"]
                    messages.append(AIMessage(content="".join("t" * n for k, _, _, n in parts if k == "text"), tool_calls=calls))
                    continue
                for kind, use, tool, tokens in parts:
                    message = ToolMessage(content="r" * tokens, tool_call_id=str(use), name=tool) if kind == "result" else HumanMessage(content="u" * tokens)
                    messages.append(message)
            edit.apply(messages, count_tokens=count)
            sets.append({int(m.tool_call_id) for m in messages if isinstance(m, ToolMessage) and m.content == edit.placeholder})
        found = changes(sets)
        total += len(found)
        same += sum(a == b for a, b in zip(found, row["changed"], strict=True))
    check(name, f"clears the recorded set at {same} of {total} requests", same == total)


main(Path(sys.argv[1]), Path(sys.argv[2]))
