package history

import (
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cockroachdb/errors"

	"github.com/slidewrite/slidewrite/shim/agent"
)

// entry is what is known of one transcript.
type entry struct {
	stamp
	racy    bool // the file changed while or just before it was read, or does not tell all: it is read anew
	verdict agent.Verdict
	offset  int64  // scanned up to here, a line's beginning
	print   uint64 // of the bytes before offset
	save    string // of the scan
	row     Session
}

// The index file: magic, key, number of entries, entries, CRC of all that.
// Numbers are varints, texts have their length before them. An index of
// another key (repository, version of the shim) counts as none.
const (
	indexName  = "index"
	indexMagic = "slidewrite history 2\n"
	tempPrefix = "index-"
	maxIndex   = 256 << 20 // bytes; a larger one is not ours
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// key is what an index is good for.
func (o Options) key() string { return o.Repo + "\x00" + o.Version }

// readIndex returns the index in the folder, empty where there is none that
// is whole and of this key.
func readIndex(dir, key string) map[string]*entry {
	path := filepath.Join(dir, indexName)
	info, err := agent.Lstat(path)
	if err != nil || info.Size() > maxIndex {
		return map[string]*entry{}
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) < 4 {
		return map[string]*entry{}
	}
	body, sum := data[:len(data)-4], binary.LittleEndian.Uint32(data[len(data)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return map[string]*entry{}
	}
	entries, err := decodeIndex(string(body), key)
	if err != nil {
		return map[string]*entry{}
	}
	return entries
}

// writeIndex puts the index into the folder, at once: a reader sees the one
// before or this one.
func writeIndex(dir, key string, entries map[string]*entry) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errors.Wrap(err, "make the folder of the index")
	}
	body := encodeIndex(key, entries)
	body = binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
	f, err := os.CreateTemp(dir, tempPrefix) // mode 0600
	if err != nil {
		return errors.Wrap(err, "write the index")
	}
	_, err = f.Write(body)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, indexName))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // swept later otherwise
		return errors.Wrap(err, "write the index")
	}
	return nil
}

// sweep removes what writers left that were killed in the middle.
func sweep(dir string) {
	const old = time.Hour
	temps, _ := filepath.Glob(filepath.Join(escapeGlob(dir), tempPrefix+"*")) // a bad pattern is no match
	for _, path := range temps {
		if info, err := agent.Lstat(path); err == nil && time.Since(info.ModTime()) > old {
			_ = os.Remove(path) // the next one tries again
		}
	}
}

