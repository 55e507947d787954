// Runs in: the jsunit page. Frames of a stream, however it is cut.
import { deepEqual, equal, handled, ok, test } from "./harness.js";
import { frames, Parser } from "../../extension/lib/sse.js";

const wire = 'id: 1\ndata: {"type":"start"}\n\n: ping\n\nid: 2\ndata: {"type":"done"}\n\n';
const want = [{ id: 1, data: '{"type":"start"}' }, { id: 2, data: '{"type":"done"}' }];

/** @param {string[]} pieces */
const parse = (pieces) => {
  const parser = new Parser();
  return pieces.flatMap((piece) => parser.push(piece));
};

test("frames, whole", () => deepEqual(parse([wire]), want));

test("frames cut between any two characters, or all of them", () => {
  for (let i = 0; i <= wire.length; i++) deepEqual(parse([wire.slice(0, i), wire.slice(i)]), want, `cut at ${i}`);
  deepEqual(parse([...wire]), want);
});

test("line ends of all three kinds, mixed and cut", () => {
  deepEqual(parse([...wire.replaceAll("\n", "\r\n")]), want);
  deepEqual(parse([wire.replaceAll("\n", "\r")]), want);
  deepEqual(parse(["data: a\r", "\ndata: b\r", "\rdata: c\n\n"]), [{ id: 0, data: "a\nb" }, { id: 0, data: "c" }]);
});

test("fields: no space, no colon, unknown ones, several data lines", () => {
  deepEqual(parse(["id:7\nretry: 10\nevent: x\ndata:a\ndata\ndata:  b\n\n"]), [{ id: 7, data: "a\n\n b" }]);
});

test("an id stays until the next one; what is no number is none", () => {
  deepEqual(parse(["id: 3\ndata: a\n\ndata: b\n\nid: x\ndata: c\n\nid: -1\ndata: d\n\n"]).map((f) => f.id), [3, 3, 3, 3]);
});

test("a frame without data is none, nor is one that breaks off", () => {
  deepEqual(parse(["id: 1\n\n: only a comment\n\ndata: half\n"]), []);
});

test("characters are put together from bytes cut anywhere", async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: {"t":"größe 🟢 אב"}\n\n');
  let alive = 0;
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(new Uint8Array([byte]));
      controller.close();
    },
  });
  const got = [];
  for await (const frame of frames(body, () => alive++)) got.push(frame);
  deepEqual(got, [{ id: 1, data: '{"t":"größe 🟢 אב"}' }]);
  equal(alive, bytes.length);
});

test("leaving the loop cancels the body", async () => {
  let cancelled = false;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(new TextEncoder().encode("data: x\n\n")),
    cancel() { cancelled = true; },
  });
  for await (const _ of frames(body)) break;
  await Promise.resolve();
  equal(cancelled, true);
});

test("a line in pieces costs its length, not the square of it", () => {
  const piece = "x".repeat(1 << 12);
  const cost = (/** @type {number} */ n) => handled(() => {
    const parser = new Parser();
    parser.push("data: ");
    for (let i = 0; i < n; i++) parser.push(piece);
    const [frame] = parser.push("\n\n");
    equal(frame.data.length, n << 12);
  });
  const ratio = cost(1_280) / cost(640);
  ok(ratio > 1 && ratio < 2.1, `twice the length costs ${ratio} times as much`);
});
