import "../../../test/office.ts";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import { reportPage } from "../../cli/evaluation-lines.ts";
import { ConfigError, RunError } from "../../core/errors.ts";
import type { Trajectory } from "../../core/trajectory.ts";
import { tokenActor } from "../../rollouts/actors/token-actor.ts";
import { encodeTrajectory } from "../../runs/trajectory-file.ts";
import { resolveConfig } from "../config/config.ts";
import { requireComparable } from "./differing.ts";
import { evaluate } from "./evaluate.ts";
import {
  type Asked,
  askedOf,
  decodingsOf,
  episodesOf,
  finishEvaluation,
  isEvaluation,
  isOwnEvaluation,
  keepEpisode,
  modelIdentity,
  openEvaluation,
  playedIn,
  readAsked,
  readReport,
  scoredIn,
  unfinishedEvaluation,
} from "./folder.ts";

const root = mkdtempSync(join(tmpdir(), "evaluation-"));
const folder = join(root, "one");
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const asked: Asked = {
  ...{ schema: 2, model: "letters", weights: "w", tokenizer: "t", world: "tasks", split: "test", tasks: 5, k: 3, seed: 2 },
  environment: { name: "letters", settings: {} },
  ...{ temperature: 1, greedy: true, rollout: { maxTurns: 20, maxTokens: 96, topP: 1, topK: 0 }, version: "0.1.0" },
};

const play = (keep: boolean) =>
  evaluate(tokenActor(new TableEngine(lettersVocabulary), lettersChat()), lettersEnvironment(), {
    ...{ when: "after", step: 0, split: "test", tasks: 5, k: 3, temperature: 1, seed: 2, rollout: resolveConfig().rollout },
    played: keep ? playedIn(folder, "sampled") : new Map(),
    onTrajectory: (trajectory) => keep && keepEpisode(folder, "sampled", trajectory),
  });

/** An episode as its line says. Contexts that were read back have ids and no messages. */
const stored = (trajectory: Trajectory): unknown => JSON.parse(encodeTrajectory(trajectory));

test("an evaluation that was killed continues, and ends as one that was not", async () => {
  const whole = await play(false);
  openEvaluation(folder, asked, false);
  await play(true);
  const path = join(folder, "sampled.jsonl");
  const lines = readFileSync(path, "utf8").split("\n");
  // Four and a half episodes were written when it was killed.
  writeFileSync(path, `${lines.slice(0, 4).join("\n")}\n${lines[4].slice(0, 30)}`);
  openEvaluation(folder, asked, true);
  expect(playedIn(folder, "sampled").size).toBe(4);
  const resumed = await play(true);
  const written = whole.trajectories.map(stored);
  expect(resumed.record).toEqual(whole.record);
  expect(resumed.trajectories.map(stored)).toEqual(written);
  expect(episodesOf(folder, "sampled").map(stored)).toEqual(written);
  expect(decodingsOf(folder)).toEqual(["sampled"]);

  const report = finishEvaluation(folder, [resumed.record], 12, (each) => reportPage(each, resumed.trajectories));
  expect(readReport(folder)).toEqual(report);
  const page = readFileSync(join(folder, "report.txt"), "utf8");
  expect(page).toContain("letters in letters");
  expect(page).toMatch(/^sampled × 3 +reward .*^ +ended: /ms);
});

test("an attempt that an error ended is played once more, and its new end counts", async () => {
  const { trajectories } = await play(false);
  openEvaluation(folder, asked, false);
  const broken = trajectories.map((trajectory, i) =>
    i === 2 ? { ...trajectory, reward: 0, stopReason: "actor-error" as const } : trajectory,
  );
  for (const trajectory of broken) keepEpisode(folder, "sampled", trajectory);
  const [known, again] = [scoredIn(folder, "sampled"), trajectories[2] as Trajectory];
  expect(known.size).toBe(14);
  expect(known.has(again.id)).toBe(false);
  keepEpisode(folder, "sampled", again);
  expect(episodesOf(folder, "sampled").map(stored)).toEqual(trajectories.map(stored));
});

test("an evaluation is not written over, nor continued as another", () => {
  expect(openEvaluation(folder, asked, false)).toBe(true);
  expect(() => openEvaluation(folder, asked, false)).toThrow(/an evaluation already.*--resume/);
  expect(() => openEvaluation(folder, { ...asked, k: 4, world: "x" }, true)).toThrow(
    /k of the evaluation in .* is 3; expected 4/,
  );
  expect(openEvaluation(folder, { ...asked, model: "the same, named otherwise" }, true)).toBe(false);
  appendFileSync(join(folder, "sampled.jsonl"), "{}\n");
  expect(() => playedIn(folder, "sampled")).toThrow(RunError);
  rmSync(join(folder, "evaluation.json"));
  expect(() => openEvaluation(folder, asked, true)).toThrow(/other files/);
});

