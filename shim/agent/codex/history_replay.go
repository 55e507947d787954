package codex

import (
	"encoding/json"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/slidewrite/slidewrite/shim/agent"
	"github.com/slidewrite/slidewrite/shim/event"
	"github.com/slidewrite/slidewrite/shim/lazyregexp"
)

// replay maps the records of a rollout. Each turn has a mapper of its own, the
// one of live runs, which is given the items that the records hold.
type replay struct {
	history agent.History
	turn    *mapper

	items    bool              // an item_completed was seen: tools are not taken from response_items
	outputs  map[string]output // by call id: what the model was given of a call that has no item yet
	usage    *event.Usage      // of the turn
	total    wireUsage         // token_count's, as last seen
	ended    bool              // task_complete or turn_aborted was seen
	aborted  bool
	duration int64  // of the turn, ms
	quiet    bool   // the last that happened was text of the agent
	mark     string // of the turn, for what has no id of its own
	unnamed  int    // calls without an id so far
}

// NewReplay returns what turns the records of one rollout into events.
func (Codex) NewReplay(h agent.History) agent.Replay {
	r := &replay{history: h}
	r.reset()
	return r
}

func (r *replay) reset() {
	*r = replay{history: r.history, outputs: map[string]output{}}
	r.turn = newMapper(agent.MapOptions{Repo: r.history.Repo, Top: r.history.Top})
	r.turn.started, r.turn.turns = true, 1
}

// Begins tells whether a record is what the human said.
func (r *replay) Begins(line []byte) bool {
	_, ok := human(line)
	return ok
}

// Map maps one record.
func (r *replay) Map(line []byte) []event.Event {
	r.turn.out = nil
	if words, ok := human(line); ok {
		r.items = at(line, "payload", "item") != nil
		r.mark = mark(line)
		r.user(words)
	} else {
		r.record(line)
	}
	return r.events()
}

// events are those of the mapper that are replayed.
func (r *replay) events() (kept []event.Event) {
	for _, e := range r.turn.out {
		switch e := e.(type) {
		case event.Usage, event.Note, event.Start:
		case event.Delta:
			r.quiet = true
			e.MessageID = r.messageID(e.MessageID)
			kept = append(kept, e)
		case event.ThinkingDelta:
			r.quiet = false
			e.MessageID = r.messageID(e.MessageID)
			kept = append(kept, e)
		default:
			r.quiet = false
			kept = append(kept, e)
		}
	}
	r.turn.out = nil
	return kept
}

func (r *replay) user(words string) {
	if r.history.Said != nil {
		words = r.history.Said(words)
	}
	r.turn.emit(event.User{Text: words})
}

// record hands a record on by its type. Most of a rollout's bytes are in those
// that are passed over.
func (r *replay) record(line []byte) {
	payload := member(line, "payload")
	kind := member(line, "type")
	switch {
	case payload == nil:
		r.responseItem(line, true)
	case is(kind, "response_item"):
		r.responseItem(payload, false)
	case is(kind, "event_msg"):
		r.eventMsg(payload)
	case is(kind, "token_usage_record"):
		var l struct {
			Payload struct {
				Turn *wireUsage `json:"turn_token_usage"`
			} `json:"payload"`
		}
		if agent.Decode(line, &l) && l.Payload.Turn != nil {
			total := l.Payload.Turn.total()
			r.usage = &total
		}
	}
}

func (r *replay) eventMsg(payload []byte) {
	switch kind := text(member(payload, "type")); kind {
	case "item_completed":
		r.items = true
		r.item(value(member(payload, "item")))
	case "task_complete", "turn_aborted":
		r.end(value(payload), kind == "turn_aborted")
	case "token_count":
		r.count(value(payload))
	case "agent_message", "agent_reasoning", "plan_update", "error", "stream_error",
		"exec_command_begin", "exec_command_end", "patch_apply_begin", "patch_apply_end",
		"mcp_tool_call_begin", "mcp_tool_call_end", "web_search_begin", "web_search_end":
		var msg legacyMsg
		if agent.Decode(value(payload), &msg) {
			r.turn.legacy(&msg)
		}
	}
}

// rolloutItem is an item as a rollout has it: the members of stdout's, but for
// texts.
type rolloutItem struct {
	wireItem
	Content json.RawMessage `json:"content"`      // AgentMessage
	Summary []string        `json:"summary_text"` // Reasoning
}

// rolloutItems names an item of a rollout as stdout does. What is not here
// (UserMessage apart) is not on stdout either: ImageView, SubAgentActivity,
// ContextCompaction.
var rolloutItems = map[string]string{
	"AgentMessage":        "agent_message",
	"Plan":                "plan",
	"Reasoning":           "reasoning",
	"CommandExecution":    "command_execution",
	"FileChange":          "file_change",
	"McpToolCall":         "mcp_tool_call",
	"WebSearch":           "web_search",
	"CollabAgentToolCall": "collab_tool_call",
	"TodoList":            "todo_list",
	"Error":               "error",
}

