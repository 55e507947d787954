import { fakeChrome } from "./chrome.js";
import { deepEqual, equal, match, ok, test } from "./harness.js";

fakeChrome();
const { diagnose, failure, readMeta } = await import("../../extension/options/diagnose.js");
const { compareVersions, extensionVersion } = await import("../../extension/lib/version.js");
const { ShimError } = await import("../../extension/lib/shim.js");

/** @type {any} */
const meta = {
  project: "shop", repoDir: "/home/me/shop", version: "0.1.0", branch: "main", dirty: true, defaultProvider: "anthropic",
  git: { state: "ok", hooks: "skipped", detail: "" }, capabilities: [],
  providers: [{ id: "anthropic", label: "Anthropic", enabled: true, models: [{ id: "m", label: "M" }], defaultModel: "m", billing: "plan" }],
};
/** @param {any} change @param {string} [version] */
const find = (change, version = "0.1.0") => readMeta({ ...meta, ...change }, version);

test("versions are compared by their numbers", () => {
  const older = [["0.1.0", "0.2.0"], ["0.9.0", "0.10.0"], ["1", "1.0.1"], ["v0.1.0", "0.1.0.1"], ["0.1.0-dev", "0.1.1"]];
  for (const [a, b] of older) {
    ok(compareVersions(a, b) < 0, `${a} < ${b}`);
    ok(compareVersions(b, a) > 0, `${b} > ${a}`);
  }
  for (const [a, b] of [["0.1.0", "0.1"], ["0.1.0-dev", "0.1.0"], ["devel", "9.9.9"], ["", "0.1.0"]]) equal(compareVersions(a, b), 0, `${a} = ${b}`);
  equal(extensionVersion(), "0.1.0");
});

test("all well is a list without a problem", () => {
  deepEqual(find({}), [
    { level: "ok", title: "Project", text: "shop · main · uncommitted changes, in /home/me/shop." },
    { level: "ok", title: "Version", text: "Shim and extension are 0.1.0." },
    { level: "ok", title: "Anthropic", text: "Signed in with a plan, 1 model." },
  ]);
});

test("a newer binary offers to reload the extension, an older one does not", () => {
  const newer = find({ version: "0.2.0" })[1];
  deepEqual([newer.level, newer.fix, newer.reload], ["warn", "slidewrite extension", true]);
  const older = find({ version: "0.0.9" })[1];
  deepEqual([older.level, older.fix, older.reload], ["warn", undefined, undefined]);
  equal(find({ version: "0.1.0-dev" })[1].level, "ok");
  equal(find({ version: "" })[1].level, "info");
});

test("git that is not ok is told with its detail and its cure", () => {
  const got = find({ branch: "", dirty: false, git: { state: "locked", hooks: "run", detail: "another git runs here", fix: "rm .git/index.lock" } })[0];
  deepEqual(got, { level: "warn", title: "Project", text: "shop, in /home/me/shop. another git runs here", fix: "rm .git/index.lock" });
  match(find({ git: { state: "none", hooks: "none", detail: "" } })[0].text, /“none”/);
});

test("a provider is told as it is", () => {
  const provider = (/** @type {any} */ p) => find({ providers: [{ ...meta.providers[0], ...p }] })[2];
  deepEqual(provider({ enabled: false, error: "codex is not signed in", fix: "codex login" }), { level: "warn", title: "Anthropic", text: "Codex is not signed in.", fix: "codex login" });
  equal(provider({ pending: true, models: [] }).level, "warn");
  equal(provider({ enabled: false }), undefined, "not offered");
  equal(find({ defaultProvider: "openai", providers: [{ ...meta.providers[0], enabled: false, error: "claude: not found" }] })[2].level, "info", "not used here");
  equal(provider({ enabled: false, fix: "claude auth login" }).level, "warn");
  equal(provider({ billing: "api key …abcd", models: [] }).text, "Api key …abcd.");
  equal(provider({ billing: undefined, models: [] }).text, "Ready.");
});

test("what fails is a sentence and a command", async () => {
  const wrong = failure(new ShimError({ status: 401, code: "unauthorized", message: "Unknown token.", fix: "slidewrite pair" }));
  deepEqual(wrong, { level: "danger", title: "Token", text: "Unknown token.", fix: "slidewrite pair" });
  equal(failure(new Error("odd")).title, "Shim");
  const real = globalThis.fetch;
  try {
    globalThis.fetch = /** @type {any} */ (async () => {
      throw new TypeError("Failed to fetch");
    });
    const down = await diagnose({ shimUrl: "http://127.0.0.1:4040", token: "t" }, "0.1.0");
    deepEqual([down.meta, down.findings.length, down.findings[0].level, down.findings[0].fix], [null, 1, "danger", "slidewrite"]);
    globalThis.fetch = /** @type {any} */ (async () => Response.json({ ok: true }));
    const unpaired = await diagnose({ shimUrl: "http://127.0.0.1:4040", token: "" }, "0.1.0");
    deepEqual(unpaired.findings.map((f) => [f.level, f.title]), [["ok", "Shim"], ["danger", "Token"]]);
  } finally {
    globalThis.fetch = real;
  }
});
