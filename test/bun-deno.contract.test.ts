import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readMetrics, readRun, readTrajectories } from "../src/runs/read.ts";
import { compiledProgram } from "./compiled.ts";

// The compiled package in Bun and Deno: RETROGRADE_BUN_DENO="$(./.ci/bun-deno)" npx vitest run test/bun-deno.contract.test.ts
const programs = process.env.RETROGRADE_BUN_DENO;
const without = programs === undefined ? " (skipped: set RETROGRADE_BUN_DENO, as .ci/bun-deno prints it)" : "";

const folder = mkdtempSync(join(tmpdir(), "bun-deno-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** A project as users have it: TypeScript with an enum, an alias and an import without an extension. */
const files = {
  "package.json": '{ "type": "module" }',
  "tsconfig.json": '{ "compilerOptions": { "paths": { "@/*": ["./src/*"] } } }',
  "src/role.ts": 'export enum Role { User = "user" }',
  "src/ask.ts": `import { Role } from "./role";
    export async function ask(content: string): Promise<string> {
      const headers = { authorization: \`Bearer \${process.env.OPENAI_API_KEY}\` };
      const body = JSON.stringify({ model: "gpt-5-mini", messages: [{ role: Role.User, content }] });
      const response = await fetch(\`\${process.env.OPENAI_BASE_URL}/chat/completions\`, { method: "POST", headers, body });
      return (await response.json()).choices[0].message.content;
    }`,
  "agent.ts": 'import { ask } from "@/ask";\nexport default (prompt: string): Promise<string> => ask(prompt);',
  "reward.ts": "export default ({ answer }: { answer: string }) => (answer.length % 3) / 2;",
  "tasks.jsonl": ["one", "two", "three"].map((word) => JSON.stringify({ prompt: `Say ${word}.` })).join("\n"),
  "python.ts": `import { createPython } from "retrograde-rl";
    console.log((await createPython({ interpreters: 1, allowUnwalled: true }).run("6 * 7")).output);`,
};

const run = (command: string, ...args: readonly string[]) => execFileSync(command, args, { cwd: folder, encoding: "utf8" });

/** Trains the agent for a step. @returns all of it that does not depend on clocks, and what it ran in */
function trained(out: string, command: string, ...args: readonly string[]) {
  const settings = "--model bundled:office --algorithm grpo --steps 1 --tasks-per-step 2 --group-size 4 --threads 1 --seed 3";
  const what = ["--tasks", "tasks.jsonl", "--reward", "./reward.ts", "--set", "evaluation.tasks=0", "--no-dashboard"];
  run(command, ...args, compiledProgram(), "train-agent", "./agent.ts", ...what, ...settings.split(" "), "--out", out);
  const [{ metrics }] = readMetrics(join(folder, out));
  return {
    runtime: readRun(join(folder, out)).node,
    reward: metrics.reward,
    learned: (metrics.gradientNorm ?? 0) > 0,
    actions: readTrajectories(join(folder, out), 1).map(({ turns }) => turns.map(({ action }) => [...action])),
    weights: readFileSync(join(folder, out, "model/model.safetensors")).toString("base64"),
  };
}

describe.skipIf(programs === undefined)(`Bun and Deno${without}`, () => {
  beforeAll(() => {
    for (const name of ["src", "node_modules"]) mkdirSync(join(folder, name));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    symlinkSync(join(import.meta.dirname, ".."), join(folder, "node_modules/retrograde-rl"));
  });

  const commands: readonly (readonly [name: string, program: string, ...args: string[]])[] = [
    ["Bun", join(programs ?? "", "bun")],
    ["Deno", join(programs ?? "", "deno"), "run", "-A"],
  ];

  test("train an agent of a TypeScript project to the weights that Node gives the same seed", () => {
    const { runtime, ...inNode } = trained("node", process.execPath);
    expect(runtime).toBe(process.version);
    expect(inNode.learned).toBe(true);
    for (const [name, program, ...args] of commands)
      expect(trained(name, program, ...args)).toEqual({ runtime: expect.stringMatching(`^${name} \\d`), ...inNode });
  });

  test.each(commands)("%s runs the Python tool in Node", (_, program, ...args) => {
    expect(run(program, ...args, "python.ts")).toContain("42");
  });
});
