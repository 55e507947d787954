package scriptmodel

import (
	"encoding/json"
	"io"
	"net/http"
)

// The server also speaks enough MCP (streamable HTTP, one JSON answer per
// POST) for a repository's .mcp.json to name it: a server "echo" with the
// tools say and fail.

type rpcRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Name            string `json:"name"`
		Arguments       struct {
			Text string `json:"text"`
		} `json:"arguments"`
	} `json:"params"`
}

type rpcReply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

type mcpTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	InputSchema map[string]any `json:"inputSchema"`
}

type mcpResult struct {
	Content []textBlock `json:"content"`
	IsError bool        `json:"isError"`
}

func (s *Server) mcpRoute(w http.ResponseWriter, r *http.Request) {
	s.note(Request{Method: r.Method, Path: r.URL.Path})
	if r.Method != http.MethodPost { // no stream from the server's side
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	var req rpcRequest
	if err != nil || json.Unmarshal(raw, &req) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if req.ID == nil { // a notification
		w.WriteHeader(http.StatusAccepted)
		return
	}
	reply(w, 200, answerRPC(req), nil)
}

func answerRPC(req rpcRequest) rpcReply {
	out := rpcReply{Version: "2.0", ID: req.ID}
	switch req.Method {
	case "initialize":
		out.Result = map[string]any{
			"protocolVersion": req.Params.ProtocolVersion,
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "echo", "version": "1.0.0"},
		}
	case "tools/list":
		schema := map[string]any{"type": "object", "properties": map[string]any{"text": map[string]any{"type": "string"}}}
		out.Result = map[string]any{"tools": []mcpTool{
			{"say", "Says the text again.", schema},
			{"fail", "Fails with the text.", schema},
		}}
	case "tools/call":
		out.Result = mcpResult{
			Content: []textBlock{{"text", "echo: " + req.Params.Arguments.Text}},
			IsError: req.Params.Name == "fail",
		}
	default:
		out.Error = &rpcError{-32601, "method not found"}
	}
	return out
}
