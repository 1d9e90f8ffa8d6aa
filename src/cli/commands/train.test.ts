import "../../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { RunError } from "../../core/errors.ts";
import { readMessages } from "../../runs/live.ts";
import { readEvaluations, readMetrics, readRun, readSummary } from "../../runs/read.ts";
import { newRun, trajectoryOf } from "../../runs/store.fixture.ts";
import { writeEvaluation } from "../../runs/write.ts";
import { InterruptedError, planRun, type RunPlan, runPlan } from "../../sdk/train.ts";
import { createScreen } from "../../terminal/screen.ts";
import type { UserConfig } from "../../training/config/user-config.ts";
import type { TrainingEvent } from "../../training/record/events.ts";
import { reportOf, runShown, runTraining } from "./train.ts";

const newFolder = () => mkdtempSync(join(tmpdir(), "retrograde-train-"));
function lines() {
  let text = "";
  return { screen: createScreen({ write: (part: string) => (text += part) }), said: () => text.split("\n").slice(0, -1) };
}

/** Two steps in a world of letters, on a table. */
const user = (out: string, more: UserConfig = {}): UserConfig => ({
  ...{ environment: lettersEnvironment(), model: "bundled:office", algorithm: "grpo", steps: 2, seed: 5, out },
  rollout: { tasksPerStep: 2, groupSize: 3, maxTokens: 4 },
  evaluation: { tasks: 2, k: 1 },
  ...more,
});
const onTable = async () => ({ engine: new TableEngine(lettersVocabulary), chat: lettersChat(), device: "a table" });

test("a plan is run: the folder, its events and its end; the same folder is taken then, and has nothing to continue", async () => {
  const out = join(newFolder(), "run");
  const plan = await planRun(user(out));
  expect([plan.folder, plan.resume, plan.allowChanged, plan.rewards, plan.warnings]).toEqual([out, false, false, [], []]);
  const events: TrainingEvent[] = [];
  const summary = await runPlan(plan, { onEvent: (event) => events.push(event) }, onTable);
  expect(summary).toMatchObject({ steps: 2, episodes: expect.any(Number) });
  expect(readSummary(out)).toMatchObject({ steps: 2 });
  expect(readRun(out)).toMatchObject({ seed: 5, device: "a table" });
  expect(readMetrics(out).map(({ step }) => step)).toEqual([1, 2]);
  expect(readEvaluations(out).map(({ when, decoding }) => `${when} ${decoding}`)).toEqual([
    ...["before sampled", "before greedy", "after sampled", "after greedy"],
  ]);
  expect(events[0]).toEqual({ type: "notice", message: "Computing on a table" });
  expect(readMessages(out).filter(({ step }) => step === 0)).toEqual([]);
  await expect(planRun(user(out))).rejects.toThrow(/is "a run already"/);
  const report = await reportOf(plan, summary, {});
  expect(report.evaluations.map((changes) => changes.map(({ before, after }) => `${before.decoding} ${after.split}`))).toEqual([
    ["sampled test", "greedy test"],
  ]);
  expect(report.evaluations[0]?.[0]?.difference).toEqual(summary.difference?.sampled);
});

test("a run that measured nothing has no evaluations to report, and no episodes", async () => {
  const plan = await planRun(user(join(newFolder(), "run"), { evaluation: { tasks: 0 }, steps: 1 }));
  const summary = await runPlan(plan, {}, onTable);
  const { evaluations, solved, failed, next } = await reportOf(plan, summary, {});
  expect([evaluations, solved, failed]).toEqual([[], undefined, undefined]);
  expect(next.length).toBeGreaterThan(2);
});

test("a run that was interrupted before its first step has changed nothing; an error of the engine stays what it is", async () => {
  const out = join(newFolder(), "run");
  const plan = await planRun(user(out));
  const controller = new AbortController();
  const slow = async () => {
    controller.abort(new Error("Ctrl-C"));
    throw controller.signal.reason;
  };
  const interrupted = runPlan(plan, { signal: controller.signal }, slow);
  await expect(interrupted).rejects.toThrow(InterruptedError);
  await expect(interrupted).rejects.toThrow(/is "interrupted"\. It had not begun, and nothing in its folder was changed\./);
  const broken = async () => Promise.reject(new Error("no memory"));
  await expect(runPlan(plan, {}, broken)).rejects.toThrow("no memory");
});

test("a download is not waited for once the run is interrupted", async () => {
  const plan = await planRun(user(join(newFolder(), "run")));
  const controller = new AbortController();
  const download = () => {
    controller.abort(new Error("Ctrl-C"));
    return new Promise<never>(() => {});
  };
  const opened = () => Promise.reject(new Error("opened"));
  await expect(runPlan(plan, { signal: controller.signal, download }, opened)).rejects.toThrow(InterruptedError);
});

const summary = {
  before: null,
  after: null,
  steps: 2,
  episodes: 6,
  toolCalls: 0,
  sampledTokens: 9,
  wallSeconds: 1,
  peakRssMb: 1,
};
const shown = async (run: typeof runPlan, flags: Parameters<typeof runShown>[1] = {}, made = false) => {
  const { screen, said } = lines();
  const folder = made ? newRun() : join(newFolder(), "run");
  const plan = { ...(await planRun(user(folder + (made ? "-2" : "")))), folder } as RunPlan;
  const result = await runShown(plan, { dashboard: false, ...flags }, screen, run);
  return { result, folder, said: said() };
};
const opening = 'Training bundled:office in "letters" by grpo: 2 steps of 2 tasks × 3 rollouts';

