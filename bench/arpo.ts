/**
 * `npx jiti bench/arpo.ts`: what branching costs and saves, and how busy slow tools leave the sampler. The default model in the office
 * world; medians of several rounds.
 */
import { cpus } from "node:os";
import { join } from "node:path";
import { branchingSchema } from "../src/agents/branching/settings.ts";
import { rolloutTrees } from "../src/agents/branching/trees.ts";
import { type GroupsOptions, rolloutGroups } from "../src/agents/rollout.ts";
import { resolveAlgorithm } from "../src/algorithms/config.ts";
import { runUpdate } from "../src/algorithms/update.ts";
import { randomStream } from "../src/core/random.ts";
import type { Group } from "../src/core/trajectory.ts";
import type { Sampler } from "../src/engines/engine.ts";
import type { Environment, Episode, Task } from "../src/environments/environment.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { openModel } from "../src/sdk/model.ts";
import { toolCallsSpent } from "../src/training/branching.ts";
import { enginePolicy } from "../src/training/engine-policy.ts";

const threads = 2;
const rounds = 3;
const office = createEnvironment("office", {});
const { engine, chat } = await openModel(join(import.meta.dirname, "../models/office"), threads);
const tasksOf = (count: number, from = 0) => Promise.all(Array.from({ length: count }, (_, i) => office.task("train", from + i)));
const base: Omit<GroupsOptions, "name" | "seed"> = {
  groupSize: 16,
  concurrency: 200,
  maxTurns: 20,
  maxTokens: 96,
  episodeTimeoutMs: 60_000,
};

function report(name: string, value: string): void {
  console.log(`${name.padEnd(58)} ${value}`);
}

async function medians(work: (round: number) => Promise<Readonly<Record<string, number>>>): Promise<Record<string, string>> {
  const results: Readonly<Record<string, number>>[] = [];
  for (let round = 0; round < rounds; round++) results.push(await work(round));
  return Object.fromEntries(
    Object.keys(results[0]).map((name) => {
      const sorted = results.map((result) => result[name]).toSorted((a, b) => a - b);
      const shown = (value: number) => value.toPrecision(3);
      return [name, `${shown(sorted[rounds >> 1])} (${shown(sorted[0])}–${shown(sorted[rounds - 1])})`];
    }),
  );
}

/** The environment with tools that take a while. */
function withSlowTools(environment: Environment, milliseconds: number): Environment {
  const slow = (episode: Episode): Episode => ({
    ...episode,
    tools: episode.tools.map((tool) => ({
      ...tool,
      execute: async (args, context) => {
        await new Promise((resolve) => setTimeout(resolve, milliseconds));
        return tool.execute(args, context);
      },
    })),
    ...(episode.clone === undefined ? {} : { clone: () => slow(episode.clone?.() ?? episode) }),
  });
  return { ...environment, start: async (task: Task, seed) => slow(await environment.start(task, seed)) };
}

async function busyShare(play: (seed: number) => Promise<readonly Group[]>, seed: number) {
  engine.takeStats();
  const started = performance.now();
  const groups = await play(seed);
  const seconds = (performance.now() - started) / 1000;
  const { sampler } = engine.takeStats();
  const calls = groups.reduce((sum, { trajectories }) => sum + toolCallsSpent(trajectories), 0);
  return { share: sampler.seconds / seconds, seconds, tokensPerSecond: sampler.sampledTokens / seconds, calls };
}

console.log(`${cpus().length} × ${cpus()[0].model}, Node ${process.version}, ${threads} threads`);

for (const milliseconds of [0, 50]) {
  const environment = milliseconds === 0 ? office : withSlowTools(office, milliseconds);
  const tasks = await tasksOf(25);
  const { share, tokensPerSecond, seconds, calls } = await medians((round) =>
    busyShare((seed) => rolloutGroups(engine, chat, environment, tasks, { ...base, name: "b", seed }), round),
  );
  report(`400 episodes, 200 in flight, tools of ${milliseconds} ms: sampler busy`, share);
  report("  tokens/s; seconds; tool calls", `${tokensPerSecond}; ${seconds}; ${calls}`);
}

