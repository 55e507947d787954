// The event contract, as types: what the shim says of a run, and of a session
// in its history. Nothing here runs. Clients ignore types they do not know.

/** @typedef {{type: "start", sessionId: string, model: string, runId: string, provider: string}} StartEvent */
/** @typedef {{type: "delta", text: string, messageId: string}} DeltaEvent */
/** @typedef {{type: "delta_reset", messageId: string}} DeltaResetEvent */
/** @typedef {{type: "thinking_delta", text: string, messageId: string}} ThinkingDeltaEvent */
/** @typedef {{inputTokens: number, outputTokens: number, cacheReadTokens: number, cacheCreationTokens: number, thinkingTokens: number}} Usage */
/** @typedef {{type: "usage"} & Usage} UsageEvent */
/** @typedef {{type: "tool", tool: string, detail: string, id: string, parentId?: string}} ToolEvent */
/** @typedef {{type: "file_edit", tool: string, path: string, id: string, parentId?: string}} FileEditEvent */
/** @typedef {{type: "tool_result", tool: string, id: string, text: string, isError: boolean, truncated: boolean}} ToolResultEvent */
/** @typedef {{type: "result", isError: boolean, numTurns: number, durationMs: number, totalCostUsd: number, usage: Usage | null, result: string | null, subtype: string}} ResultEvent */
/** @typedef {{path: string, status: string, added: number, removed: number, binary: boolean, yours: boolean}} ChangedFile */
/** @typedef {{type: "change", files: ChangedFile[], added: number, removed: number}} ChangeEvent */
/** @typedef {{type: "commit", sha: string, count: number, hooksSkipped: boolean}} CommitEvent */
/** @typedef {{type: "commit_error", message: string, fix?: string}} CommitErrorEvent */
/** @typedef {{type: "image_status", state: string}} ImageStatusEvent */
/** @typedef {{type: "image_generated", tmpPath: string, mimeType: string, bytes: number}} ImageGeneratedEvent */
/** @typedef {{type: "note", message: string, level: string, code?: string, resetsAt?: string}} NoteEvent */
/** @typedef {{type: "stopped", by: string}} StoppedEvent */
/** @typedef {{type: "error", message: string, code: string, fix?: string, resetsAt?: string}} ErrorEvent */
/** @typedef {{type: "done"}} DoneEvent */
/** @typedef {{type: "user", text: string}} UserEvent */

/**
 * @typedef {StartEvent | DeltaEvent | DeltaResetEvent | ThinkingDeltaEvent | UsageEvent | ToolEvent | FileEditEvent
 *   | ToolResultEvent | ResultEvent | ChangeEvent | CommitEvent | CommitErrorEvent | ImageStatusEvent
 *   | ImageGeneratedEvent | NoteEvent | StoppedEvent | ErrorEvent | DoneEvent | UserEvent} WireEvent
 */

export {};