func (r *replay) item(b []byte) {
	var i rolloutItem
	if !agent.Decode(b, &i) {
		return
	}
	i.Type = rolloutItems[i.Type]
	switch i.Type {
	case "":
		return
	case "agent_message":
		i.Text = contentText(i.Content)
	case "reasoning":
		i.Text = strings.Join(i.Summary, "\n")
	}
	i.ID = r.callID(i.ID)
	r.turn.item(&i.wireItem, true)
}

// mark is a word that other turns of the session hardly have: of the record,
// which has a time, that begins it.
func mark(line []byte) string {
	h := fnv.New32a()
	_, _ = h.Write(line[:min(len(line), 4<<10)]) // a hash takes anything
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// callID is id, or one that no other call of the session has.
func (r *replay) callID(id string) string {
	if id == "" {
		r.unnamed++
		id = "call_" + r.mark + "_" + strconv.Itoa(r.unnamed)
	}
	return id
}

// messageID is id; the mapper numbers messages that have none.
func (r *replay) messageID(id string) string {
	if n, numbered := strings.CutPrefix(id, "message_"); numbered {
		return "message_" + r.mark + "_" + n
	}
	return id
}

// responseItem is what the model said or was given. With items it only tells
// that a command began; before, it is all there is of a tool.
func (r *replay) responseItem(b []byte, bare bool) {
	var i responseItem
	switch kind := text(member(b, "type")); kind {
	case "function_call", "custom_tool_call", "local_shell_call", "web_search_call":
		if agent.Decode(value(b), &i) {
			r.called(&i)
		}
	case "function_call_output", "custom_tool_call_output":
		id := text(member(b, "call_id"))
		if c := r.turn.tools.calls[id]; c != nil && !c.answered && agent.Decode(value(b), &i) {
			r.returned(c, id, outputOf(i.Output))
		}
	case "message":
		if bare && is(member(b, "role"), "assistant") && whole(b) {
			r.turn.message(&wireItem{ID: r.turn.nextLegacyID(), Text: contentText(member(b, "content"))})
		}
	case "reasoning":
		if bare && whole(b) {
			r.turn.reasoning(&wireItem{ID: r.turn.nextLegacyID(), Text: contentText(member(b, "summary"))})
		}
	}
}

// responseItem is a tool call or its output in the words of the model's API.
type responseItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON
	Input     string `json:"input"`     // of a custom tool: a patch
	Action    struct {
		Command []string `json:"command"` // local_shell_call
		Query   string   `json:"query"`   // web_search_call
	} `json:"action"`
	Output json.RawMessage `json:"output"` // a string, a list of texts, or an object with content
}

func (r *replay) called(i *responseItem) {
	item := i.item()
	if item == nil {
		return
	}
	if item.ID = i.CallID; item.ID == "" {
		item.ID = r.callID(i.ID)
	}
	switch {
	case item.Type == "web_search":
		if !r.items && i.CallID == "" {
			r.turn.answer(item) // it has no output
		}
	case item.Type == "todo_list":
		if !r.items {
			r.turn.answer(item)
		}
	case !r.items, item.Type == "command_execution" && !strings.Contains(item.Command.line, "apply_patch"): // that becomes a FileChange
		r.turn.announce(item)
	}
}

// item is the item that stdout has of a call; nil when it has none.
func (i *responseItem) item() *wireItem {
	var args struct {
		Command words  `json:"command"` // shell: a list; shell_command: a line
		Cmd     string `json:"cmd"`     // exec_command
		Input   string `json:"input"`   // apply_patch as a function
		Plan    []todo `json:"plan"`
	}
	agent.Decode([]byte(i.Arguments), &args)
	switch i.Name {
	case "apply_patch":
		return patchItem(i.Input + args.Input)
	case "shell", "shell_command", "container.exec", "local_shell":
		if c := args.Command.list; len(c) == 2 && (c[0] == "apply_patch" || c[0] == "applypatch") {
			return patchItem(c[1])
		}
		return commandItem(args.Command)
	case "exec_command":
		return commandItem(words{line: args.Cmd})
	case "update_plan":
		return &wireItem{Type: "todo_list", Items: args.Plan}
	}
	switch i.Type {
	case "local_shell_call":
		return commandItem(words{list: i.Action.Command})
	case "web_search_call":
		return &wireItem{Type: "web_search", Query: i.Action.Query}
	}
	if server, tool, ok := strings.Cut(strings.TrimPrefix(i.Name, "mcp__"), "__"); ok && i.Type == "function_call" {
		return &wireItem{Type: "mcp_tool_call", Server: server, Tool: tool, Arguments: json.RawMessage(i.Arguments)}
	}
	return nil
}

func commandItem(command words) *wireItem {
	if command.line == "" && len(command.list) == 0 {
		return nil
	}
	return &wireItem{Type: "command_execution", Command: command}
}

// patchHeader is a line of a patch that names a file.
var patchHeader = lazyregexp.New(`(?m)^\*\*\* (?:(?:Add|Update|Delete) File|Move to): ([^\r\n]+?)[ \t]*\r?$`)

