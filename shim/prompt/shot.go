package prompt

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
)

// MaxShot is the size limit of one picture, in bytes after decoding.
const MaxShot = 4 << 20

// Shot is a picture: a screenshot of an element, or what the user pasted.
type Shot struct {
	MIME string // image/png, image/jpeg or image/webp, as the bytes say
	Data []byte
}

// decodeShot reads a data URL. problem says what is wrong with it, in words
// that continue "was left out: ".
func decodeShot(raw []byte) (s *Shot, problem string) {
	url, ok := text(raw)
	if !ok {
		return nil, "it is " + article(kind(raw)) + ", not a data URL"
	}
	if url == "" {
		return nil, ""
	}
	head, payload, ok := strings.Cut(url, ",")
	mime, isBase64 := strings.CutSuffix(strings.ToLower(head), ";base64")
	mime, isData := strings.CutPrefix(mime, "data:")
	if !ok || !isBase64 || !isData {
		return nil, "it is not a base64 data URL"
	}
	switch mime {
	case "image/png", "image/jpeg", "image/webp":
	default:
		return nil, "only PNG, JPEG and WebP pictures can be used"
	}
	payload = strings.TrimRight(payload, "=")
	if base64.RawStdEncoding.DecodedLen(len(payload)) > MaxShot {
		return nil, fmt.Sprintf("it is larger than %d MiB", MaxShot>>20)
	}
	data, err := base64.RawStdEncoding.DecodeString(payload)
	if err != nil {
		return nil, "its base64 is damaged"
	}
	if mime = signature(data); mime == "" {
		return nil, "its bytes are no PNG, JPEG or WebP picture"
	}
	return &Shot{MIME: mime, Data: data}, ""
}

// signature tells the type of a picture from its first bytes, "" for none that
// can be used.
func signature(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return "image/webp"
	}
	return ""
}