func escapeGlob(s string) string {
	if filepath.Separator == '\\' {
		return s // it has no escapes there
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func encodeIndex(key string, entries map[string]*entry) []byte {
	b := make([]byte, 0, len(indexMagic)+1024*len(entries))
	b = append(b, indexMagic...)
	b = appendString(b, key)
	b = binary.AppendUvarint(b, uint64(len(entries)))
	for path, e := range entries {
		b = appendString(b, path)
		for _, n := range e.numbers() {
			b = binary.AppendVarint(b, *n)
		}
		b = binary.AppendUvarint(b, e.inode)
		b = binary.AppendUvarint(b, e.dev)
		b = binary.AppendUvarint(b, e.print)
		flags := uint64(e.verdict) << 1
		if e.racy {
			flags |= 1
		}
		b = binary.AppendUvarint(b, flags)
		b = binary.AppendVarint(b, int64(e.row.Messages))
		for _, t := range []time.Time{e.row.StartedAt, e.row.EndedAt} {
			b = binary.AppendVarint(b, t.Unix())
			b = binary.AppendUvarint(b, uint64(t.Nanosecond()))
		}
		for _, s := range e.texts() {
			b = appendString(b, *s)
		}
	}
	return b
}

func (e *entry) numbers() []*int64 { return []*int64{&e.size, &e.mtime, &e.ctime, &e.offset} }

func (e *entry) texts() []*string {
	return []*string{&e.save, &e.row.ID, &e.row.Title, &e.row.FirstPrompt, &e.row.Branch}
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// errIndex is an index that is not whole, or not for us.
var errIndex = errors.New("no index of ours")

// decodeIndex reads what encodeIndex made. The texts are parts of s.
func decodeIndex(s, key string) (map[string]*entry, error) {
	rest, ok := strings.CutPrefix(s, indexMagic)
	d := &decoder{rest: rest, bad: !ok}
	if d.text() != key || d.bad {
		return nil, errIndex
	}
	n := d.unsigned()
	const least = 20 // bytes of an entry
	if n > uint64(len(d.rest)/least) {
		return nil, errIndex
	}
	entries := make(map[string]*entry, n)
	all := make([]entry, n)
	for i := range all {
		e := &all[i]
		path := d.text()
		for _, n := range e.numbers() {
			*n = d.signed()
		}
		e.inode, e.dev, e.print = d.unsigned(), d.unsigned(), d.unsigned()
		flags := d.unsigned()
		e.racy, e.verdict = flags&1 != 0, agent.Verdict(flags>>1)
		e.row.Messages = int(d.signed())
		for _, t := range []*time.Time{&e.row.StartedAt, &e.row.EndedAt} {
			*t = d.time()
		}
		for _, s := range e.texts() {
			*s = d.text()
		}
		if e.verdict < agent.Undecided || e.verdict > agent.Hidden || e.offset < 0 || e.offset > e.size {
			return nil, errIndex
		}
		entries[path] = e
	}
	if d.bad || d.rest != "" {
		return nil, errIndex
	}
	return entries, nil
}

// decoder takes values off the front of rest; once bad, it gives zeros.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) unsigned() (n uint64) {
	for i := 0; i < len(d.rest) && i < binary.MaxVarintLen64; i++ {
		c := d.rest[i]
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			d.rest = d.rest[i+1:]
			return n
		}
	}
	d.rest, d.bad = "", true
	return 0
}

func (d *decoder) signed() int64 {
	u := d.unsigned()
	n := int64(u >> 1)
	if u&1 != 0 {
		n = ^n
	}
	return n
}

// time is one of a year that JSON can hold, or none.
func (d *decoder) time() time.Time {
	seconds, nanos := d.signed(), d.unsigned()
	t := time.Unix(seconds, int64(nanos%1e9)).UTC()
	if nanos >= 1e9 || t.Year() < 0 || t.Year() > 9999 {
		d.rest, d.bad = "", true
		return time.Time{}
	}
	return t
}

func (d *decoder) text() string {
	n := d.unsigned()
	if n > uint64(len(d.rest)) {
		d.rest, d.bad = "", true
		return ""
	}
	s := d.rest[:n]
	d.rest = d.rest[n:]
	return s
}

// fingerprint is a hash of the file's bytes before offset, which an append
// leaves as they are, and another file has not. Of a long file it is that of
// its first bytes, the last ones before offset, and samples between them: a
// list that comes while an agent works must not read all there was. scratch has
// more than a sample.
func fingerprint(f *os.File, offset int64, scratch []byte) (uint64, error) {
	const (
		part    = 4 << 10 // bytes
		samples = 64
		long    = 4 << 20 // bytes
	)
	var buf [2*part + crc32.Size]byte
	head := buf[:min(part, offset)]
	if _, err := f.ReadAt(head, 0); err != nil {
		return 0, shorter(err)
	}
	tail := buf[len(head) : int64(len(head))+min(part, offset)]
	if _, err := f.ReadAt(tail, offset-int64(len(tail))); err != nil {
		return 0, shorter(err)
	}
	step, size := offset/samples, int64(part)
	if offset <= long {
		size = int64(len(scratch))
		step = size
	}
	between := uint32(0)
	for at := int64(part); at < offset-part; at += step {
		some := scratch[:min(size, offset-part-at)]
		if _, err := f.ReadAt(some, at); err != nil {
			return 0, shorter(err)
		}
		between = crc32.Update(between, castagnoli, some)
	}
	sum := sha256.Sum256(binary.LittleEndian.AppendUint32(buf[:len(head)+len(tail)], between))
	return binary.LittleEndian.Uint64(sum[:]), nil
}
