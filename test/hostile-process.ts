/** One of the servers, for strangers who send what they like: `hostile-process.ts NAME FOLDER`, where FOLDER has a tiny model in `model`. */
import "../extensions/install.ts";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startDashboard } from "../extensions/dashboard/server/server.ts";
import { serveEnvironment } from "../extensions/remote/server/serve-environment.ts";
import { startInference } from "../extensions/serve/cli/serve.ts";
import { startServer } from "../research/tinker-server/cli/serve.ts";
import { createScreen } from "../src/terminal/screen.ts";
import { counting } from "./environments/counting.ts";

const [name, folder] = process.argv.slice(2);
const silent = createScreen({ write: () => true });
const model = [`tiny=${join(folder, "model")}`];
const runs = join(folder, "runs");
mkdirSync(runs, { recursive: true });

const start = {
  openenv: () => serveEnvironment({ environment: counting(), as: "openenv", port: 0 }),
  ors: () => serveEnvironment({ environment: counting(), as: "ors", port: 0 }),
  inference: () => startInference({ inference: true, model, port: 0, threads: 1 }, silent),
  tinker: () => startServer({ model, port: 0, threads: 1, store: join(folder, "store") }, silent),
  dashboard: async () => ({ baseUrl: (await startDashboard({ runs, port: 0 })).url }),
}[name];
if (start === undefined) throw new Error(`no server ${name}`);
const { baseUrl } = await start();
console.log(`port ${new URL(baseUrl).port}`);
