import "../../../test/office.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { ConfigError, EnvError, RunError } from "../../core/errors.ts";
import type { Trajectory, Turn } from "../../core/trajectory.ts";
import type { Environment } from "../../environments/environment.ts";
import { oneMessage } from "../../environments/protocol.ts";
import { evaluationWarnings, stepWarnings } from "../../findings/findings.ts";
import type { StepFacts } from "../../findings/rule.ts";
import { checkpointSteps, readEvaluations, readMetrics, readSummary } from "../../runs/read.ts";
import type { StepRecord } from "../../runs/records.ts";
import { createRun } from "../../runs/write.ts";
import { defineTool } from "../../tools/tool.ts";
import { resolveConfig } from "../config/config.ts";
import type { UserConfig } from "../config/user-config.ts";
import { train } from "../trainer.ts";
import type { TrainingEvent } from "./events.ts";

const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep: 2, groupSize: 4, maxTokens: 8 },
  algorithm: "grpo",
  evaluation: { tasks: 4, k: 2 },
  steps: 4,
};

async function run(environment: Environment, changes: UserConfig = {}) {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-watch-")), "run");
  const config = resolveConfig(small, changes);
  createRun(folder, config);
  const warned: TrainingEvent[] = [];
  const engine = new TableEngine(lettersVocabulary);
  const ended = await train({
    config,
    engine,
    chat: lettersChat(),
    environment,
    folder,
    onEvent: (event) => event.type === "warning" && warned.push(event),
  }).catch((error: unknown) => error);
  const rules = () => warned.map((event) => (event.type === "warning" ? event.warning?.rule : undefined));
  return { folder, engine, ended, rules };
}

/** The letters, with another reward. */
function scoredBy(score: (said: string) => number): Environment {
  const letters = lettersEnvironment();
  return {
    ...letters,
    start: async (task, seed) => ({
      ...(await letters.start(task as Parameters<typeof letters.start>[0], seed)),
      score: (conversation) => ({
        reward: score(conversation.flatMap((message) => (message.role === "assistant" ? [message.content] : [])).join("")),
      }),
    }),
  };
}

test("a reward that is always 0 is named once the first step has none either, and in every step, and counted in the summary", async () => {
  const { folder, rules } = await run(scoredBy(() => 0));
  expect(readEvaluations(folder)[0].warnings).toBeUndefined();
  expect(readMetrics(folder).map(({ warnings = [] }) => warnings.map(({ rule }) => rule))).toEqual([
    ["start-at-zero"],
    ["equal-rewards"],
    ["constant-reward"],
    ["constant-reward"],
  ]);
  // One cause is announced once; how long it lasts is counted.
  expect(rules()).toEqual(["start-at-zero"]);
  expect(readSummary(folder)?.warnings).toEqual({ "start-at-zero": 1, "equal-rewards": 1, "constant-reward": 2 });
  expect(readMetrics(folder)[0].warnings?.[0]).toMatchObject({
    cause: expect.stringContaining("none of 20 attempts gets a reward"), // 8 sampled, 4 greedy, 8 of the step
    example: "step-1/0/0",
    next: expect.stringMatching("retrograde-rl sft"),
  });
});

test("a start at 100 % is named", async () => {
  const { rules } = await run(scoredBy(() => 1));
  expect(rules()).toEqual(["start-at-hundred", "equal-rewards"]);
});

test("partial rewards that differ are no start at zero", async () => {
  const { folder } = await run(lettersEnvironment());
  expect(readEvaluations(folder)[0].warnings).toBeUndefined();
});

test("--strict ends the run at the first warning, with finished steps kept", async () => {
  const strict = { limits: { strict: true } };
  const start = await run(
    scoredBy(() => 0),
    strict,
  );
  expect(start.ended).toBeInstanceOf(RunError);
  expect(String(start.ended)).toMatch(/stopped by the warning start-at-zero in step 1/);
  const step = await run(
    scoredBy(() => 0),
    { ...strict, evaluation: { tasks: 0 } },
  );
  expect(String(step.ended)).toMatch(/start-at-zero in step 1.*Example: step-1\/0\/0/);
  expect(checkpointSteps(step.folder)).toEqual([1]);
});

test("an environment that breaks every episode stops the run with its first message, before anything is moved", async () => {
  const broken = scoredBy(() => {
    throw new Error("the database is gone");
  });
  const atStart = await run(broken);
  expect(atStart.ended).toBeInstanceOf(EnvError);
  expect(String(atStart.ended)).toMatch(/all 8 episodes of evaluation before training.*score: the database is gone/);
  const inStep = await run(broken, { evaluation: { tasks: 0 } });
  expect(String(inStep.ended)).toMatch(/all 8 episodes of step 1.*the database is gone/);
  expect(inStep.engine.weightVersion).toBe(0);
});

