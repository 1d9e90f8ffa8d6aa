/**
 * SIGKILL at random points over kinds of runs: each must end byte for byte as one that was never killed. Then flipped bits: a stopped run
 * of which one bit is another must be refused, or end so, or have files that are refused when they are read.
 *
 *     npm run build && npx jiti bench/kills.ts --kills 20 --flips 200 --kinds letters,ahead,ppo,adapter,office,knowledge
 *
 * A killed run is resumed and killed again until it ends; then the next one starts, until there were so many kills. Flipped runs are resumed by
 * the same command in this process. What differs between any two runs is left out: times, process numbers, and the checkpoints' own folders.
 * The sample that the tests run is test/resume.test.ts.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { main } from "../entries/program.ts";
import { RetrogradeError } from "../src/core/errors.ts";
import { randomStream } from "../src/core/random.ts";
import { readControl } from "../src/runs/control.ts";
import { readCredits } from "../src/runs/credits.ts";
import { readIndex } from "../src/runs/index-file.ts";
import { readEpisodes, readEvaluations, readMetrics, readTrajectories, trajectorySteps } from "../src/runs/read.ts";
import { tokenizerFolder } from "../src/runs/tokenizer-files.ts";
import { writeTinyModel } from "../test/tiny-model.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-kills-"));
/** A small model for which every step has signal: the worlds' own models rarely have some in so few rollouts. */
const small = ["--config", join(root, "letters.config.ts")];
const kinds: Readonly<Record<string, readonly string[]>> = {
  letters: [...small, "--algorithm", "seeupo"],
  ahead: [...small, "--algorithm", "grpo", "--set", "rollout.ahead=2"],
  ppo: [...small, "--algorithm", "ppo"],
  adapter: [...small, "--algorithm", "grpo", "--set", "engine.lora.rank=4"],
  office: ["--env", "office"],
  knowledge: ["--env", "knowledge", "--algorithm", "arpo", "--set", "rollout.groupSize=4"],
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
    flips: { type: "string", default: "0" },
    seed: { type: "string", default: "1" },
  },
});
const program = join(import.meta.dirname, "../dist/entries/main.js");
let failed = false;
await writeTinyModel(join(root, "tiny"));
const letters = join(import.meta.dirname, "../test/letters.ts");
writeFileSync(
  small[1],
  `import { lettersEnvironment } from ${JSON.stringify(letters)};
   export default { environment: lettersEnvironment(), model: ${JSON.stringify(join(root, "tiny"))} };`,
);

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
  if (Number(values.flips) > 0) failed = !(await flipBits(kind, straight, Number(values.flips))) || failed;
}
rmSync(root, { recursive: true, force: true });
process.exitCode = failed ? 1 : 0;

/** Flips one bit at a time in a run that was stopped before its end. @returns whether nothing went wrong unseen */
async function flipBits(kind: string, straight: string, flips: number): Promise<boolean> {
  const started = performance.now();
  const [stopped, damaged] = [join(root, `${kind}-stopped`), join(root, `${kind}-flipped`)];
  cpSync(straight, stopped, { recursive: true });
  for (const name of ["summary.json", "model", "checkpoints/step-000006"]) rmSync(join(stopped, name), { recursive: true });
  const names = filesOf(stopped);
  const expected = contentsOf(straight);
  const outcomes = { refused: 0, "older checkpoint": 0, "refused when read": 0, "no difference": 0 };
  const silent: string[] = [];
  for (let flip = 0; flip < flips; flip++) {
    const random = randomStream(Number(values.seed), "flips", kind, flip);
    cpSync(stopped, damaged, { recursive: true });
    const name = random.pick(names);
    const bytes = readFileSync(join(damaged, name));
    if (bytes.length === 0) continue;
    bytes[random.integer(bytes.length)] ^= 1 << random.integer(8);
    writeFileSync(join(damaged, name), bytes);
    const { code, output } = await resumeHere(damaged);
    const differing = code === 0 ? differences(expected, contentsOf(damaged)) : [];
    if (code !== 0) outcomes.refused++;
    else if (differing.length === 0) outcomes[output.includes("is damaged") ? "older checkpoint" : "no difference"]++;
    else if (await isRefused(damaged)) outcomes["refused when read"]++;
    else if (await readsAs(damaged, straight))
      outcomes["no difference"]++; // a header of gzip, the name of a seal
    else silent.push(`${name}: ${differing.join(", ")}`);
    rmSync(damaged, { recursive: true });
  }
  const counts = Object.entries(outcomes).map(([outcome, count]) => `${outcome} ${count}`);
  const seconds = Math.round((performance.now() - started) / 1000);
  console.log(
    `${kind}: ${flips} flipped bits over ${names.length} files: ${counts.join(", ")}, silent ${silent.length}, ${seconds} s`,
  );
  for (const line of silent) console.log(`  ${line}`);
  return silent.length === 0;
}

async function isRefused(folder: string): Promise<boolean> {
  return contentRead(folder).then(
    () => false,
    (error: unknown) => error instanceof RetrogradeError,
  );
}

async function readsAs(folder: string, other: string): Promise<boolean> {
  const [a, b] = await Promise.all([contentRead(folder), contentRead(other)]);
  return a === b;
}

/** All that the package reads of a finished run, but for times. */
async function contentRead(folder: string): Promise<string> {
  const steps = trajectorySteps(folder);
  const evaluations = readEvaluations(folder);
  tokenizerFolder(folder);
  return JSON.stringify([
    [readMetrics(folder), evaluations, readIndex(folder), readControl(folder)],
    [steps.map((step) => readTrajectories(folder, step)), evaluations.map((record) => readEpisodes(folder, record))],
    await Promise.all(steps.map((step) => readCredits(folder, step))),
  ]);
}

/** @param killAfter milliseconds from the first line of output on */
function train(
  kind: string,
  out: string,
  killAfter?: number,
): Promise<{ code: number | null; output: string; milliseconds: number }> {
  const settings = [...tiny, ...(kind === "knowledge" ? [] : smallGroups), ...kinds[kind]];
  const resume = existsSync(join(out, "run.json"));
  const args = ["train", "--no-dashboard", "--out", out, ...(resume ? ["--resume", ...small] : settings)];
  const child = spawn(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NO_COLOR: "1" },
  });
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

async function resumeHere(out: string): Promise<{ code: number; output: string }> {
  let output = "";
  const hear = { write: (text: string) => (output += text) };
  const code = await main(["train", "--no-dashboard", "--resume", "--out", out, ...small], hear, hear);
  return { code, output };
}

/** Digests of all files that two runs with one seed have in common. */
function contentsOf(folder: string): Map<string, string> {
  const own = /^(run\.json|timing\.jsonl|messages\.jsonl|live\.json|summary\.json|checkpoints\/.*|\..*)$/;
  return new Map(
    filesOf(folder)
      .filter((name) => !own.test(name))
      .map((name) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(folder, name)))
          .digest("hex"),
      ]),
  );
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .sort();
}

function differences(expected: ReadonlyMap<string, string>, found: ReadonlyMap<string, string>): string[] {
  return [...new Set([...expected.keys(), ...found.keys()])]
    .filter((name) => expected.get(name) !== found.get(name))
    .map((name) => `${name} ${found.has(name) ? (expected.has(name) ? "differs" : "is too much") : "is missing"}`);
}
