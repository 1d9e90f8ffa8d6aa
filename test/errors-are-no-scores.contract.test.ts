import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { measured, program, tasks } from "./errors-are-no-scores.fixture.ts";

test("a program's requests are seen too", async () => {
  const busy = await measured("busy", program, tasks.slice(0, 2));
  expect(busy).toMatchObject({ attempts: 2, errors: 1, success: { mean: 1 } });
});

test("a matcher that is not awaited fails its test, negated too", async () => {
  const folder = mkdtempSync(join(tmpdir(), "retrograde-unawaited-"));
  const entry = new URL("../entries/vitest.ts", import.meta.url).pathname;
  writeFileSync(
    join(folder, "page.test.ts"),
    `import { agentMatchers } from ${JSON.stringify(entry)};
expect.extend(agentMatchers);
const tasks = [{ prompt: "1" }];
const late = (answer) => async () => { await new Promise((go) => setTimeout(go, 50)); return answer; };
const reward = ({ answer }) => Number(answer === "right");
const broken = () => { throw new Error("no judge"); };
test("wrong", () => { expect(late("wrong")).toSucceed(tasks, { reward, atLeast: 1 }); });
test("right, negated", () => { expect(late("right")).not.toSucceed(tasks, { reward, atLeast: 1 }); });
test("an error, negated", () => { expect(late("right")).not.toSucceed(tasks, { reward: broken, atLeast: 1 }); });
test("right", () => { expect(late("right")).toSucceed(tasks, { reward, atLeast: 1 }); });
test("awaited", async () => { await expect(expect(late("wrong")).toSucceed(tasks, { reward, atLeast: 1 })).rejects.toThrow("0.0 %"); });
`,
  );
  writeFileSync(join(folder, "vitest.config.mjs"), "export default {};");
  const vitest = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
  const run = promisify(execFile)(process.execPath, [vitest, "run", "--globals", "--root", folder], { cwd: folder });
  const { code, stdout } = await run.then(
    ({ stdout }) => ({ code: 0, stdout }),
    (error: { code: number; stdout: string }) => error,
  );
  rmSync(folder, { recursive: true });
  expect(stdout).toMatch(/3 failed.*2 passed/);
  expect(stdout).not.toContain("Unhandled");
  expect(code).toBe(1);
});
