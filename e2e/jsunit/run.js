// Runs in: the page of jsunit/index.html. With ?file=x.test.js it runs that
// file's tests and leaves the verdict in <html data-verdict>; without, it
// lists the files for a person.
import { tests } from "./harness.js";

const limit = 15000; // ms, of one test

const report = /** @type {HTMLElement} */ (document.getElementById("report"));
const stage = /** @type {HTMLElement} */ (document.getElementById("stage"));

/** @type {string[]} what the page threw while no one listened */
const errors = [];
addEventListener("error", (event) => errors.push(`${event.message} (${event.filename}:${event.lineno})`));
addEventListener("unhandledrejection", (event) => errors.push(`unhandled rejection: ${trace(event.reason)}`));
addEventListener("securitypolicyviolation", (event) => errors.push(`the content security policy forbids ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`));

const file = new URLSearchParams(location.search).get("file");
if (file) await runFile(file);
else await listFiles();

/** @param {string} name */
async function runFile(name) {
  const verdict = { Tests: /** @type {{Name: string, Fail: string, MS: number}[]} */ ([]), Errors: errors };
  try {
    await import(`./${name}`);
  } catch (error) {
    errors.push(`import ${name}: ${trace(error)}`);
  }
  for (const { name, run } of tests) {
    stage.replaceChildren();
    const before = errors.length;
    const started = performance.now();
    let fail = "";
    try {
      await Promise.race([run(stage), late()]);
      await new Promise((next) => setTimeout(next)); // rejections of this test are told now
    } catch (error) {
      fail = trace(error);
    }
    if (errors.length > before) fail = [fail, ...errors.splice(before)].filter(Boolean).join("\n");
    verdict.Tests.push({ Name: name, Fail: fail, MS: performance.now() - started });
    show(name, fail);
  }
  document.documentElement.dataset.verdict = JSON.stringify(verdict);
}

async function listFiles() {
  const files = await (await fetch("files.json")).json();
  for (const name of files) {
    const link = document.createElement("a");
    link.href = `?file=${encodeURIComponent(name)}`;
    link.textContent = name;
    const line = document.createElement("p");
    line.append(link);
    report.append(line);
  }
}

/** @param {string} name @param {string} fail */
function show(name, fail) {
  const line = document.createElement("p");
  line.textContent = `${fail ? "failed" : "ok"}: ${name}`;
  line.className = fail ? "failed" : "";
  report.append(line);
  if (!fail) return;
  const why = document.createElement("pre");
  why.textContent = fail;
  report.append(why);
}

function late() {
  return new Promise((_, reject) => setTimeout(() => reject(new Error(`not done within ${limit / 1000} s`)), limit));
}

/** @param {any} error */
function trace(error) {
  if (!(error instanceof Error)) return String(error);
  const lines = (error.stack ?? String(error)).split("\n").filter((line) => !line.includes("/jsunit/harness.js") && !line.includes("/jsunit/run.js"));
  return lines.join("\n").replaceAll(location.origin, "");
}