test("failures of the environment are left out of the update", async () => {
  let scored = 0;
  // The third rollout of every four fails; the others all have the same reward, so a failure with reward 0 would be the only signal.
  const flaky = () =>
    scoredBy(() => {
      if (++scored % 4 === 3) throw new Error("flaky");
      return 1;
    });
  const off = { evaluation: { tasks: 0 }, steps: 1, rollout: { concurrency: 1 } };
  const masked = await run(flaky(), off);
  expect(readMetrics(masked.folder)[0].metrics).toMatchObject({
    maskedEpisodes: 2,
    groupsWithoutSignal: 2,
    "stop/environment-error": 2,
  });
  expect(masked.engine.weightVersion).toBe(0);
  expect(masked.rules()).toContain("environment-faults");
});

test("a group of one under a baseline of its group is refused, and trained where there is none", () => {
  const alone = (algorithm: UserConfig["algorithm"]) => () => resolveConfig({ algorithm, rollout: { groupSize: 1 } });
  for (const kind of ["seeupo", "grpo", "rloo", "gspo", "gigpo", "dapo"] as const) expect(alone(kind), kind).toThrow(ConfigError);
  expect(alone("grpo")).toThrow(/rollout.groupSize is 1; expected at least 2.*nothing is learned/);
  for (const kind of ["ppo", "reinforce++"] as const) expect(alone(kind), kind).not.toThrow();
  expect(alone({ kind: "seeupo", singletonGroups: "raw" })).not.toThrow();
});

// --- Rules on drawn facts.

const tool = "find";
function turn(changes: Partial<Turn> = {}): Turn {
  const ids = { trajectory: "t", turn: 0, context: [1], action: [2], samplerLogprobs: [-1], entropies: [1] };
  return { ...ids, weightVersion: 0, truncated: false, rewritten: false, invalidToolCalls: 0, toolCalls: 0, ...changes };
}
function episode(id: string, reward: number, changes: Partial<Trajectory> = {}): Trajectory {
  return { id, group: "g", task: "t", turns: [turn()], reward, scores: {}, stopReason: "done", messages: [], ...changes };
}
const called = (id: string, failure?: "error" | "timeout" | "invalid"): Trajectory =>
  episode(id, Number(id.endsWith("1")), {
    turns: [turn({ toolCalls: 1, ...(failure === undefined ? {} : { toolFailures: [{ tool, kind: failure }] }) })],
    messages: [{ role: "tool", name: tool, content: failure === undefined ? "42" : "Error: no such table" }],
  });
const many = (make: (id: string) => Trajectory, count = 10) => Array.from({ length: count }, (_, i) => make(`e${i}`));

function facts(trajectories: readonly Trajectory[], changes: Partial<StepFacts> = {}): StepFacts {
  return {
    trajectories,
    trained: [{ id: "g", trajectories }],
    tools: [tool],
    config: resolveConfig(),
    record: { step: 9, metrics: {} },
    before: [],
    history: [],
    ...changes,
  };
}
const rulesOf = (given: StepFacts) => stepWarnings(given).map(({ rule }) => rule);

test("tools that nobody calls are named, and not where there are none", () => {
  const silent = many((id) => episode(id, Number(id === "e1")));
  expect(rulesOf(facts(silent))).toEqual(["no-tool-calls"]);
  expect(rulesOf(facts(silent, { tools: [] }))).toEqual([]);
  expect(rulesOf(facts([...silent, called("c")]))).toEqual([]);
});

test("an agent with most requests of its group is named where another has none, and not where all ask", () => {
  const asked = (counts: readonly number[]) =>
    facts(counts.map((count, i) => ({ ...called(`e${i}`), group: "one", scores: { "agent.requests": count } })));
  expect(rulesOf(asked([8, 2, 1, 0]))).toEqual(["uneven-requests"]);
  expect(rulesOf(asked([8, 2, 1, 1]))).toEqual([]);
  expect(rulesOf(asked([3, 3, 3, 0]))).toEqual([]);
  expect(stepWarnings(asked([8, 2, 1, 0]))[0]).toMatchObject({
    cause: "One of the 4 agents of a task made 8 of their 11 requests, and 1 made none.",
    example: "e0",
  });
});

