import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("the matcher of docs/agents.md works as it is printed", async () => {
  const page = readFileSync(new URL("../docs/agents.md", import.meta.url), "utf8");
  const block =
    [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code]) => code).find((code) => code.includes("toSucceed")) ?? "";
  const folder = mkdtempSync(join(tmpdir(), "retrograde-matcher-"));
  const given = `const tasks = [{ prompt: "1" }, { prompt: "2" }];
const [agent, reward] = [async (prompt: string) => prompt, ({ answer }) => Number(answer === "1" || answer === "2")];
`;
  const entry = new URL("../entries/vitest.ts", import.meta.url).pathname;
  writeFileSync(join(folder, "page.test.ts"), given + block.replace("retrograde-rl/vitest", entry));
  writeFileSync(join(folder, "vitest.config.mjs"), "export default {};");
  const vitest = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
  const { stdout } = await promisify(execFile)(process.execPath, [vitest, "run", "--globals", "--root", folder], { cwd: folder });
  rmSync(folder, { recursive: true });
  expect(stdout).toMatch(/1 passed/);
});
