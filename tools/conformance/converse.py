"""Random conversations: what each request brings and what its answer holds, in tokens.

One JSON object a line: {"id", "base", "steps": [[user, text, [[tool, input, result], …]], …]}. The results of a step come with the next
request, before the user's words. Sizes straddle what the packages look at: tiny results, results smaller than a placeholder, large ones.
"""

import json
import random

TOOLS = ["read", "bash", "search", "memory"]


def conversation(number):
    dice = random.Random(number)
    sizes = dice.choice([[1, 2, 8, 40, 46, 47, 200], [30, 400, 3000], [5, 900, 9000]])
    steps = []
    for i in range(dice.randint(6, 30)):
        user = dice.choice([12, 150]) if i == 0 or (dice.random() < 0.15 and not steps[-1][2]) else 0
        calls = dice.choice([0, 1, 1, 1, 2, 3]) if i else 1
        uses = [[dice.choice(TOOLS), dice.choice([4, 30, 120]), dice.choice(sizes)] for _ in range(calls)]
        steps.append([user, dice.choice([0, 25, 60]), uses])
    return {"id": number, "base": dice.choice([0, 700]), "steps": steps}


def config(conversation, seed):
    """Knobs near what the conversation reaches."""
    dice = random.Random(f"{conversation['id']} {seed}")
    total = sum(r for _, _, uses in conversation["steps"] for _, _, r in uses)
    return {
        "trigger": dice.choice([0, total // 4, total // 2, 100000]),
        "keep": dice.choice([0, 1, 2, 3, 6]),
        "clear_at_least": dice.choice([0, 0, total // 20, total // 6]),
        "exclude_tools": dice.choice([[], [], ["memory"], ["read", "bash"]]),
    }


def requests(conversation):
    """For each request the messages before its answer, as (role, parts): parts are (kind, id or None, tool or None, tokens)."""
    history, pending, number = [], [], 0
    for user, text, uses in conversation["steps"]:
        parts = [("result", use, tool, tokens) for use, tool, tokens in pending]
        if user:
            parts.append(("user", None, None, user))
        history = history + [("user", parts)] if parts else history
        yield history
        answer = [("text", None, None, text)] if text else []
        pending = []
        for tool, size, result in uses:
            answer.append(("use", number, tool, size))
            pending.append((number, tool, result))
            number += 1
        if answer:
            history = history + [("assistant", answer)]


def changes(sets):
    """From one request to the next: the uses that went or came back."""
    before, out = set(), []
    for now in sets:
        out.append(sorted(before ^ now))
        before = now
    return out


def write(path, rows):
    with open(path, "w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