func patchItem(patch string) *wireItem {
	item := &wireItem{Type: "file_change"}
	for _, found := range patchHeader.FindAllStringSubmatch(patch, -1) {
		item.Changes = append(item.Changes, found[1])
	}
	return item
}

// returned is the output of a call. Where there are items, one with the whole
// output may follow; else this closes the call.
func (r *replay) returned(c *call, id string, out output) {
	if r.items {
		r.outputs[id] = out
		return
	}
	r.turn.close(c, id, out.text, out.failed)
}

// output is the result of a call as the model was given it.
type output struct {
	text   string
	failed bool
}

// outputHead begins what codex puts before the output of a command.
var outputHead = lazyregexp.New(`^(?:Chunk ID:|Exit code:|Wall time)`)

// exitCode is how an output of each age tells that a command failed.
var exitCode = lazyregexp.New(`(?m)^(?:Exit code:|Process exited with code) (-?\d+)$`)

// outputOf is what a tool said, without the head that codex puts before it for
// the model.
func outputOf(raw json.RawMessage) (o output) {
	var list []any
	var object struct {
		Content any   `json:"content"`
		Success *bool `json:"success"`
	}
	switch {
	case json.Unmarshal(raw, &o.text) == nil:
	case json.Unmarshal(raw, &list) == nil:
		o.text = agent.ContentText(list)
	case agent.Decode(raw, &object):
		o = output{agent.ContentText(object.Content), object.Success != nil && !*object.Success}
	}
	// {"output":"…","metadata":{"exit_code":1}} of a command, {"content":[…]} of MCP.
	var inner struct {
		Output   *string `json:"output"`
		Metadata struct {
			ExitCode float64 `json:"exit_code"`
		} `json:"metadata"`
		Content []any `json:"content"`
		IsError bool  `json:"isError"`
	}
	if agent.Decode([]byte(o.text), &inner) {
		switch {
		case inner.Output != nil:
			return output{*inner.Output, o.failed || inner.Metadata.ExitCode != 0}
		case inner.Content != nil:
			return output{agent.ContentText(inner.Content), o.failed || inner.IsError}
		}
	}
	const longest = 400 // bytes of the head
	head, body, found := strings.Cut(o.text, "Output:\n")
	if !found || len(head) > longest || !outputHead.MatchString(head) {
		return o
	}
	code := exitCode.FindStringSubmatch(head)
	return output{body, o.failed || code != nil && code[1] != "0"}
}

// count adds up the usage of a turn's answers, where no token_usage_record has
// it. The same total again is news about rate limits.
func (r *replay) count(payload []byte) {
	var msg struct {
		Info *struct {
			Total wireUsage `json:"total_token_usage"`
			Last  wireUsage `json:"last_token_usage"`
		} `json:"info"`
	}
	if r.items || !agent.Decode(payload, &msg) || msg.Info == nil || msg.Info.Total == r.total {
		return
	}
	r.total = msg.Info.Total
	add := msg.Info.Last.total()
	if r.usage == nil {
		r.usage = &event.Usage{}
	}
	r.usage.InputTokens += add.InputTokens
	r.usage.OutputTokens += add.OutputTokens
	r.usage.CacheReadTokens += add.CacheReadTokens
	r.usage.CacheCreationTokens += add.CacheCreationTokens
}

// end notes how the turn ended. Commands that outlived it have their item
// behind this record, so the result waits for End.
func (r *replay) end(payload []byte, aborted bool) {
	var msg struct {
		Last     string     `json:"last_agent_message"` // null when there was none
		Error    *wireError `json:"error"`
		Duration float64    `json:"duration_ms"`
	}
	if !agent.Decode(payload, &msg) {
		return
	}
	r.ended, r.aborted, r.duration = true, aborted, agent.Whole(msg.Duration)
	r.turn.lastWords = msg.Last
	switch {
	case msg.Error != nil:
		if r.turn.failed = msg.Error.Message; r.turn.failed == "" {
			r.turn.failed = noReason
		}
	case aborted:
	case r.turn.said != "" && !r.turn.spoken && msg.Last == "":
		r.turn.failed = r.turn.said
	}
}

// End closes the turn. Rollouts of old did not keep a turn's end: there the
// agent's last words are taken for it.
func (r *replay) End() []event.Event {
	defer r.reset()
	if !r.ended && !r.quiet && r.turn.said != "" {
		r.turn.failed = r.turn.said
	}
	if !r.ended && (r.items || !r.quiet && r.turn.failed == "") {
		return nil
	}
	r.turn.out = nil
	for _, id := range r.turn.tools.order {
		c := r.turn.tools.calls[id]
		if out, given := r.outputs[id]; given && !c.answered {
			r.turn.close(c, id, out.text, out.failed || r.aborted)
		}
	}
	r.turn.closeOpen()
	failed := r.turn.failed != ""
	r.turn.usage = r.usage
	result := r.turn.result(failed)
	result.DurationMs = r.duration
	if r.aborted && !failed {
		result.Subtype = "interrupted"
	}
	r.turn.emit(result)
	if failed {
		r.turn.emit(failure(r.turn.failed, nil))
	}
	return r.turn.out
}
