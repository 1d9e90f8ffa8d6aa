import { existsSync, mkdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { CreditWriter } from "../../../src/runs/credits.ts";
import { layout } from "../../../src/runs/layout.ts";
import { appendMessage, removeLive, writeLive } from "../../../src/runs/live.ts";
import type { EvaluationRecord } from "../../../src/runs/records.ts";
import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { createRun, finishRun, writeEvaluation } from "../../../src/runs/write.ts";
import { lettersTokenizer } from "../../../test/letters.ts";
import { routes } from "./routes.ts";
import { RunSource, RunSources } from "./run-source.ts";
import { rowOf, runDetail, runList } from "./run-views.ts";
import { pageQuery, trajectoryPage, trajectoryView, treeView } from "./trajectory-views.ts";

const estimate = (mean: number) => ({ mean, low: mean - 0.1, high: mean + 0.1 });

/** An evaluation of one episode. */
function evaluate(folder: string, changes: Partial<EvaluationRecord> & { readonly mean: number }): void {
  const rest = { meanTurns: 2, toolCalls: 1, sampledTokens: 5, stopReasons: {}, byKind: [], behaviours: [], byRequests: [] };
  const record: EvaluationRecord = {
    ...{ when: "before", step: 0, split: "test", tasks: 1, k: 1, decoding: "sampled", temperature: 1, measure: "success" },
    ...{ passAt: [], passAll: [], reward: estimate(7), byTurns: [], ...rest, ...estimate(changes.mean) },
    ...changes,
  };
  const id = `${record.when}-${record.split}-${record.step}-${record.decoding}/0/0`;
  writeEvaluation(folder, record, [trajectoryOf(id, { task: "test/0" })]);
}

const settings = {
  ...{ steps: 9, seed: 3, model: "default", environment: { name: "office" }, algorithm: { kind: "grpo", klCoef: 0 } },
  ...{ evaluation: { split: "test" }, engine: { kind: "local", threads: 1 }, limits: { strict: false }, out: "a" },
};
function run(changes: object = {}): string {
  const folder = `${dirname(newRun())}/own`;
  createRun(folder, { ...settings, ...changes });
  return folder;
}
const row = (folder: string) => rowOf(new RunSource("own", folder));

test("a row's scores are of the run's own split, of sampled attempts before greedy ones", () => {
  const folder = run();
  expect(row(folder)).toMatchObject({ before: null, after: null, measure: "success", split: "test", stepsDone: 0, curve: [] });
  evaluate(folder, { mean: 0.3, decoding: "greedy" });
  expect(row(folder)).toMatchObject({ before: 0.3, after: null });
  evaluate(folder, { mean: 0.2 });
  evaluate(folder, { mean: 0.9, split: "challenge" });
  evaluate(folder, { mean: 0.8, when: "during", step: 3 });
  evaluate(folder, { mean: 0.6, when: "after", step: 9 });
  expect(row(folder)).toMatchObject({ before: 0.2, after: 0.6 });
});

test("where no evaluation has a success, a row's scores are rewards", () => {
  const folder = run();
  evaluate(folder, { mean: 0, measure: "reward" });
  evaluate(folder, { mean: 0, measure: "nothing", split: "challenge" });
  expect(row(folder)).toMatchObject({ measure: "reward", before: 7 });
  evaluate(folder, { mean: 0.5, when: "after", step: 9 });
  expect(row(folder)).toMatchObject({ measure: "success", before: 0, after: 0.5 });
});

test("runs that differ in the seed, the folder or what moves no number have one configuration, whatever the order of its keys", () => {
  const of = (changes: object) => row(run(changes)).configuration;
  const own = of({});
  const same = [
    { seed: 4 },
    { out: "b" },
    { limits: { strict: true } },
    { checkpoint: { every: 3 } },
    { record: { after: 4 } },
    { engine: { threads: 8, kind: "local" } },
    { algorithm: { klCoef: 0, kind: "grpo" } },
  ];
  for (const changes of same) expect(of(changes), JSON.stringify(changes)).toBe(own);
  for (const changes of [{ algorithm: { kind: "ppo" } }, { model: "other" }, { engine: { kind: "tinker" } }, { steps: 8 }])
    expect(of(changes), JSON.stringify(changes)).not.toBe(own);
});

test("a run is running while its process lives, and finished once it has a summary; its warnings are counted", async () => {
  const folder = run();
  expect(row(folder)).toMatchObject({
    state: "stopped",
    warnings: 0,
    seed: 3,
    steps: 9,
    algorithm: "grpo",
    environment: "office",
  });
  appendMessage(folder, { level: "warning", step: 1, message: "no signal" });
  appendMessage(folder, { level: "notice", step: 1, message: "computing" });
  writeLive(folder, { step: 2, phase: "rollout", done: 3, total: 8, tokens: 5 });
  expect(row(folder)).toMatchObject({ state: "running", warnings: 1 });
  const { live, messages } = runDetail(new RunSource("own", folder));
  expect(live).toMatchObject({ step: 2, phase: "rollout", done: 3, total: 8 });
  expect(messages.map(({ message }) => message)).toEqual(["no signal", "computing"]);
  removeLive(folder);
  const spent = { steps: 9, episodes: 1, toolCalls: 1, sampledTokens: 5, wallSeconds: 1, peakRssMb: 1 };
  await finishRun(folder, { before: null, after: null, ...spent }, async () => {});
  expect(row(folder).state).toBe("finished");
});

test("a curve has at most sixty points: success, else reward, means of neighbours", () => {
  const folder = run();
  const metrics = (i: number) => (i < 2 ? { reward: 8 } : { success: i % 2 === 0 ? 0.5 : 1, reward: 9 });
  const lines = Array.from({ length: 120 }, (_, i) => `${JSON.stringify({ step: i + 1, metrics: metrics(i) })}\n`);
  writeFileSync(layout.metrics(folder), lines.join(""));
  const { curve, stepsDone } = row(folder);
  expect([curve.length, stepsDone]).toEqual([60, 120]);
  expect(curve.slice(0, 2)).toEqual([8, 0.75]);
  expect(new Set(curve.slice(1))).toEqual(new Set([0.75]));
});

test("a folder of one run lists it alone; hidden folders and files are no runs; the newest is first", () => {
  const [older, root] = [newRun("older"), dirname(newRun("older"))];
  expect(runList(new RunSources(older))).toMatchObject({ runs: [{ id: "older", folder: older }], broken: [] });
  for (const name of [".hidden", "newer"]) createRun(`${root}/${name}`, settings);
  const { runs } = runList(new RunSources(root));
  expect(runs.map(({ id }) => id).sort()).toEqual(["newer", "older"]);
  expect(runs.map(({ created }) => created)).toEqual(
    runs
      .map(({ created }) => created)
      .sort()
      .reverse(),
  );
  expect(existsSync(`${root}/.hidden/run.json`)).toBe(true);
  expect(runList(new RunSources(`${root}/nowhere`))).toMatchObject({ runs: [], broken: [] });
  expect(new RunSources(root).find("../older")).toBeUndefined();
});

test("pages of trajectories: the newest first, ties as they were, and how many there are in all", () => {
  const folder = run();
  for (const step of [1, 2])
    addStep(
      folder,
      step,
      [0, 1].map((i) => trajectoryOf(`step-${step}/0/${i}`, { reward: i, kind: i === 0 ? "pay" : "pay+move" })),
    );
  const source = new RunSource("own", folder);
  const page = (request: Partial<Parameters<typeof trajectoryPage>[1]>) => {
    const { rows, ...rest } = trajectoryPage(source, { offset: 0, limit: 50, ascending: false, ...request });
    return { ids: rows.map(({ id }) => id), ...rest };
  };
  expect(page({}).ids).toEqual(["step-2/0/1", "step-2/0/0", "step-1/0/1", "step-1/0/0"]);
  expect(page({ offset: 1, limit: 2 })).toMatchObject({ ids: ["step-2/0/0", "step-1/0/1"], total: 4 });
  expect(page({ sort: "reward" }).ids).toEqual(["step-2/0/1", "step-1/0/1", "step-2/0/0", "step-1/0/0"]);
  expect(page({ sort: "reward", ascending: true }).ids).toEqual(["step-2/0/0", "step-1/0/0", "step-2/0/1", "step-1/0/1"]);
  expect(page({ kind: "move" }).ids).toEqual(["step-2/0/1", "step-1/0/1"]);
  expect(page({ fromStep: 2, maxReward: 0 }).ids).toEqual(["step-2/0/0"]);
  expect(page({}).facets).toEqual({ sources: ["train"], kinds: ["move", "pay"], stops: ["done"], trajectories: 4 });
  // A search looks at the messages alone, without regard to case; ids and log-probs are no text.
  expect(page({ text: "HER NUMBER" })).toMatchObject({ total: 4, searched: 4 });
  expect(page({ text: "samplerLogprobs" })).toMatchObject({ total: 0, searched: 4 });
  expect(page({})).not.toHaveProperty("searched");
});

test("a trajectory's updates are its own, turn by turn, and what was not computed is null", async () => {
  const folder = run();
  const others = [trajectoryOf("step-1/0/1", { reward: 0.5, group: "step-1/0" }), trajectoryOf("step-1/1/0", { reward: 0 })];
  addStep(folder, 1, [trajectoryOf("step-1/0/0"), ...others]);
  const writer = new CreditWriter(folder);
  const credit = { before: [-1, -2], old: [-1, -3], weights: [0.5, -1] };
  writer.write(1, [
    { ...credit, optimiserStep: 0, trajectory: "step-1/0/0", turn: 1, learningRate: 0.1, advantage: 2, factor: 0.9 },
    { ...credit, optimiserStep: 1, trajectory: "step-1/0/0", turn: 1, learningRate: 0.2, end: [-0.5, -1] },
    { ...credit, optimiserStep: 1, trajectory: "step-1/0/1", turn: 1, learningRate: 0.2 },
  ]);
  await writer.flush();
  const view = await trajectoryView(new RunSource("own", folder), "step-1/0/0");
  expect(view).toMatchObject({ groupMean: 0.75, hasCredits: true, stop: "done" });
  expect(view.group.map(({ id }) => id)).toEqual(["step-1/0/0", "step-1/0/1"]);
  expect(view.turns.map(({ turn, updates }) => [turn, updates.map(({ optimiserStep }) => optimiserStep)])).toEqual([
    [0, []],
    [1, [0, 1]],
  ]);
  const [first, second] = view.turns[1].updates;
  // The turn's ratio is exp of the mean of 0 and 1, the tokens' are exp 0 and exp 1.
  expect(first.ratio).toBeCloseTo(Math.exp(0.5), 5);
  expect(first.ratios[0]).toBe(1);
  expect(first.ratios[1]).toBeCloseTo(Math.E, 5);
  expect(first).toMatchObject({ advantage: 2, rateShare: 0.5, end: [null, null] });
  expect(first.factor).toBeCloseTo(0.9, 6);
  expect(second).toMatchObject({ advantage: null, factor: null, rateShare: 1, end: [-0.5, -1], weights: [0.5, -1] });
  // Without a tokenizer ids are shown. The new part of a context follows the action before it.
  expect(view.turns.map(({ context }) => context)).toEqual(["⟨1⟩⟨2⟩", "⟨6⟩"]);
  expect(view.messages.map(({ role, turn }) => [role, turn])).toEqual([
    ["user", undefined],
    ["assistant", 0],
    ["tool", undefined],
    ["assistant", 1],
  ]);
  expect(view.messages[1]).toMatchObject({ calls: [{ name: "find", arguments: '{"name":"Ana"}' }] });
  expect(view.messages[2]).toMatchObject({ name: "find", content: '[{"id":"c1"}]' });
  expect(view.messages[3]).toEqual({ role: "assistant", content: "Her number is c1", calls: [], turn: 1 });
  const unscored = await trajectoryView(new RunSource("own", folder), "step-1/0/1");
  expect(unscored.turns[1].updates).toHaveLength(1);
});

test("a step's tree is that of the group that is asked for, else of the first that branched, else of the first", () => {
  const folder = run();
  const branch = { from: "step-1/1/0", turn: 1 };
  addStep(folder, 1, [
    trajectoryOf("step-1/0/0", { task: "a", reward: 1 }),
    trajectoryOf("step-1/0/1", { task: "a", reward: 0 }),
    trajectoryOf("step-1/1/0", { task: "b" }),
    trajectoryOf("step-1/1/1", { task: "b", branch }),
  ]);
  addStep(folder, 2, [trajectoryOf("step-2/0/0", { task: "c" })]);
  const source = new RunSource("own", folder);
  const groups = [
    { group: "step-1/0", task: "a", reward: 0.5, branched: false },
    { group: "step-1/1", task: "b", reward: 1, branched: true },
  ];
  expect(treeView(source, 1, undefined)).toMatchObject({ group: "step-1/1", task: "b", step: 1, groups });
  expect(treeView(source, 1, "step-1/0")).toMatchObject({ group: "step-1/0", task: "a", root: { leaves: 2, reward: 0.5 } });
  expect(treeView(source, 1, "nowhere").group).toBe("step-1/1");
  expect(treeView(source, 2, undefined)).toMatchObject({ group: "step-2/0", task: "c" });
  evaluate(folder, { mean: 0.5, when: "after", step: 3 });
  expect(() => treeView(source, 3, undefined)).toThrow("Step 3 has no trajectories.");
});

test("a question for a page: fifty from the newest if nothing is said, and what is no number, order or length is refused", () => {
  expect(pageQuery.parse({})).toEqual({ offset: 0, limit: 50, ascending: false });
  const asked = { offset: "5", limit: "500", fromStep: "1", toStep: "2", minReward: "-0.5", maxReward: "1", success: "false" };
  expect(pageQuery.parse({ ...asked, ascending: "true" })).toEqual({
    ...{ offset: 5, limit: 500, fromStep: 1, toStep: 2, minReward: -0.5, maxReward: 1, success: false, ascending: true },
  });
  const texts = { source: "train", split: "a", task: "b", kind: "c", stop: "d", text: "x".repeat(500) };
  expect(pageQuery.parse(texts)).toMatchObject(texts);
  for (const sort of ["reward", "turns", "tokens", "entropy"]) expect(pageQuery.parse({ sort }).sort).toBe(sort);
  for (const wrong of [{ offset: "-1" }, { limit: "501" }, { fromStep: "1.5" }, { sort: "id" }, { text: "x".repeat(501) }])
    expect(pageQuery.safeParse(wrong).success, JSON.stringify(wrong).slice(0, 40)).toBe(false);
});

test("phrases are those of the step that is asked for", async () => {
  const folder = run();
  for (const step of [1, 2]) {
    const said = trajectoryOf(`step-${step}/0/0`, {});
    addStep(folder, step, [
      { ...said, turns: said.turns.map((turn) => ({ ...turn, action: [step, 9, 9].slice(0, turn.action.length) })) },
    ]);
    const writer = new CreditWriter(folder);
    const credit = { optimiserStep: 0, trajectory: said.id, turn: 0, learningRate: 0.1, weights: [1, 0, 0] };
    writer.write(step, [{ ...credit, before: [-1, -1, -1], old: [-1, -1, -1] }]);
    await writer.flush();
  }
  const asked = (step: number) =>
    routes["GET /api/run/phrases"](
      new RunSources(dirname(folder)),
      new URLSearchParams({ run: "own", step: `${step}` }),
      {} as never,
    );
  for (const step of [1, 2])
    expect(await asked(step)).toEqual({
      ...{ step, down: [] },
      up: [{ text: `⟨${step}⟩⟨9⟩⟨9⟩`, weight: 1, count: 1, positions: [{ trajectory: `step-${step}/0/0`, turn: 0, token: 0 }] }],
    });
});

test("files that have no line in the index are read once, until there are others", () => {
  const folder = run();
  addStep(folder, 1, [trajectoryOf("step-1/0/0")]);
  addStep(folder, 2, [trajectoryOf("step-2/0/0"), trajectoryOf("step-2/0/1")]);
  const whole = new RunSource("own", folder).index();
  expect(whole.map(({ step, id }) => [step, id.length])).toEqual([
    [1, 1],
    [2, 2],
  ]);
  rmSync(layout.index(folder));
  const source = new RunSource("own", folder);
  const rebuilt = source.index();
  expect(rebuilt).toEqual(whole);
  expect(source.index()).toBe(rebuilt);
  rmSync(layout.trajectories(folder, 1));
  expect(source.index().map(({ step }) => step)).toEqual([2]);
});

test("credits of the four steps that were asked last are kept, and a step without any is asked again", async () => {
  const folder = run();
  const steps = [1, 2, 3, 4, 5];
  for (const step of steps) {
    addStep(folder, step, [trajectoryOf(`step-${step}/0/0`)]);
    const writer = new CreditWriter(folder);
    const credit = { optimiserStep: 0, trajectory: `step-${step}/0/0`, turn: 0, learningRate: 0.1, weights: [1, 1, 1] };
    writer.write(step, [{ ...credit, before: [-1, -1, -1], old: [-1, -1, -1] }]);
    await writer.flush();
  }
  const source = new RunSource("own", folder);
  expect(source.creditSteps()).toEqual(steps);
  const asked = steps.map((step) => source.credits(step));
  expect((await Promise.all(asked)).map((credits) => credits?.map(({ trajectory }) => trajectory))).toEqual(
    steps.map((step) => [`step-${step}/0/0`]),
  );
  expect([2, 3, 4, 5].map((step) => source.credits(step) === asked[step - 1])).toEqual([true, true, true, true]);
  expect(source.credits(1)).not.toBe(asked[0]);
  const none = source.credits(9);
  expect(await none).toBeUndefined();
  expect(source.credits(9)).not.toBe(none);
});

test("tokens have texts once the run has a tokenizer", () => {
  const folder = run();
  const source = new RunSource("own", folder);
  expect(source.texts().of([0, 1])).toEqual(["⟨0⟩", "⟨1⟩"]);
  mkdirSync(layout.tokenizer(folder));
  for (const [name, json] of [
    ["tokenizer.json", lettersTokenizer.tokenizer],
    ["tokenizer_config.json", lettersTokenizer.config],
  ] as const)
    writeFileSync(`${layout.tokenizer(folder)}/${name}`, JSON.stringify(json));
  expect(source.texts().of([0, 1])).toEqual(["a", "b"]);
  expect(source.texts()).toBe(source.texts());
});

test("a run is opened once, and again when its record is another one", () => {
  const root = dirname(run());
  const sources = new RunSources(root);
  expect(sources.ids().sort()).toEqual(["own", "run"]);
  const first = sources.find("own");
  expect(sources.find("own")).toBe(first);
  utimesSync(layout.run(`${root}/own`), 1, 1);
  expect(sources.find("own")).not.toBe(first);
  expect(first?.folder).toBe(`${root}/own`);
  expect(sources.find("none")).toBeUndefined();
  expect(() => sources.open("none")).toThrow(/run\.json.*no run|no run/);
});

test("a row of a run whose configuration says little", () => {
  const folder = `${dirname(newRun())}/little`;
  createRun(folder, { seed: 5, environment: "office", evaluation: null });
  expect(rowOf(new RunSource("little", folder))).toEqual({
    ...{
      id: "little",
      folder,
      created: expect.any(String),
      state: "stopped",
      environment: "–",
      algorithm: "–",
      model: "default",
    },
    ...{ seed: 5, steps: 0, stepsDone: 0, split: "–", measure: "success", before: null, after: null, curve: [], warnings: 0 },
    configuration: '{"engine":{},"environment":"office","evaluation":null}',
  });
  const detail = runDetail(new RunSource("little", folder));
  expect(Object.keys(detail)).toEqual([
    ...["row", "config", "version", "node", "steps", "timings", "evaluations", "summary", "messages", "live", "creditSteps"],
  ]);
});
