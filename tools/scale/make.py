#!/usr/bin/env python3
"""Writes a folder of logs of a stated size, to measure an import on: tools/scale/run.sh does both.

    make.py CLEARTUNE FOLDER BYTES SESSIONS [LARGEST]

The words come from `CLEARTUNE generate coding_agent --text=bodies`; of them sessions are made of many lengths (a log-normal spread, the
largest LARGEST bytes where that is given) in three formats: Claude Code (half of the sessions; results stand twice, as its toolUseResult
does), request/response pairs of the Messages API, OpenAI chat messages. Same arguments, same bytes.
"""
import json
import math
import os
import random
import subprocess
import sys

CONVERSATIONS = 24


def conversations(cleartune):
    """Turns of each conversation: what the client appends and what the model answers."""
    text = subprocess.run(
        [cleartune, "generate", "coding_agent", "--text=bodies", "--transcripts", str(CONVERSATIONS), "--seed", "7", "--out", "-"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    out = []
    for line in text.splitlines():
        messages = json.loads(line)["messages"]
        out.append([(messages[i]["content"], messages[i + 1]["content"]) for i in range(0, len(messages) - 1, 2)])
    return out


def turns(all_turns, session):
    """Turns without end: those of one conversation after another, with ids of their own."""
    turn = 0
    at = session
    while True:
        names = {}
        for client, model in all_turns[at % len(all_turns)]:
            turn += 1
            client = [dict(b, tool_use_id=names.get(b["tool_use_id"], "toolu_none")) if b["type"] == "tool_result" else b for b in client]
            model = [dict(b) for b in model]
            for i, block in enumerate(model):
                if block["type"] == "tool_use":
                    names[block["id"]] = block["id"] = f"toolu_{session}_{turn}_{i}"
            # A result whose use was in the conversation before is none.
            client = [b for b in client if b.get("tool_use_id") != "toolu_none"]
            yield turn, client, model
        at += 7


def tokens(blocks):
    return len(json.dumps(blocks)) // 4


def usage(prompt, before, output):
    return {"input_tokens": 3, "cache_creation_input_tokens": prompt - before, "cache_read_input_tokens": before, "output_tokens": output}


def stamp(session, turn):
    seconds = turn * 20
    return f"2026-03-{1 + session % 28:02}T{8 + seconds // 3600 % 14:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


def claude_code(out, size, session, all_turns):
    written, before, prompt, parent = 0, 0, 20_000, None
    for turn, client, model in turns(all_turns, session):
        head = {"sessionId": f"session-{session}", "timestamp": stamp(session, turn), "isSidechain": False, "version": "2.1.112"}
        records = []
        for i, block in enumerate(client or [{"type": "text", "text": "go on"}]):
            record = {"type": "user", "message": {"role": "user", "content": [block]}}
            if block["type"] == "tool_result":
                record["toolUseResult"] = {"stdout": block["content"]}
            records.append(record)
        before, prompt = prompt if turn > 1 else 0, prompt + tokens(client)
        for block in model:
            message = {"id": f"msg_{session}_{turn}", "model": "claude-sonnet-4-6", "role": "assistant", "content": [block],
                       "stop_reason": "tool_use", "usage": usage(prompt, before, tokens(model))}
            records.append({"type": "assistant", "requestId": f"req_{session}_{turn}", "message": message})
        prompt += tokens(model)
        for i, record in enumerate(records):
            uuid = f"{session}-{turn}-{i}"
            line = json.dumps({"uuid": uuid, "parentUuid": parent, **head, **record}) + "\n"
            parent = uuid
            written += out.write(line)
        if written >= size:
            return


def pairs(out, size, session, all_turns):
    written, before, prompt, messages = 0, 0, 5_000, []
    for turn, client, model in turns(all_turns, session):
        messages.append(json.dumps({"role": "user", "content": client or [{"type": "text", "text": "go on"}]}))
        before, prompt = prompt if turn > 1 else 0, prompt + tokens(client)
        response = {"id": f"msg_{session}_{turn}", "type": "message", "role": "assistant", "model": "claude-sonnet-4-6", "content": model,
                    "stop_reason": "tool_use", "usage": usage(prompt, before, tokens(model))}
        start = 1_767_600_000 + session * 86_400 + turn * 20
        body = '{"model":"claude-sonnet-4-6","max_tokens":32000,"system":"You are an agent.","messages":[' + ",".join(messages) + "]}"
        written += out.write(f'{{"request":{{"timestamp":{start},"body":{body}}},"response":{{"timestamp":{start + 5},"status_code":200,'
                             f'"body":{json.dumps(response)}}}}}\n')
        messages.append(json.dumps({"role": "assistant", "content": model}))
        prompt += tokens(model)
        if written >= size:
            return


def openai(out, size, session, all_turns):
    written = out.write('{"model":"gpt-5","messages":[{"role":"system","content":"You are an agent."}')
    for _, client, model in turns(all_turns, session):
        messages = []
        for block in client:
            if block["type"] == "tool_result":
                messages.append({"role": "tool", "tool_call_id": block["tool_use_id"], "content": block["content"]})
            else:
                messages.append({"role": "user", "content": block.get("text", "")})
        said = "".join(b.get("text", "") for b in model if b["type"] == "text")
        calls = [{"id": b["id"], "type": "function", "function": {"name": b["name"], "arguments": json.dumps(b["input"])}}
                 for b in model if b["type"] == "tool_use"]
        messages.append({"role": "assistant", "content": said, **({"tool_calls": calls} if calls else {})})
        written += sum(out.write("," + json.dumps(m)) for m in messages)
        if written >= size:
            break
    out.write("]}\n")


def main():
    cleartune, folder, size, sessions = sys.argv[1], sys.argv[2], int(float(sys.argv[3])), int(sys.argv[4])
    largest = int(float(sys.argv[5])) if len(sys.argv) > 5 else None
    rng = random.Random(1)
    shares = [math.exp(rng.gauss(0.0, 0.7)) for _ in range(sessions)]
    scale = size / sum(shares)
    sizes = [share * scale for share in shares]
    if largest:
        sizes = [min(s, largest) for s in sizes]
    all_turns = conversations(cleartune)
    writers = [(claude_code, "jsonl"), (pairs, "jsonl"), (claude_code, "jsonl"), (openai, "json")]
    for session, want in enumerate(sizes):
        write, ending = writers[session % len(writers)]
        path = os.path.join(folder, f"project-{session % 16}", f"{session}.{ending}")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as out:
            write(out, want, session, all_turns)


main()
