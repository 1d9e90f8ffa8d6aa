import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Environment } from "../src/environments/environment.ts";
import { loadModule } from "../src/training/config/config-file.ts";

/** What a configuration file imports of this package, where that is a clone. */

const folder = mkdtempSync(join(tmpdir(), "retrograde-imports-"));

afterAll(() => rmSync(folder, { recursive: true }));

test("four episodes that start at once each connect a server of their own", async () => {
  const server = join(import.meta.dirname, "fixtures/mcp/server.mjs");
  const file = join(folder, "retrograde.config.ts");
  writeFileSync(
    file,
    `import { connectMcp, defineEnvironment } from "retrograde-rl";
export default defineEnvironment({
  name: "four",
  tasks: [{ prompt: "Add." }],
  start: async () => {
    const { tools, close } = await connectMcp({ command: process.execPath, args: [${JSON.stringify(server)}] });
    return { tools, close, reward: () => 1 };
  },
});
`,
  );
  const environment = (await loadModule(file)) as Environment;
  const task = await environment.task("train", 0);
  const episodes = await Promise.all([1, 2, 3, 4].map(() => environment.start(task, 0)));
  const pids = episodes.map(({ tools }) =>
    tools.find(({ name }) => name === "pid")?.execute({}, { signal: AbortSignal.timeout(10_000) }),
  );
  expect(new Set((await Promise.all(pids)).map(String)).size).toBe(4);
  await Promise.all(episodes.map((episode) => episode.close?.()));
});