test("a run on a screen: what it is, where it is, its events", async () => {
  const { result, said, folder } = await shown(async (plan, options = {}) => {
    options.onEvent?.({ type: "run-started", folder: plan.folder, steps: 2, resumedAt: 0 });
    options.onEvent?.({ type: "notice", message: "Computing on a table" });
    expect(options.signal?.aborted).toBe(false);
    return summary;
  });
  expect(result).toBe(summary);
  expect(said.slice(0, 2)).toEqual([opening, `Run: ${folder}`]);
  expect(said.join("\n")).toContain("Computing on a table");
});

test("an interruption says what is kept and how to continue; another error is thrown", async () => {
  const interrupted: typeof runPlan = async (plan, options = {}) => {
    options.onEvent?.({ type: "interrupted", step: 1, folder: plan.folder } as TrainingEvent);
    throw new RunError(plan.folder, "interrupted");
  };
  const after = await shown(interrupted, {}, true);
  expect(after.result).toBeUndefined();
  expect(after.said.slice(-2)).toEqual([
    `Interrupted. 1 finished step kept in ${after.folder}`,
    expect.stringMatching(/^Continue: .* train --resume --out \S+run$/),
  ]);
  const taught = await shown(interrupted, { teacher: "m@http://x" }, true);
  expect(taught.said.slice(-2)).toEqual([
    `Interrupted. 1 finished step kept in ${taught.folder}`,
    "Continue: the same command again",
  ]);
  const notBegun = "Interrupted before the run began: nothing was changed.";
  expect((await shown(interrupted)).said.at(-1)).toBe(notBegun);
  const before = await shown(async (plan) => Promise.reject(new InterruptedError(plan.folder, undefined)));
  expect([before.result, before.said.at(-1)]).toEqual([undefined, notBegun]);
  await expect(shown(async () => Promise.reject(new Error("no memory")))).rejects.toThrow("no memory");
});

test("--dry-run shows the configuration, and is not for a run that continues", async () => {
  const { screen, said } = lines();
  expect(
    await runTraining({ environment: "office", algorithm: "grpo" }, { steps: 3 }, { dryRun: true }, screen, { seed: "a flag" }),
  ).toBe(0);
  expect(said()).toContain("  steps = 3  [command line]");
  await expect(runTraining({}, {}, { dryRun: true, resume: true }, screen)).rejects.toThrow(
    "--dry-run is true; expected no --resume: that run has a recorded configuration.",
  );
});

test("nothing is continued where no run is unfinished", async () => {
  const root = newFolder();
  const before = process.cwd();
  process.chdir(root);
  try {
    await expect(planRun({}, { resume: true })).rejects.toThrow(
      '--resume is "runs"; expected a folder with an unfinished run. Name the run\'s folder with --out, or start a new run without --resume.',
    );
  } finally {
    process.chdir(before);
  }
});

test("the report has the longest solved and the shortest failed episode, the challenge last, and why there is no difference", async () => {
  const folder = newRun();
  const share = { mean: 0.5, low: 0.4, high: 0.6 };
  const record = (when: "before" | "after", split: string, decoding: "greedy" | "sampled") =>
    ({
      ...{
        when,
        step: when === "before" ? 0 : 9,
        split,
        tasks: 1,
        k: 1,
        temperature: 0,
        ...share,
        passAt: [],
        passAll: [],
        decoding,
      },
      ...{ measure: "success" as const, sampledTokens: 5, reward: share, meanTurns: 2, toolCalls: 1, stopReasons: { done: 1 } },
      ...{ byKind: [], behaviours: [], byRequests: [], byTurns: [] },
    }) as const;
  const episode = (id: string, reward: number, turns: number, more: object = {}) => {
    const made = trajectoryOf(id, { reward });
    return { ...made, turns: made.turns.slice(0, turns), ...more };
  };
  const episodes = [
    ...[episode("long/0", 1, 2), episode("short/0", 1, 1), episode("failed/0", 0, 2), episode("brief/0", 0, 1)],
    episode("broken/0", 0, 0, { stopReason: "environment-error", error: "x" }),
  ];
  for (const split of ["challenge", "test"])
    for (const decoding of ["sampled", "greedy"] as const) {
      if (split === "test" || decoding === "sampled")
        writeEvaluation(folder, record("before", split, decoding), [trajectoryOf("b/0")]);
      writeEvaluation(folder, record("after", split, decoding), episodes);
    }
  const difference = { sampled: { mean: 0.1 }, reward: { sampled: { mean: 0.2 } }, withheld: { greedy: "no verdict" } };
  const given = { ...summary, after: { split: "test" }, difference, challenge: { difference: { sampled: { mean: 0.3 } } } };
  const plan = await planRun(user(join(newFolder(), "run")));
  const report = await reportOf({ ...plan, folder }, given as never, {});
  expect([report.folder, report.solved?.id, report.failed?.id]).toEqual([folder, "long/0", "brief/0"]);
  const of = report.evaluations.map((changes) =>
    changes.map(({ after, difference: success, rewardDifference, withheld }) => [
      ...[`${after.split} ${after.decoding}`, success, rewardDifference, withheld],
    ]),
  );
  expect(of).toEqual([
    [
      ["test sampled", { mean: 0.1 }, { mean: 0.2 }, undefined],
      ["test greedy", undefined, undefined, "no verdict"],
    ],
    [["challenge sampled", { mean: 0.3 }, undefined, undefined]],
  ]);
});
