import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import * as evals from "../entries/evals.ts";
import * as entry from "../entries/index.ts";
import { loadModule } from "../src/training/config/config-file.ts";

/** What a configuration file imports of this package, where that is a clone. */

const folder = mkdtempSync(join(tmpdir(), "retrograde-imports-"));

afterAll(() => rmSync(folder, { recursive: true }));

test("a file's imports are the package itself, also those of a file that it imports", async () => {
  writeFileSync(join(folder, "beside.ts"), 'export { ConfigError, defineTool } from "retrograde-rl";\n');
  const file = join(folder, "config.ts");
  writeFileSync(
    file,
    `import { connectMcp } from "retrograde-rl";
import { fromEvalite } from "retrograde-rl/evals";
import { ConfigError, defineTool } from "./beside.ts";
const late = () => import("retrograde-rl");
export default { connectMcp, fromEvalite, ConfigError, defineTool, late };
`,
  );
  const { late, ...loaded } = (await loadModule(file)) as { readonly late: () => Promise<typeof entry> };
  const { connectMcp, ConfigError, defineTool } = entry;
  expect(loaded).toEqual({ connectMcp, ConfigError, defineTool, fromEvalite: evals.fromEvalite });
  expect((await late()).connectMcp).toBe(connectMcp);
});