test("nine episodes of ten that end at one limit are named with the limit that they reach", () => {
  const cut = (id: string) =>
    episode(id, Number(id === "e1"), { stopReason: "max-tokens", turns: [turn({ truncated: true, toolCalls: 1 })] });
  const [warning] = stepWarnings(facts([...many(cut, 9), called("e9")]));
  expect(warning).toMatchObject({ rule: "one-bad-end", example: "e0", next: expect.stringMatching("Raise rollout.maxTokens") });
  expect(warning.cause).toMatch(
    "90 % of the episodes end the same bad way, by max-tokens: an action reaches the limit of 96 tokens",
  );
  expect(rulesOf(facts([...many(cut, 8), called("e8"), called("e9")]))).toEqual([]);
});

test("a tool that always fails is named with its first answer and the kind of failure", () => {
  const [warning] = stepWarnings(facts(many((id) => called(id, "timeout"))));
  expect(warning).toMatchObject({ rule: "failing-tool", next: expect.stringMatching("timeoutMs") });
  expect(warning.cause).toMatch(
    "The tool find gives a result in 0 of 10 calls (0 errors, 10 timeouts, 0 with wrong arguments). Its first answer: Error: no such table",
  );
  expect(rulesOf(facts([...many((id) => called(id, "error"), 9), called("e9")]))).toEqual([]);
  // The advice follows the commonest kind: half of the failures are not yet most of them.
  const half = stepWarnings(facts([...many((id) => called(id, "invalid"), 5), ...many((id) => called(id, "error"), 5)]));
  expect(half[0].cause).toMatch("(5 errors, 0 timeouts, 5 with wrong arguments)");
  expect(half[0].next).toMatch("Run the tool by hand with the example's arguments");
  const most = stepWarnings(facts([...many((id) => called(id, "invalid"), 6), ...many((id) => called(id, "error"), 4)]));
  expect(most[0].next).toMatch("describe these better");
});

test("rewards that differ only between tasks give no signal", () => {
  const group = (id: string, reward: number) => ({
    id,
    trajectories: many((name) => ({ ...called(`${id}${name}`), reward }), 4),
  });
  const trained = [group("a", 0), group("b", 1)];
  const all = trained.flatMap(({ trajectories }) => trajectories);
  expect(rulesOf(facts(all, { trained }))).toEqual(["no-signal"]);
  const config = resolveConfig({ algorithm: "grpo" });
  const alone = { ...config, rollout: { ...config.rollout, groupSize: 1 } }; // there is nothing to compare
  expect(rulesOf(facts(all, { trained, config: alone }))).toEqual([]);
  expect(rulesOf(facts(all, { trained: [...trained, { id: "c", trajectories: [called("x0"), called("x1")] }] }))).toEqual([]);
});

test("a policy that learned and died is named by what is gone", () => {
  const step = (metrics: StepRecord["metrics"]): StepRecord => ({ step: 1, metrics });
  const alive = step({
    reward: 0.4,
    rewardMin: 0,
    rewardMax: 1,
    entropy: 0.3,
    gradientNorm: 1,
    groups: 2,
    groupsWithoutSignal: 0,
  });
  const dead = (changes: StepRecord["metrics"]) => {
    const last = step({ ...alive.metrics, ...changes });
    return stepWarnings(facts(many(called), { history: [alive, last, last], record: last })).map(
      ({ cause, next }) => `${cause} ${next}`,
    );
  };
  expect(dead({ rewardMax: 0, reward: 0 })[0]).toMatch("its reward was up to 0.4 and is 0 in every episode of the last 3 steps");
  expect(dead({ entropy: 1e-7 })[0]).toMatch("its entropy is below");
  expect(dead({ entropy: 1e-7 })[0]).toMatch("start from an earlier checkpoint (`runs model`)");
  expect(dead({ gradientNorm: 0 })[0]).toMatch("its gradient is 0 for 3 steps although rewards differ. Look at clipFraction");
  expect(dead({ gradientNorm: 0, groupsWithoutSignal: 2 })).toEqual([]);
  expect(dead({})).toEqual([]);
});

