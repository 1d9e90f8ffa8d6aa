import "../../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersVocabulary, wholeLettersEnvironment } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { RunError } from "../../core/errors.ts";
import { readEvaluations } from "../../runs/read.ts";
import { createRun } from "../../runs/write.ts";
import { resolveConfig } from "../config/config.ts";
import type { UserConfig } from "../config/user-config.ts";
import type { TrainingEvent } from "../record/events.ts";
import { RunEvaluations, type RunEvaluationsArguments } from "./run-evaluations.ts";

type Changes = NonNullable<UserConfig["evaluation"]>;

/** A run of which only its evaluations are made. */
function evaluating(changes: Changes, more: Partial<RunEvaluationsArguments> = {}, limits: UserConfig["limits"] = {}) {
  const folder = more.folder ?? join(mkdtempSync(join(tmpdir(), "retrograde-evals-")), "run");
  const config = resolveConfig({
    ...{ environment: "letters", rollout: { maxTokens: 4 }, seed: 3, limits },
    evaluation: { tasks: 2, k: 1, greedy: false, ...changes },
  });
  if (more.folder === undefined) createRun(folder, config);
  const events: TrainingEvent[] = [];
  const engine = new TableEngine(lettersVocabulary);
  const parts = { engine, chat: lettersChat(), environment: wholeLettersEnvironment(), tools: [] };
  const onEvent = (event: TrainingEvent) => events.push(event);
  const evaluations = new RunEvaluations({ folder, config, ...parts, ...more, onEvent });
  const made = () => readEvaluations(folder).map(({ when, step, split, decoding }) => `${when} ${step} ${split} ${decoding}`);
  return { folder, events, engine, evaluations, made };
}

test("each evaluation is made once, on the splits that were asked for; those of the start only at the start", async () => {
  const both = evaluating({ challenge: true });
  await both.evaluations.before(0);
  await both.evaluations.before(0);
  await both.evaluations.after(4);
  const all = ["before 0 challenge sampled", "before 0 test sampled", "after 4 challenge sampled", "after 4 test sampled"];
  expect(both.made().toSorted()).toEqual(all.toSorted());
  const phases = both.events.flatMap((event) => (event.type === "phase" ? [[event.phase, event.step, event.total]] : []));
  expect(phases).toEqual([
    ["evaluate", 0, 2],
    ["evaluate", 0, 2],
    ["evaluate", 4, 2],
    ["evaluate", 4, 2],
  ]);
  const once = evaluating({ split: "challenge", challenge: true });
  await once.evaluations.before(0);
  expect(once.made()).toEqual(["before 0 challenge sampled"]);
  expect(Object.keys(once.evaluations.summary(1))).toEqual(["before", "after"]);
  const late = evaluating({});
  await late.evaluations.before(1); // the weights are no longer those of the start
  expect(late.made()).toEqual([]);
  expect(late.evaluations.summary(4)).toEqual({ before: null, after: null });
  const none = evaluating({ tasks: 0 });
  await none.evaluations.before(0);
  await none.evaluations.after(4);
  expect([none.made(), none.evaluations.summary(4)]).toEqual([[], { before: null, after: null }]);
});

test("while training every n-th step is measured by one attempt, on the first tasks of its own split", async () => {
  const { evaluations, made, events, folder } = evaluating({ k: 3, during: { every: 2, split: "validation", tasks: 5 } });
  for (let step = 0; step <= 5; step++) await evaluations.during(step);
  expect(made()).toEqual(["during 2 validation sampled", "during 4 validation sampled"]);
  expect(readEvaluations(folder).map(({ tasks, k }) => [tasks, k])).toEqual([
    [5, 1],
    [5, 1],
  ]);
  expect(events.filter(({ type }) => type === "evaluated")).toHaveLength(2);
  const never = evaluating({});
  for (let step = 0; step <= 5; step++) await never.evaluations.during(step);
  expect(never.made()).toEqual([]);
});

