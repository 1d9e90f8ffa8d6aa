import "../../test/office.ts";
import { mkdtempSync, readdirSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersTokenizer, lettersVocabulary, wholeLettersEnvironment } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { makeChat } from "../chat/chat.ts";
import { makeTokenizer } from "../chat/tokenizer.ts";
import { ConfigError, RunError } from "../core/errors.ts";
import { layout } from "../runs/layout.ts";
import { readLive } from "../runs/live.ts";
import { checkpointSteps, readMetrics, readProgress, readSummary, readTimings, readTrajectories } from "../runs/read.ts";
import { createRun } from "../runs/write.ts";
import { resolveConfig } from "./config/config.ts";
import type { UserConfig } from "./config/user-config.ts";
import type { TrainingEvent } from "./record/events.ts";
import { train } from "./trainer.ts";
import type { TrainArguments } from "./training-run.ts";

const small: UserConfig = {
  environment: "letters",
  rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4 },
  ...{ algorithm: "grpo", steps: 3, seed: 5 },
  evaluation: { tasks: 2, k: 1, challenge: true, during: { every: 2, tasks: 1 } },
  checkpoint: { every: 2 },
};

async function run(changes: UserConfig = {}, more: Partial<TrainArguments> = {}) {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-run-")), "run");
  const config = resolveConfig(small, changes);
  createRun(folder, config);
  const events: TrainingEvent[] = [];
  const parts = { engine: new TableEngine(lettersVocabulary), chat: lettersChat(), environment: wholeLettersEnvironment() };
  const onEvent = (event: TrainingEvent) => {
    events.push(event);
    more.onEvent?.(event);
  };
  const ended = await train({ config, folder, ...parts, ...more, onEvent }).catch((error: unknown) => error);
  return { folder, events, ended };
}

/** An event in one line, without what tests of other modules assert. */
function lineOf(event: TrainingEvent): string[] {
  switch (event.type) {
    case "phase":
      return [`${event.phase} of ${event.step}: ${event.total}`];
    case "progress":
      return event.done === event.total ? [`${event.done} done`] : [];
    case "evaluated":
      return [`evaluated ${event.record.when} ${event.record.step} ${event.record.split} ${event.record.decoding}`];
    case "stepped":
      return [`stepped ${event.record.step} ${event.timing.step}`];
    case "checkpointed":
      return [`checkpointed ${event.step}`];
    case "warning":
      return [];
    default:
      return [event.type];
  }
}

const evaluated = (when: string, step: number, split: string, tasks: number) =>
  ["sampled", "greedy"].flatMap((decoding) => [
    `evaluate of ${step}: ${tasks}`,
    `${tasks} done`,
    `evaluated ${when} ${step} ${split} ${decoding}`,
  ]);
const stepped = (step: number) => [`rollout of ${step}: 4`, "4 done", `update of ${step}: 1`, `stepped ${step} ${step}`];
const kept = (step: number) => [`checkpoint of ${step}: 1`, `checkpointed ${step}`];

test("a run evaluates, steps, keeps checkpoints and evaluates again, in this order", async () => {
  const { folder, events, ended } = await run();
  expect(events.flatMap(lineOf)).toEqual([
    "run-started",
    ...evaluated("before", 0, "test", 2),
    ...evaluated("before", 0, "challenge", 2),
    ...[...stepped(1), ...kept(1), ...stepped(2), ...kept(2)],
    ...evaluated("during", 2, "validation", 1),
    ...[...stepped(3), ...kept(3)],
    ...evaluated("after", 3, "test", 2),
    ...evaluated("after", 3, "challenge", 2),
    "finished",
  ]);
  expect(events[0]).toEqual({ type: "run-started", folder, steps: 3, resumedAt: 0 });
  expect(events.at(-1)).toEqual({ type: "finished", folder, summary: ended });
  const summary = readSummary(folder);
  expect(summary).toEqual(ended);
  expect(Object.keys(summary ?? {}).sort()).toEqual([
    ...["after", "before", "challenge", "difference", "episodes", "peakRssMb", "sampledTokens", "steps", "toolCalls"],
    ...["wallSeconds", "warnings"],
  ]);
  const trajectories = [1, 2, 3].flatMap((step) => readTrajectories(folder, step));
  const tokens = trajectories.flatMap(({ turns }) => turns).reduce((sum, { action }) => sum + action.length, 0);
  expect(summary).toMatchObject({ steps: 3, episodes: 12, toolCalls: 0, sampledTokens: tokens });
  expect(readProgress(folder, 2)).toMatchObject({ step: 2, position: 4, episodes: 8, toolCalls: 0 });
  expect(summary?.wallSeconds).toBeGreaterThan(0);
  expect(summary?.wallSeconds).toBeLessThan(60);
  expect(Math.abs(Number(summary?.peakRssMb) - process.resourceUsage().maxRSS / 1024)).toBeLessThan(500);
  for (const split of ["test", "challenge"]) {
    const { before, after } = (split === "test" ? summary : summary?.challenge) ?? {};
    expect([before?.split, after?.split]).toEqual([split, split]);
  }
});

