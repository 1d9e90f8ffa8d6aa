import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { compiledProgram } from "./compiled.ts";

const root = join(import.meta.dirname, "..");
const run = promisify(execFile);

test("skills/train-an-agent, followed word for word", async () => {
  const skill = readFileSync(join(root, "skills/train-an-agent/SKILL.md"), "utf8");
  // Inside of the project, so that the agent finds its packages.
  const cwd = mkdtempSync(join(root, "node_modules/.skill-"));
  const program = compiledProgram();
  const said: string[] = [];
  for (const [, language, file, text] of skill.matchAll(/```(\w+)(?: file=(\S+))?\n([\s\S]*?)```/g)) {
    if (language !== "sh") {
      writeFileSync(join(cwd, file), text);
      continue;
    }
    const [npx, name, ...words] = text.trim().split(" ");
    expect([npx, name]).toEqual(["npx", "retrograde-rl"]);
    said.push((await run(process.execPath, [program, ...words], { cwd })).stdout);
  }
  rmSync(cwd, { recursive: true });
  const [before, advice, , shown, compared] = said;
  const share = Number(/success (\d+\.\d) %/.exec(before)?.[1]);
  expect(share).toBeGreaterThan(5);
  expect(share).toBeLessThan(95);
  expect(advice).toMatch(/Next: it can learn here\. .* train-agent agent\.ts/);
  expect(shown).toMatch(/score\/agent\.contexts 1/);
  expect(compared).toMatch(/B − A, on the same tasks\n {3}reward [+−±-]?\d/);
  expect(said).toHaveLength(5);
});