test("models of different worlds are not compared; what else differs is said", () => {
  expect(requireComparable(asked, asked)).toEqual([]);
  expect(requireComparable(asked, { ...asked, tokenizer: "other", seed: 3 })).toEqual([
    "seed (attempts draw other random numbers): 2 and 3",
    "tokenizers: numbers of tokens do not compare, and attempts draw other words",
  ]);
  const other = { ...asked, model: "B", environment: { name: "office", settings: {} } };
  expect(() => requireComparable(asked, other)).toThrow(ConfigError);
  expect(() => requireComparable(asked, other)).toThrow(/environment.name of B is "office"; expected "letters", that of letters/);
  expect(() => requireComparable(asked, { ...asked, tasks: 6 })).toThrow(/evaluation.tasks/);
  expect(() => requireComparable(asked, { ...asked, world: "changed" })).toThrow(/versions 0.1.0 and 0.1.0 of the world/);
});

test("what decides an evaluation is gathered from its settings, with a digest of its tasks", () => {
  const config = resolveConfig({
    environment: { name: "desk", settings: { size: 2 } },
    evaluation: { split: "hard", tasks: 9, k: 3, temperature: 0.5, greedy: false },
    rollout: { maxTurns: 4, maxTokens: 5, topP: 0.9, topK: 6 },
    seed: 8,
  });
  const tasks = [{ id: "a" }, { id: "b", big: 2n }];
  const actor = { model: "m", tokenizer: "t" };
  const world = createHash("sha256").update('[{"id":"a"},{"id":"b","big":"2"}]').digest("hex");
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../../package.json"), "utf8"));
  const plain = {
    ...{ schema: 2, ...actor, environment: { name: "desk", settings: { size: 2 } }, world, split: "hard", tasks: 2, k: 3 },
    ...{ temperature: 0.5, greedy: false, rollout: { maxTurns: 4, maxTokens: 5, topP: 0.9, topK: 6 }, seed: 8, version },
  };
  expect(askedOf(config, actor, tasks)).toEqual(plain);
  expect(askedOf(config, actor, tasks, { "desk.ts": "x" })).toEqual({ ...plain, code: { "desk.ts": "x" } });
});

test("a model is known by its weights, in the order of their names, and its tokenizer", async () => {
  const model = mkdtempSync(join(tmpdir(), "model-"));
  const write = (name: string, text: string) => writeFileSync(join(model, name), text);
  const digest = (text: string) => createHash("sha256").update(text).digest("hex");
  write("tokenizer.json", "words");
  write("model.txt", "no weights");
  expect(await modelIdentity(model)).toEqual({ tokenizer: digest("words") });
  write("model-2.safetensors", "second");
  write("model-1.safetensors", "first ");
  expect(await modelIdentity(model)).toEqual({ weights: digest("first second"), tokenizer: digest("words") });
});

test("an evaluation's folder says what was asked, by whom, and whether it has ended", () => {
  const parent = join(root, "several");
  const [old, young] = [join(parent, "a"), join(parent, "b")];
  mkdirSync(parent);
  expect([isEvaluation(old), unfinishedEvaluation(parent)]).toEqual([false, undefined]);
  for (const each of [old, young]) openEvaluation(each, asked, false);
  mkdirSync(join(parent, "c"));
  expect(readAsked(old)).toEqual(asked);
  expect([isEvaluation(old), isOwnEvaluation(old), readReport(old)]).toEqual([true, true, undefined]);
  expect(unfinishedEvaluation(parent)).toBe(young);
  const report = finishEvaluation(young, [], 3, ({ seconds }) => `took ${seconds} s`);
  expect(report).toEqual({ schema: 2, asked, evaluations: [], seconds: 3 });
  expect(readReport(young)).toEqual(report);
  expect(readFileSync(join(young, "report.txt"), "utf8")).toBe("took 3 s");
  expect(unfinishedEvaluation(parent)).toBe(old);
  writeFileSync(join(old, "evaluation.json"), "{}");
  expect(() => readAsked(old)).toThrow(RunError);
  expect(isOwnEvaluation(old)).toBe(false);
});