test("the times of a step are of its parts, without what the run does not have", async () => {
  const { folder } = await run({ steps: 1, evaluation: { tasks: 0 } });
  const [{ step, metricsCrc32, ...timing }] = readTimings(folder);
  expect(step).toBe(1);
  expect(metricsCrc32).toBeTypeOf("number");
  expect(Object.keys(timing).sort()).toEqual([
    ...["denseTokens", "rolloutSeconds", "rssMb", "sampledTokens", "sampledTokensPerSecond", "trainedTokens"],
    ...["trainedTokensPerSecond", "updateSeconds"],
  ]);
  expect(timing.sampledTokensPerSecond).toBeCloseTo(timing.sampledTokens / timing.rolloutSeconds, 6);
  expect(timing.rssMb).toBeGreaterThan(20);
  expect(timing.rssMb).toBeLessThan(64_000);
  expect([timing.rolloutSeconds, timing.updateSeconds].every((seconds) => seconds > 0 && seconds < 60)).toBe(true);
});

test("a run without evaluations says so in its summary", async () => {
  const { ended } = await run({ steps: 1, evaluation: { tasks: 0 } });
  expect(ended).toMatchObject({ before: null, after: null, steps: 1 });
  expect(ended).not.toHaveProperty("challenge");
  expect(ended).not.toHaveProperty("difference");
});

test("a template that rewrites history is a notice in the first step that shows it", async () => {
  const { config, tokenizer } = lettersTokenizer;
  const template = config.chat_template.replace("in messages", "in messages[-1:]"); // the last message alone is shown
  const chat = makeChat(makeTokenizer({ tokenizer, config: { ...config, chat_template: template } }));
  const { events, folder } = await run({ steps: 2, evaluation: { tasks: 0 } }, { chat });
  const rewrites = readMetrics(folder).map(({ metrics }) => Number(metrics.historyRewrites));
  expect(rewrites.every((count) => count > 0)).toBe(true);
  expect(events.filter(({ type }) => type === "notice")).toEqual([
    {
      type: "notice",
      message:
        `The chat template rewrites history: ${rewrites[0]} turns of step 1 have a context that is not the one before continued ` +
        "(as where earlier reasoning is dropped). They are trained in the context that the model saw; their prompts are computed again.",
    },
  ]);
});

test("an interruption by a person keeps its steps and says how to go on; one by an error of ours is that error", async () => {
  const stopAt = async (reason?: unknown) => {
    const stop = new AbortController();
    const onEvent = (event: TrainingEvent) => {
      if (event.type === "stepped" && event.record.step === 2) stop.abort(reason);
    };
    return run({ evaluation: { tasks: 0 }, checkpoint: { every: 100 } }, { signal: stop.signal, onEvent });
  };
  const asked = await stopAt();
  expect(asked.ended).toEqual(
    new RunError(asked.folder, "interrupted", { hint: "Its 2 finished steps are kept: continue with --resume." }),
  );
  expect(asked.events.at(-1)).toEqual({ type: "interrupted", folder: asked.folder, step: 2 });
  expect(checkpointSteps(asked.folder)).toEqual([1, 2]);
  const own = new ConfigError("tool", "stray");
  const stopped = await stopAt(own);
  expect(stopped.ended).toBe(own);
  expect(stopped.events.some(({ type }) => type === "interrupted")).toBe(false);
  expect(checkpointSteps(stopped.folder)).toEqual([1, 2]);
});

test("a run that ends, as it may or not, leaves no frozen policy open and is no longer live", async () => {
  for (const stopAt of [1, Number.POSITIVE_INFINITY]) {
    const engine = new TableEngine(lettersVocabulary);
    const freeze = engine.freeze.bind(engine);
    let [frozen, disposed] = [0, 0];
    engine.freeze = async () => {
      frozen++;
      return { ...(await freeze()), dispose: async () => void disposed++ };
    };
    const stop = new AbortController();
    const onEvent = (event: TrainingEvent) => {
      if (event.type === "stepped" && event.record.step === stopAt) stop.abort();
    };
    const changes = { rollout: { ahead: 1 }, evaluation: { tasks: 0 } };
    const { folder, ended } = await run(changes, { engine, signal: stop.signal, onEvent });
    expect(ended instanceof RunError).toBe(stopAt === 1);
    expect([frozen > 0, disposed === frozen, readLive(folder)]).toEqual([true, true, undefined]);
    expect(readCredits(folder, 1)).toBeGreaterThan(0);
  }
});

/** Bytes of what was recorded of a step's credits. */
function readCredits(folder: string, step: number): number {
  const own = layout.creditFolder(folder);
  return readdirSync(own)
    .filter((name) => name.includes(String(step)))
    .reduce((sum, name) => sum + statSync(join(own, name)).size, 0);
}
