/**
 * SIGKILL at random points over five kinds of runs: each must end byte for byte as one that was never killed.
 *
 *     npm run build && npx jiti bench/kills.ts --kills 20 --kinds office,knowledge,ahead,ppo,adapter
 *
 * A killed run is resumed and killed again until it ends; then the next one starts, until there were so many kills. What differs between any
 * two runs is left out: times, process numbers, and the checkpoints' own folders. The sample that the tests run is test/resume.test.ts.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { randomStream } from "../src/core/random.ts";

const kinds: Readonly<Record<string, readonly string[]>> = {
  office: ["--env", "office"],
  knowledge: ["--env", "knowledge", "--algorithm", "arpo", "--set", "rollout.groupSize=4"],
  ahead: ["--env", "office", "--algorithm", "grpo", "--set", "rollout.ahead=2"],
  ppo: ["--env", "office", "--algorithm", "ppo"],
  adapter: ["--env", "office", "--algorithm", "grpo", "--set", "engine.lora.rank=4"],
};

const tiny = [
  ...["steps=6", "rollout.tasksPerStep=2", "rollout.maxTurns=3", "rollout.maxTokens=16", "evaluation.tasks=2", "evaluation.k=1"],
  ...["evaluation.during.every=3", "evaluation.during.tasks=2", "checkpoint.every=2", "engine.threads=1"],
].flatMap((setting) => ["--set", setting]);
const smallGroups = ["--set", "rollout.groupSize=2"];

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "20" },
    kinds: { type: "string", default: Object.keys(kinds).join(",") },
    seed: { type: "string", default: "1" },
  },
});
const program = join(import.meta.dirname, "../dist/entries/main.js");
const root = mkdtempSync(join(tmpdir(), "retrograde-kills-"));
let failed = false;

for (const kind of values.kinds.split(",")) {
  const started = performance.now();
  const straight = join(root, `${kind}-straight`);
  const whole = await train(kind, straight);
  if (whole.code !== 0) throw new Error(`the ${kind} run that is never killed fails:\n${whole.output}`);
  const expected = contentsOf(straight);

  const random = randomStream(Number(values.seed), "kills", kind);
  let [kills, runs, early] = [0, 0, 0];
  const wrong: string[] = [];
  while (kills < Number(values.kills)) {
    const folder = join(root, `${kind}-killed-${runs++}`);
    for (;;) {
      const after = kills < Number(values.kills) ? random.uniform() * 0.6 * whole.milliseconds : undefined;
      const resumed = existsSync(join(folder, "run.json"));
      const { code, output } = await train(kind, folder, after);
      if (code === null) {
        kills++;
        if (!existsSync(join(folder, "run.json"))) early++;
        continue;
      }
      if (code !== 0) wrong.push(`${resumed ? "resumed" : "new"} run ends with ${code}: ${output.slice(-500)}`);
      break;
    }
    wrong.push(...differences(expected, contentsOf(folder)));
    rmSync(folder, { recursive: true, force: true });
  }
  failed ||= wrong.length > 0;
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(
    `${kind}: ${kills} kills in ${runs} runs (${early} before run.json), ${expected.size} files compared, ` +
      `${wrong.length} differences, ${seconds} s`,
  );
  for (const line of wrong) console.log(`  ${line}`);
}
rmSync(root, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;

/** @param killAfter milliseconds from the first line of output on */
function train(
  kind: string,
  out: string,
  killAfter?: number,
): Promise<{ code: number | null; output: string; milliseconds: number }> {
  const settings = [...tiny, ...(kind === "knowledge" ? [] : smallGroups), ...kinds[kind]];
  const resume = existsSync(join(out, "run.json"));
  const args = [program, "train", "--no-dashboard", "--out", out, ...(resume ? ["--resume"] : settings)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, NO_COLOR: "1" } });
  let output = "";
  let first = 0;
  const hear = (data: Buffer) => {
    if (first === 0) {
      first = performance.now();
      if (killAfter !== undefined) setTimeout(() => child.kill("SIGKILL"), killAfter);
    }
    output += data.toString();
  };
  child.stdout.on("data", hear);
  child.stderr.on("data", hear);
  return new Promise((resolve) =>
    child.on("close", (code) => resolve({ code, output, milliseconds: performance.now() - first })),
  );
}

/** Digests of all files that two runs with one seed have in common. */
function contentsOf(folder: string): Map<string, string> {
  const own = /^(run\.json|timing\.jsonl|messages\.jsonl|live\.json|summary\.json|checkpoints\/.*|\..*)$/;
  return new Map(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), path] as const)
      .filter(([name]) => !own.test(name))
      .map(([name, path]) => [name, createHash("sha256").update(readFileSync(path)).digest("hex")]),
  );
}

function differences(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  return [...new Set([...expected.keys(), ...found.keys()])]
    .filter((name) => expected.get(name) !== found.get(name))
    .map((name) => `${name} ${found.has(name) ? (expected.has(name) ? "differs" : "is too much") : "is missing"}`);
}
