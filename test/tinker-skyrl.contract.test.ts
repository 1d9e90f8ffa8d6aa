import "../extensions/install.ts";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test, vi } from "vitest";
import { createTinkerEngine } from "../extensions/tinker/engine/engine.ts";
import type { Findings } from "../extensions/tinker/engine/probe.ts";
import { serveModel } from "../research/tinker-server/local-model.ts";
import { probedServers } from "../scripts/probed-servers.ts";
import { readMetrics, readTimings } from "../src/runs/read.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import type { UserConfig } from "../src/training/config/user-config.ts";
import { adamW, distance, plain, samples, someWeights } from "./engine-fixtures.ts";
import { engineSuite } from "./engine-suite.ts";
import { lettersEnvironment } from "./letters.ts";
import { parityAlgorithms, parityOf } from "./tinker-parity.ts";

/**
 * A real SkyRL server on a CPU. RETROGRADE_SKYRL_HOME names the folder in which `.ci/skyrl` installed and started it: there are its model and
 * `server.env`. RETROGRADE_SKYRL_START names the script that starts it again.
 */
const home = process.env.RETROGRADE_SKYRL_HOME;
const start = process.env.RETROGRADE_SKYRL_START;
const there = home !== undefined && existsSync(join(home, "server.env"));
const because = there ? "" : " — skipped: no SkyRL server runs (./.ci/skyrl)";
/** Minutes where the machine is busy. */
const patience = { timeout: 900_000 };

const server = (name: string) =>
  new RegExp(`${name}=(\\S+)`).exec(readFileSync(join(home ?? "", "server.env"), "utf8"))?.[1] ?? "";
const url = () => server("TINKER_BASE_URL");
const model = join(home ?? "", "tiny-qwen3");
const out = mkdtempSync(join(tmpdir(), "retrograde-skyrl-"));

const configuration = (name: string, changes: UserConfig): UserConfig => ({
  ...{ environment: lettersEnvironment(), model, out: join(out, name), seed: 3, steps: 2 },
  engine: { kind: "tinker", url: url(), model: "tiny-qwen3", rank: 4, maxLength: 512 },
  rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 6 },
  optimizer: { learningRate: 1e-2, clipNorm: "off" },
  evaluation: { tasks: 0 },
  checkpoint: { exact: false },
  ...changes,
});

const run = async (name: string, changes: UserConfig) => {
  const config = configuration(name, changes);
  await runPlan(await planRun(config));
  return readMetrics(join(out, name));
};

/** Turns of an episode in the letters' world. */
const maxTurnUpdates = 2;

/** Rewards differ from rollout to rollout in the letters' world only if "b" is said, which a random model of 512 tokens does rarely: lengths do. */
const rewards: UserConfig["rewards"] = [
  {
    name: "short",
    verify: ({ trajectory }) => -trajectory.turns.reduce((sum, { action }) => sum + action.length + (action[0] % 7), 0),
  },
];

test.skipIf(!there).each(["seeupo", "grpo"] as const)(
  `%s trains through a real SkyRL server, and logs its calls${because}`,
  patience,
  async (kind) => {
    const metrics = await run(kind, { algorithm: kind, rewards });
    expect(metrics).toHaveLength(2);
    for (const { metrics: step } of metrics) {
      expect(Number(step.samplerGapMax)).toBeLessThan(1e-4);
      expect(Number.isFinite(Number(step.gradientNorm))).toBe(true);
    }
    for (const { requests, serverWaits, sharedTokens, trainedTokens } of readTimings(join(out, kind))) {
      expect(requests).toBeGreaterThan(8);
      expect(serverWaits).toBeLessThanOrEqual(kind === "grpo" ? 2 : 3 * maxTurnUpdates - 1);
      expect(trainedTokens).toBeGreaterThan(Number(sharedTokens));
    }
  },
);

test.skipIf(!there)(`SFT through a real SkyRL server lowers its loss${because}`, patience, async () => {
  const data = join(out, "chats.jsonl");
  const said = (word: string) => ({
    messages: [
      { role: "user", content: word },
      { role: "assistant", content: "look up the flight" },
    ],
  });
  writeFileSync(data, ["book", "order", "weather", "cancel"].map((word) => JSON.stringify(said(word))).join("\n"));
  const metrics = await run("sft", {
    algorithm: { kind: "sft", data, tokensPerStep: 200 },
    steps: 10,
    optimizer: { learningRate: 0.1, clipNorm: "off", schedule: "constant" },
  });
  const losses = metrics.map(({ metrics: step }) => Number(step.loss));
  // A random model of 512 tokens begins at log 512 = 6.2 nats; ten steps of an adapter of rank 4 took it to 5.6.
  expect(losses.at(-1)).toBeLessThan(losses[0] - 0.3);
});

