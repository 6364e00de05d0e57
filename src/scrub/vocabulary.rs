//! Words that stay as they are: those that formats are recognised and read by, and literals of JSON.
//!
//! They say which format a log has and nothing of what is in it. A test reads scrubbed logs of every format and compares.

/// The words, sorted by their bytes.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "AI", "AIMessage", "AIMessageChunk", "ATIF", "ActionEvent", "Agent", "AgentErrorEvent", "AskUserQuestion", "Bash", "BashOutput",
    "Chat", "ChatMessage", "Chunk", "Condensation", "CondensationRequest", "Edit", "Event", "ExitPlanMode", "File", "Function",
    "FunctionMessage", "Human", "HumanMessage", "HumanMessageChunk", "Infinity", "KillBash", "KillShell", "Message", "MessageEvent",
    "Monitor", "MultiEdit", "NaN", "NotebookEdit", "Observation", "ObservationEvent", "Old", "PAR", "PDF", "PK", "PNG", "PowerShell",
    "Sidechain", "Skill", "SlashCommand", "System", "SystemMessage", "SystemMessageChunk", "SystemPromptEvent", "Task", "TaskCreate",
    "TaskOutput", "TaskStop", "TaskUpdate", "Tool", "ToolMessage", "ToolMessageChunk", "UserRejectObservation", "WebFetch",
    "WebSearch", "Write", "action", "additional", "agent", "agents", "ai", "answer", "anthropic", "api", "applied", "apply", "args",
    "arguments", "arrayValue", "arrived", "asked", "assistant", "at", "atif", "attachment", "attachments", "attributes", "back",
    "base", "based", "bash", "billing", "blob", "block", "blocking", "blocks", "body", "bool", "boundary", "bytes", "cache",
    "cacheRead", "cacheWrite", "cached", "call", "calls", "camelCase", "cause", "change", "changed", "chat", "choice", "choices",
    "claude", "clear", "cleared", "cleartune", "cli", "client", "code", "codex", "command", "compact", "compacted", "compaction",
    "complete", "completed", "completion", "computer", "condensation", "config", "confirmation", "confirmed", "constructor",
    "content", "context", "control", "conversation", "copied", "copies", "count", "counts", "created", "creation", "custom", "cwd",
    "data", "deferred", "define", "definitions", "delta", "demo", "description", "details", "developer", "diagnostics", "directory",
    "distinct", "document", "documents", "domain", "dropped", "edit", "edited", "editor", "edits", "empty", "end", "environment",
    "ephemeral", "epoch", "error", "estimated", "eval", "evaluation", "event", "events", "exclude", "execute", "execution",
    "explanation", "extended", "extra", "extras", "failed", "failure", "false", "fetch", "fields", "file", "find", "finish",
    "firstKeptEntryId", "fixed", "forgotten", "format", "freed", "function", "functionResponse", "gemini", "gen", "genai",
    "generate", "generations", "gif", "grew", "hash", "header", "hidden", "history", "hit", "hook", "hour", "http", "https", "human",
    "id", "ide", "ids", "image", "incomplete", "index", "inference", "inferred", "info", "init", "inlineData", "input", "inputs",
    "inspect", "instance", "instruction", "instructions", "intValue", "invocation", "invoke", "invoked", "isSidechain", "item",
    "journal", "jpeg", "json", "keep", "key", "kind", "kvlistValue", "kwargs", "langchain", "last", "leafUuid", "least", "likely",
    "limits", "line", "lines", "list", "listing", "litellm", "llm", "local", "logged", "logging", "logical", "loop", "main",
    "managed", "management", "mark", "marks", "max", "mcp", "media", "memory", "message", "messages", "meta", "metadata", "metrics",
    "microcompact", "min", "mini", "minutes", "mixed", "modality", "mode", "model", "modelId", "ms", "msg", "name", "named", "nano",
    "needs", "nested", "newly", "notebook", "null", "number", "object", "observation", "observed", "old", "only", "openhands",
    "operation", "original", "otel", "other", "outcome", "output", "outputs", "own", "parameters", "params", "parent", "parentId",
    "parentUuid", "partial", "parts", "patch", "path", "pause", "payload", "permission", "pi", "pieces", "ping", "placeholder",
    "plan", "png", "pool", "prefix", "previous", "processed", "progress", "projectHash", "prompt", "queries", "query", "queue",
    "queued", "raw", "read", "reason", "reasoning", "recall", "received", "record", "recovered", "recovery", "redacted",
    "reductions", "reference", "refetch", "refetches", "refs", "refusal", "rejection", "reminder", "repaired", "replace",
    "replacement", "replay", "request", "requestId", "requests", "resource", "resourceSpans", "response", "restored", "result",
    "results", "retry", "returncode", "risk", "role", "rolled", "rubric", "run", "running", "samples", "schema", "scope",
    "scopeSpans", "screenshot", "search", "security", "selected", "sent", "server", "session", "sessionId", "sets", "shell",
    "sidechain", "since", "sized", "skill", "skills", "skips", "snapshot", "source", "span", "spanId", "spans", "standard", "start",
    "startTime", "startTimeUnixNano", "state", "status", "stderr", "stdout", "step", "steps", "stop", "stopReason", "stopped", "str",
    "subagent", "subtype", "success", "suffix", "summaries", "summarized", "summary", "swe", "synthetic", "system", "task", "test",
    "text", "think", "thinking", "thought", "thoughts", "thread", "time", "timestamp", "tiny", "title", "todo", "token", "tokens",
    "tolerance", "tool", "toolCall", "toolCallId", "toolCalls", "toolResult", "toolUseID", "toolUseResult", "tools", "total",
    "trace", "traceId", "traj", "trajectories", "trajectory", "transcript", "trigger", "true", "ttl", "turn", "turns", "type",
    "unanswered", "unchanged", "unix", "unknown", "unlogged", "unnamed", "unread", "uri", "url", "urls", "usage", "usages", "use",
    "user", "uses", "uuid", "value", "values", "version", "visible", "web", "webp", "weight", "without", "write", "xbb", "xbf",
    "xef",
];

/// Whether a word stays.
pub fn stays(word: &str) -> bool {
    WORDS.binary_search(&word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_knows_its_words() {
        assert!(WORDS.is_sorted());
        assert!(stays("content") && stays("true") && !stays("password"));
    }
}