/** A sampler that takes no time: one call, then the end. */
function instant(first: string): Sampler {
  return {
    info: { ...engine.info, name: "instant" },
    weightVersion: 0,
    sample: async ({ context }) => {
      const text = chat.tokenizer.decode(context).includes("tool_response") || first === "" ? "Done." : first;
      const tokens = chat.tokenizer.encode(`${text}<|im_end|>`);
      const each = tokens.map(() => 0);
      return { tokens, logprobs: each, modelLogprobs: each, entropies: each, finish: "stop", weightVersion: 0 };
    },
    release: () => {},
  };
}

{
  const forks = 999;
  const tasks = await tasksOf(1, 7);
  const branching = branchingSchema.parse({
    ...{ firstRollouts: 1, beam: forks + 1, entropy: "exact" },
    rule: { kind: "paper", alpha: 1, threshold: 0 },
  });
  const call = '<tool_call>\n{"name": "list_events", "arguments": {"day": "Friday"}}\n</tool_call>';
  const options = { ...base, groupSize: forks + 1, name: "f", seed: 1, maxTurns: 2 };
  const timed = async (work: () => Promise<readonly Group[]>) => {
    const started = performance.now();
    const groups = await work();
    return { milliseconds: (performance.now() - started) / (forks + 1), groups };
  };
  const { fork, plain, clone, forked } = await medians(async () => {
    const tree = await timed(() => rolloutTrees(instant(call), chat, office, tasks, { ...options, branching }));
    const flat = await timed(() => rolloutGroups(instant(""), chat, office, tasks, { ...options, maxTurns: 1 }));
    const episode = await office.start(tasks[0], 1);
    const started = performance.now();
    for (let i = 0; i < 10_000; i++) episode.clone?.();
    return {
      fork: tree.milliseconds,
      plain: flat.milliseconds,
      clone: (performance.now() - started) / 10_000,
      forked: tree.groups.flatMap(({ trajectories }) => trajectories).filter(({ branch }) => branch !== undefined).length,
    };
  });
  report(`a forked leaf with one turn to its end (${forked} forks), ms`, fork);
  report("  a rollout of one turn from the root, ms", plain);
  report("  a copy of the office, ms", clone);
}

{
  const algorithm = resolveAlgorithm({ kind: "arpo" });
  const adamW = { learningRate: 0, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0, clipNorm: 1 };
  const measured = async (play: (seed: number) => Promise<readonly Group[]>, seed: number) => {
    engine.takeStats();
    let started = performance.now();
    const groups = await play(seed);
    const rolloutSeconds = (performance.now() - started) / 1000;
    const { sampler } = engine.takeStats();
    started = performance.now();
    await runUpdate(enginePolicy(engine, 1, adamW), groups, algorithm, randomStream(1));
    const updateSeconds = (performance.now() - started) / 1000;
    const { training } = engine.takeStats();
    const trajectories = groups.flatMap((group) => group.trajectories);
    return {
      calls: toolCallsSpent(trajectories),
      sampled: sampler.sampledTokens,
      prefilled: sampler.prefilledTokens,
      rolloutSeconds,
      // What the leaves' turns would be, each computed in full, over what was computed.
      shared: training.denseTokens / training.computedTokens,
      computed: training.computedTokens,
      updateSeconds,
    };
  };
  const tasks = await tasksOf(16);
  const ways: readonly (readonly [string, (seed: number) => Promise<readonly Group[]>])[] = [
    ["plain", (seed) => rolloutGroups(engine, chat, office, tasks, { ...base, name: "p", seed })],
    [
      "trees",
      (seed) => rolloutTrees(engine, chat, office, tasks, { ...base, name: "t", seed, branching: branchingSchema.parse({}) }),
    ],
  ];
  for (const [name, play] of ways) {
    const { calls, sampled, prefilled, rolloutSeconds, shared, computed, updateSeconds } = await medians((round) =>
      measured(play, round),
    );
    report(`16 tasks × 16 leaves, ${name}: tool calls`, calls);
    report("  tokens sampled; prefilled; seconds of rollouts", `${sampled}; ${prefilled}; ${rolloutSeconds}`);
    report("  tokens of all leaves / tokens computed; computed; seconds", `${shared}; ${computed}; ${updateSeconds}`);
  }
}
await engine.dispose();