test("an echo trap is named by its three signs together, and by none alone", () => {
  const step = (metrics: StepRecord["metrics"]): StepRecord => ({ step: 1, metrics });
  const usual = { reward: 0.4, rewardMax: 1, entropy: 0.3, gradientNorm: 1, groups: 10, groupsWithoutSignal: 2 };
  const trapped = { entropy: 0.1, gradientNorm: 5, groupsWithoutSignal: 7 };
  const named = (changes: StepRecord["metrics"], before = 8) => {
    const last = step({ ...usual, ...changes });
    const history = [...new Array<StepRecord>(before).fill(step(usual)), last, last];
    return stepWarnings(facts(many(called), { history, record: last })).filter(({ rule }) => rule === "echo-trap");
  };
  expect(named(trapped)[0]?.cause).toBe(
    "An echo trap (RAGEN): in the last 3 steps rewards differ in 30 % of the groups (before 80 %), entropy is 0.1 nats (0.3), and the gradient's norm reached 5 times its median.",
  );
  for (const sign of ["entropy", "gradientNorm", "groupsWithoutSignal"] as const)
    expect(named({ ...trapped, [sign]: usual[sign] })).toEqual([]);
  expect(named({ ...trapped, reward: 0.9 })).toEqual([]); // solved
  expect(named(trapped, 7)).toEqual([]);
});

test("an evaluation after training does not warn of its start", () => {
  const zeros = many((id) => ({ ...called(id), reward: 0 }));
  expect(evaluationWarnings("before", facts(zeros))).toEqual([]);
  expect(evaluationWarnings("after", facts(zeros))).toEqual([]);
  const solved = facts(many((id) => ({ ...called(id), reward: 1 })));
  expect(evaluationWarnings("before", solved).map(({ rule }) => rule)).toEqual(["start-at-hundred"]);
  expect(evaluationWarnings("after", solved)).toEqual([]);
  const config = resolveConfig(small, { algorithm: "sft" }); // which teaches what cannot be done yet
  expect(evaluationWarnings("before", { ...solved, config })).toEqual([]);
});

test("after training, one answer to all tasks is named although some of them are solved by it", () => {
  const did = (names: readonly string[], reward: number) => (id: string) => ({
    ...called(id),
    messages: names.map((name) => ({ role: "assistant" as const, content: "", toolCalls: [{ id: name, name, arguments: {} }] })),
    reward,
  });
  const always = (count: number, names = ["lookup", "escalate"]) =>
    Array.from({ length: count }, (_, i) => ({ ...did(names, Number(i % 3 === 0))(`after-test/${i}/0`), task: `test/${i}` }));
  const named = (trajectories: readonly Trajectory[], when: "before" | "after" = "after") =>
    evaluationWarnings(when, facts(trajectories)).filter(({ rule }) => rule === "one-behaviour");
  expect(named(always(24))).toMatchObject([
    {
      cause: expect.stringContaining(
        "24 of 24 episodes, of 24 tasks, call the same tools in the same order (lookup, escalate), and 67 %",
      ),
      example: "after-test/1/0",
    },
  ]);
  expect(named(always(24), "before")).toEqual([]);
  expect(named(always(15))).toEqual([]); // too few to tell
  expect(named(always(24, ["search"]))).toEqual([]);
  expect(named(always(24).map((each) => ({ ...each, reward: 1 })))).toEqual([]);
  expect(named([...always(22), ...always(2, ["lookup", "refund"])])).toEqual([]);
});

test("docs/warnings.md explains every warning", () => {
  const page = readFileSync(join(import.meta.dirname, "../../../docs/warnings.md"), "utf8");
  const rules = readFileSync(join(import.meta.dirname, "../../findings/findings.ts"), "utf8").matchAll(
    /^ {2}"([a-z-]+)": \w+,$/gm,
  );
  const names = [...rules].map(([, name]) => `\`${name}\``);
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) expect(page).toContain(name);
});

test("a tool of an environment is counted by its name where it raises errors", async () => {
  const broken = defineTool({
    name: tool,
    description: "Finds.",
    parameters: z.object({}),
    execute: () => {
      throw new Error("no such table");
    },
  });
  const letters = lettersEnvironment();
  const asked: Environment = {
    ...letters,
    start: async (task, seed) => ({
      ...(await letters.start(task as Parameters<typeof letters.start>[0], seed)),
      tools: [broken],
      // Every letter is a call, whatever the model says.
      protocol: {
        actions: {
          read: (text) => ({ message: { role: "assistant", content: text }, calls: [{ name: tool, arguments: {} }] }),
        },
        continuation: oneMessage(() => "u"),
      },
    }),
  };
  const { folder, rules } = await run(asked, { rollout: { maxTurns: 3, maxTokens: 30 }, steps: 1, evaluation: { tasks: 0 } });
  const { metrics } = readMetrics(folder)[0];
  expect(metrics.toolErrors).toBeGreaterThan(5);
  expect(metrics[`toolErrors/${tool}`]).toBe(metrics.toolErrors);
  expect(metrics.toolTimeouts).toBe(0);
  expect(rules()).toContain("failing-tool");
});
