package fakeagents

import (
	"encoding/json"
	"strings"
)

// message is a stdin line of claude's stream-json input, as far as the fake
// looks at it (2.1.332 and 2.1.197 take the same shapes).
type message struct {
	Type      string `json:"type"`
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype string `json:"subtype"`
	} `json:"request"`
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"` // a string or a list of blocks
	} `json:"message"`
}

type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func parseMessage(line []byte) (message, error) {
	var m message
	err := json.Unmarshal(line, &m)
	return m, err
}

// kind is "user", or "control_request/<subtype>".
func (m message) kind() string {
	if m.Request.Subtype != "" {
		return m.Type + "/" + m.Request.Subtype
	}
	return m.Type
}

// blocks returns the content of a user message when it is a list.
func (m message) blocks() ([]block, error) {
	var blocks []block
	err := json.Unmarshal(m.Message.Content, &blocks)
	return blocks, err
}

// texts returns the text blocks of a user message, in order.
func (m message) texts() []string {
	var s string
	if json.Unmarshal(m.Message.Content, &s) == nil {
		return []string{s}
	}
	blocks, err := m.blocks()
	if err != nil {
		return nil
	}
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return texts
}

func (m message) text() string { return strings.Join(m.texts(), "\n") }