test("an evaluation of fewer tasks than were asked for says so before it begins", async () => {
  const { evaluations, events } = evaluating({ tasks: 9, k: 2 }, { environment: wholeLettersEnvironment(3) });
  await evaluations.before(0);
  expect(events[0]).toEqual({ type: "phase", phase: "evaluate", step: 0, total: 6 });
});

test("the summary has both moments, and their difference for each way of decoding, unless the tasks have changed", async () => {
  const [first, digests] = [
    { "code a.ts": "1", "the test tasks": "2" },
    { "the train tasks": "3", model: "4" },
  ];
  const start = evaluating({ greedy: true, challenge: true }, { madeOf: { ...first, ...digests } });
  await start.evaluations.before(0);
  const end = async (madeOf?: Readonly<Record<string, string>>) => {
    const { evaluations } = evaluating({ greedy: true, challenge: true }, { folder: start.folder, madeOf });
    await evaluations.after(readEvaluations(start.folder).length);
    return evaluations.summary(readEvaluations(start.folder).length - 4);
  };
  const same = await end({ "the train tasks": "other", "the test tasks": "2", "code a.ts": "1" });
  expect(Object.keys(same).sort()).toEqual(["after", "before", "challenge", "difference"]);
  expect(Object.keys(same.difference ?? {}).sort()).toEqual(["greedy", "reward", "sampled"]);
  expect(Object.keys(same.difference?.sampled ?? {}).sort()).toEqual([
    ...["better", "exact", "high", "low", "mean", "pValue", "smallest", "worse"],
  ]);
  expect(Object.keys(same.difference?.reward ?? {}).sort()).toEqual(["greedy", "sampled"]);
  expect([same.before?.split, same.challenge?.before?.split]).toEqual(["test", "challenge"]);
  const withheld = "no verdict: tasks, or the code that scores them, have changed between the two evaluations";
  const other = await end({ "the test tasks": "2", "code a.ts": "changed" });
  expect(other.difference).toEqual({ reward: {}, withheld: { sampled: withheld, greedy: withheld } });
  expect(other.challenge?.difference).toEqual(other.difference);
  const tasks = await end({ "the test tasks": "changed", "code a.ts": "1" });
  expect(tasks.difference?.withheld).toEqual({ sampled: withheld, greedy: withheld });
  expect(tasks.challenge?.difference).not.toHaveProperty("withheld");
  expect(await end()).toMatchObject({ difference: { sampled: { exact: true } } }); // nothing is known of what it was made of
});

test("under strict limits a warning ends the run, when it is found and when it is read again", async () => {
  const full = { ...wholeLettersEnvironment(), size: () => 3 };
  const always = {
    ...full,
    start: async (task: { id: string }) => ({ ...(await full.start(task as never, 0)), score: () => ({ reward: 1 }) }),
  };
  const lax = evaluating({}, { environment: always });
  await lax.evaluations.before(0);
  const announced = lax.events.flatMap((event) => (event.type === "warning" ? [event.message] : []));
  expect(announced.at(-1)).toMatch(/^start-at-hundred \(evaluation before training\): /);
  expect(readEvaluations(lax.folder)[0]?.warnings?.map(({ rule }) => rule)).toContain("start-at-hundred");
  const strict = evaluating({}, { environment: always, folder: lax.folder }, { strict: true });
  await expect(strict.evaluations.before(3)).rejects.toThrow(/stopped by the warning .* in evaluation before training/);
  const found = evaluating({}, { environment: always }, { strict: true });
  await expect(found.evaluations.before(0)).rejects.toThrow(RunError);
  expect(found.made()).toEqual(["before 0 test sampled"]); // it is kept
  const greedy = evaluating({ greedy: true }, { environment: always });
  await greedy.evaluations.before(0);
  expect(readEvaluations(greedy.folder).map(({ decoding, warnings = [] }) => [decoding, warnings.length > 0])).toEqual([
    ["sampled", true],
    ["greedy", false],
  ]);
  const alone = evaluating({ temperature: 0 }, { environment: always });
  await alone.evaluations.before(0);
  expect(readEvaluations(alone.folder)[0]?.warnings).toBeDefined();
});
