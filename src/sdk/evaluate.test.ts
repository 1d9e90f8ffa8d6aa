import "../../test/loopback.ts";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { RunError } from "../core/errors.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import { echoEnvironment, serveEchoes } from "./echo-server.fixture.ts";
import { compare, type EvaluationEvent, evaluate } from "./evaluate.ts";

const scratch = mkdtempSync(join(tmpdir(), "retrograde-evaluate-"));
const sums = echoEnvironment(["a", "b", "c"]);
const baseUrl = serveEchoes();

const settings = (model: string, out: string, evaluation: object = {}): UserConfig => ({
  ...{ environment: sums, model, out: join(scratch, out) },
  evaluation: { tasks: 3, k: 2, player: { baseUrl: baseUrl(), retries: 0 }, ...evaluation },
});

test("an evaluation says what it plays, how far it is, and where it is kept", async () => {
  const events: EvaluationEvent[] = [];
  const pages: unknown[] = [];
  const { folder, report, trajectories } = await evaluate(settings("says-a", "first"), {
    onEvent: (event) => events.push(event),
    page: (written, played) => String(pages.push([written.asked.model, played.length])),
  });
  expect(folder).toBe(join(scratch, "first"));
  expect(events[0]).toEqual({
    ...{ type: "started", folder, player: `says-a at ${baseUrl()}`, environment: "echo", split: "test", tasks: 3 },
  });
  const played = events.slice(1).map((event) => event.type === "played" && [event.done, event.total, event.tokens]);
  expect(played).toEqual([...[0, 1, 2, 3, 4, 5, 6].map((done) => [done, 6, 0]), ...[0, 1, 2, 3].map((done) => [done, 3, 0])]);
  expect(report.asked).toMatchObject({ model: "says-a", split: "test", tasks: 3, k: 2 });
  expect(report.evaluations.map(({ decoding, k, mean, when, step }) => [decoding, k, mean, when, step])).toEqual([
    ["sampled", 2, 1 / 3, "after", 0],
    ["greedy", 1, 1 / 3, "after", 0],
  ]);
  expect(report.seconds).toBeGreaterThan(0);
  expect(trajectories).toHaveLength(9);
  expect(pages).toEqual([["says-a", 9]]);
  expect(existsSync(join(folder, ".lock"))).toBe(false);
});

test("the greedy attempts may be left out, and a page too", async () => {
  const { report } = await evaluate(settings("echo", "second", { greedy: false }));
  expect(report.evaluations.map(({ decoding, mean }) => [decoding, mean])).toEqual([["sampled", 1]]);
  // What is there is not measured again.
  await expect(evaluate(settings("echo", "second", { greedy: false }))).rejects.toThrow(RunError);
});

test("two evaluations are compared in the ways of decoding that both have, by their folders or as they were returned", async () => {
  const second = await evaluate(settings("echo", "third", { greedy: false }));
  const { differs, comparisons } = compare(join(scratch, "first"), second);
  expect(differs).toEqual([]);
  expect(
    comparisons.map(({ decoding, success }) => [decoding, success?.difference.mean, success?.better, success?.worse]),
  ).toEqual([["sampled", expect.closeTo(2 / 3), 2, 0]]);
  const back = compare(second, join(scratch, "first")).comparisons[0];
  expect([back?.success?.better, back?.success?.worse]).toEqual([0, 2]);
});

test("an evaluation that is ended keeps what was played, and says how it continues", async () => {
  const controller = new AbortController();
  const ended = evaluate(settings("silent", "fourth"), {
    signal: controller.signal,
    onEvent: (event) => {
      if (event.type === "started") setTimeout(() => controller.abort(new Error("Ctrl-C")), 20);
    },
  });
  await expect(ended).rejects.toThrow(RunError);
  await expect(ended).rejects.toThrow(
    `${join(scratch, "fourth")} is "interrupted". Episodes that have ended are kept: \`resume\` continues with them.`,
  );
  const { report } = await evaluate({
    ...settings("echo", "fifth"),
    evaluation: { ...settings("echo", "").evaluation, tasks: 1, k: 1 },
  });
  expect(report.evaluations.map(({ tasks: count }) => count)).toEqual([1, 1]);
});

test("without a folder the evaluation has a new one, named by world and model; without one to continue that is said", async () => {
  const before = process.cwd();
  process.chdir(mkdtempSync(join(tmpdir(), "retrograde-evaluate-")));
  try {
    const unnamed = (model: string) =>
      evaluate({
        ...settings(model, ""),
        out: undefined,
        evaluation: { tasks: 1, k: 1, greedy: false, player: { baseUrl: baseUrl() } },
      });
    for (const [model, name] of [
      ["owner/says-a", "echo-says-a-1"],
      ["owner/says-a", "echo-says-a-2"],
      ["owner/it@v1", "echo-v1-1"],
    ] as const)
      expect((await unnamed(model)).folder).toBe(join(process.cwd(), "evaluations", name));
    const resumed = evaluate({ ...settings("echo", ""), out: undefined }, { resume: true });
    await expect(resumed).rejects.toThrow(
      '--resume is "evaluations"; expected a folder with an unfinished evaluation. Name the evaluation\'s folder with --out, or start a new one without --resume.',
    );
  } finally {
    process.chdir(before);
  }
});

test("a split that is not there, no tasks, and unknown options are refused before anything is asked", async () => {
  await expect(evaluate(settings("echo", "x", { split: "tset" }))).rejects.toThrow(/evaluation\.split is "tset"/);
  await expect(evaluate(settings("echo", "x", { tasks: 0 }))).rejects.toThrow(
    "evaluation.tasks is 0; expected at least one task to evaluate.",
  );
  await expect(evaluate(settings("echo", "x"), { onEvents: () => {} } as never)).rejects.toThrow(/onEvents/);
  expect(existsSync(join(scratch, "x"))).toBe(false);
});

test("the newest evaluation that has not finished is continued where no folder is named, and plays what is missing", async () => {
  const before = process.cwd();
  process.chdir(mkdtempSync(join(tmpdir(), "retrograde-evaluate-")));
  try {
    const user = (model: string): UserConfig => ({ ...settings(model, "", { greedy: false, k: 1 }), out: undefined });
    const controller = new AbortController();
    const ended = evaluate(user("silent"), {
      signal: controller.signal,
      onEvent: ({ type }) => {
        if (type === "started") controller.abort(new Error("Ctrl-C"));
      },
    });
    await expect(ended).rejects.toThrow(RunError);
    // Another model is another evaluation, and is not continued.
    await expect(evaluate(user("echo"), { resume: true })).rejects.toThrow(
      /^model of the evaluation in .*echo-silent-1 is "silent"; expected "echo", as it is asked for now\./,
    );
    const folders: string[] = [];
    const again = new AbortController();
    const onEvent = (event: EvaluationEvent) => {
      if (event.type === "started") folders.push(event.folder);
      again.abort();
    };
    const resumed = evaluate(user("silent"), { resume: true, signal: again.signal, onEvent });
    await expect(resumed).rejects.toThrow(RunError);
    expect(folders).toEqual([join(process.cwd(), "evaluations/echo-silent-1")]);
  } finally {
    process.chdir(before);
  }
});