test.skipIf(!there)(
  `ARPO without branches trains through a real SkyRL server; branches are refused by name${because}`,
  patience,
  async () => {
    const branching = configuration("branching", { algorithm: "arpo", rewards });
    await expect(planRun(branching).then(runPlan)).rejects.toThrow(/rollout\.branching\.entropy.*top-logprobs/s);
    const rollout = { tasksPerStep: 2, groupSize: 4, maxTokens: 6, branching: "off" } as const;
    // Its loss does not accumulate over passes, so a batch is one mini-batch.
    const metrics = await run("arpo", { algorithm: { kind: "arpo", miniBatches: 1 }, rollout, rewards });
    expect(metrics).toHaveLength(2);
  },
);

/** What the first engine finds out holds for the others. */
let known: Findings | undefined;
const open = (findings: Findings | undefined) =>
  createTinkerEngine({
    ...{
      baseUrl: url(),
      model: "tiny-qwen3",
      rank: 4,
      seed: 1,
      vocabularySize: 512,
      maxLength: 2048,
      patienceMs: 60_000,
      findings,
    },
  });

vi.setConfig({ testTimeout: patience.timeout });
const openKnown = async () => {
  const engine = await open(known);
  known = engine.findings;
  return engine;
};
if (there) engineSuite("The engine on a real SkyRL server", openKnown, ["reference", "adam-settings", "exact-state"]);
else test.skip(`the engine on a real SkyRL server keeps its promises${because}`, () => {});

test.skipIf(!there)(`the probe finds on a real SkyRL server what the table of servers says${because}`, patience, async () => {
  const engine = await open(undefined);
  known = engine.findings;
  const { form, adam, clips, topLogprobs, rejected, logprobGap, wideSeeds } = known;
  expect(wideSeeds).toBe(false);
  const recorded = probedServers.find(({ name }) => name === "SkyRL 0.4.0, JAX");
  expect({ form: form.name, adam, clips, topLogprobs }).toEqual(recorded?.findings);
  expect(rejected.join()).toMatch(/cross_entropy with signed weights: twice the weights/);
  expect(logprobGap).toBeLessThan(1e-4);
  await engine.dispose();
});

test.skipIf(!there).each(parityAlgorithms)(
  `%s moves a model on a real SkyRL server as it does in process, from the same adapter${because}`,
  patience,
  async (kind, algorithm) => {
    const engine = await openKnown();
    const base = await serveModel("tiny-qwen3", model, 1);
    const { moved, before, after } = await parityOf(algorithm, engine, base, join(out, `parity-${kind}`));
    expect(before).toBeLessThan(1e-4);
    expect(moved).toBeGreaterThan(1e-2);
    // Its adapters of q, k and v have one A, and so have gate and up: from the second step on A moves by the sum of what ours have apart.
    expect(after).toBeLessThan(kind.startsWith("seeupo") ? 0.05 * moved : 1e-4 + 0.001 * moved);
    await engine.dispose();
  },
);

const restartable = there && start !== undefined;
test.skipIf(!restartable)(
  `the engine's process is killed in a step: the run continues on a restarted server, and nothing is applied twice${restartable ? "" : because || " — skipped: RETROGRADE_SKYRL_START names no script"}`,
  patience,
  async () => {
    const expected = await open(known);
    const engine = await open(expected.findings);
    const one = async (each: typeof engine) => {
      await each.forwardBackward(samples, someWeights, plain);
      await each.step(adamW);
    };
    await one(expected);
    await one(expected);
    const undisturbed = await expected.logprobs(samples, plain);
    await one(engine);
    await engine.saveState(join(out, "killed"));
    const broken = engine.forwardBackward(samples, someWeights, plain).then(() => engine.step(adamW));
    process.kill(Number(server("TINKER_ENGINE_PID")), "SIGKILL");
    const env = { ...process.env, TINKER_HOME: home, TINKER_PORT: new URL(url()).port, TINKER_KEEP_DB: "1" };
    const again = spawnSync(resolve(start ?? ""), [], { env, stdio: ["ignore", "ignore", "pipe"] });
    expect(String(again.stderr).slice(-500), "the server starts again").not.toMatch(/did not start/);
    await broken;
    expect(engine.weightVersion).toBe(2);
    expect(distance(await engine.logprobs(samples, plain), undisturbed)).toBeLessThan(1e-5);
    await engine.dispose();
    void expected.dispose().catch(() => {}); // its model is gone with the process
  },
);
