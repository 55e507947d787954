// Serves a copy of this app: node serve.js FOLDER CACHE. Says its address on
// the first line, and ends with its input, so it cannot outlive who started it.
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { createServer } from "vite";

const [root, cacheDir] = process.argv.slice(2);
const server = await createServer({
  root,
  cacheDir,
  configFile: join(root, "vite.config.js"),
  clearScreen: false,
  logLevel: "warn",
  server: {
    host: "127.0.0.1",
    port: 0,
    // The copy has this folder's modules, by a link.
    fs: { allow: [root, realpathSync(join(root, "node_modules"))] },
    // A watch by events was seen to miss, on a busy machine, a file that was
    // replaced right after it had been written.
    watch: { usePolling: true, interval: 50 },
  },
  optimizeDeps: { include: ["react", "react-dom/client", "react/jsx-dev-runtime"] },
});
await server.listen();
const { port } = /** @type {import("node:net").AddressInfo} */ (server.httpServer.address());
console.log(`http://127.0.0.1:${port}`);

process.stdin.resume();
process.stdin.on("end", async () => {
  await server.close();
  process.exit(0);
});
