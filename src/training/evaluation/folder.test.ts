import "../../../test/office.ts";
import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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
  decodingsOf,
  episodesOf,
  finishEvaluation,
  keepEpisode,
  openEvaluation,
  playedIn,
  readReport,
  scoredIn,
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