test("an evaluation names the first setting that differs, the number of its tasks before their contents", () => {
  openEvaluation(folder, asked, false);
  const continued = (changes: object) => () => openEvaluation(folder, { ...asked, ...changes }, true);
  expect(continued({ tasks: 6, world: "x" })).toThrow(
    new RunError(`tasks of the evaluation in ${folder}`, 5, {
      expected: "6, as it is asked for now",
      hint: "An evaluation continues only as it began. Choose another folder with --out.",
    }),
  );
  expect(continued({ world: "x" })).toThrow(
    `world of the evaluation in ${folder} is "tasks"; expected "x", as it is asked for now`,
  );
  expect(continued({ weights: "other" })).toThrow(`weights of the evaluation in ${folder} is "w"`);
  expect(continued({ version: "0.0.1", schema: 1 })()).toBe(false);
  expect(() => openEvaluation(folder, asked, false)).toThrow(
    new RunError(folder, "an evaluation already", {
      expected: "a new folder",
      hint: "Continue it with --resume, or choose another folder with --out.",
    }),
  );
});

const episode = (id: string, stopReason: Trajectory["stopReason"] = "done"): Trajectory => ({
  ...{ id, group: "g", task: "t", turns: [], reward: 0.5, scores: {}, stopReason, messages: [] },
});

test("episodes are in the order of their tasks and attempts, ten behind nine; a cancelled one is not kept", () => {
  openEvaluation(folder, asked, false);
  const ids = ["x/10/0", "x/9/10", "x/9/9", "x/9/0"];
  for (const id of ids) keepEpisode(folder, "greedy", episode(id));
  keepEpisode(folder, "greedy", episode("x/1/0", "cancelled"));
  keepEpisode(folder, "greedy", episode("x/2/0", "actor-error"));
  expect(episodesOf(folder, "greedy").map(({ id }) => id)).toEqual(["x/2/0", "x/9/0", "x/9/9", "x/9/10", "x/10/0"]);
  expect([decodingsOf(folder), playedIn(folder, "sampled").size]).toEqual([["greedy"], 0]);
  expect([...scoredIn(folder, "greedy").keys()]).toEqual(ids);
});

test("a line that a kill cut off is taken out, and the next episode begins one of its own", () => {
  openEvaluation(folder, asked, false);
  const path = join(folder, "sampled.jsonl");
  keepEpisode(folder, "sampled", episode("x/0/0"));
  const whole = readFileSync(path, "utf8");
  expect(whole.split("\n")).toHaveLength(2);
  appendFileSync(path, whole.slice(0, 20));
  expect([...playedIn(folder, "sampled").keys()]).toEqual(["x/0/0"]);
  expect(readFileSync(path, "utf8")).toBe(whole);
  keepEpisode(folder, "sampled", episode("x/0/1"));
  expect([...playedIn(folder, "sampled").keys()]).toEqual(["x/0/0", "x/0/1"]);
  expect(playedIn(folder, "sampled").get("x/0/1")).toMatchObject({ reward: 0.5, stopReason: "done" });
});

test("all that differs between two evaluations of one world is said in words", () => {
  const rollout = { ...asked.rollout, maxTurns: 3 };
  const endpoint = { baseUrl: "http://x", maxTokensField: "max_tokens", growing: "messages", request: {} };
  const changed = { ...asked, k: 4, temperature: 0.5, seed: 3, rollout, code: { a: "b" }, endpoint, tokenizer: undefined };
  expect(requireComparable(asked, changed)).toEqual([
    "k: 3 and 4",
    "temperature: 1 and 0.5",
    "seed (attempts draw other random numbers): 2 and 3",
    `rollout limits: ${JSON.stringify(asked.rollout)} and ${JSON.stringify(rollout)}`,
    'code of the environment (SHA-256): undefined and {"a":"b"}',
    `chat endpoint: undefined and ${JSON.stringify(endpoint)}`,
    "tokenizers: numbers of tokens do not compare, and attempts draw other words",
  ]);
  const refused = (changes: object) => () => requireComparable(asked, { ...asked, model: "B", ...changes });
  const other = "Models of different worlds are not compared. Evaluate both in one, with --env.";
  expect(refused({ environment: { name: "office", settings: {} } })).toThrow(other);
  expect(refused({ environment: { name: "letters", settings: { n: 1 } } })).toThrow(
    new ConfigError("environment.settings of B", { n: 1 }, { expected: "{}, that of letters", hint: other }),
  );
  expect(refused({ split: "hard" })).toThrow(
    'evaluation.split of B is "hard"; expected "test", that of letters. Evaluate both on one split, with --split.',
  );
  expect(refused({ tasks: 6 })).toThrow(
    "evaluation.tasks of B is 6; expected 5, that of letters. Evaluate both on as many tasks, with --tasks.",
  );
  expect(refused({ world: "w", version: "0.2.0" })).toThrow(
    'the world\'s contents of B is "w"; expected "tasks", that of letters. The tasks differ although the settings are the same: ' +
      "versions 0.1.0 and 0.2.0 of the world. Evaluate both again.",
  );
});
