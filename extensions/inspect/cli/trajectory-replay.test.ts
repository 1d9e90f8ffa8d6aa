import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import "../../../test/office.ts";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import type { SampledAction } from "../../../src/engines/engine.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { addEnvironments } from "../../../src/environments/registry.ts";
import { layout } from "../../../src/runs/layout.ts";
import { createRun } from "../../../src/runs/write.ts";
import { createScreen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { train } from "../../../src/training/trainer.ts";
import { lettersChat, lettersEnvironment, lettersTokenizer, lettersVocabulary } from "../../../test/letters.ts";
import { TableEngine } from "../../../test/table-engine.ts";
import type { IndexPosition } from "../filter.ts";
import { readIndex, TrajectoryReader } from "../read-index.ts";
import { replayCommand } from "./trajectory-replay.ts";

const root = mkdtempSync(join(tmpdir(), "retrograde-replay-"));
afterAll(() => rmSync(root, { recursive: true }));
const letters = lettersEnvironment(5);
/** The world of the run; a test may change it after the run was made. */
const world: Environment = letters as never;
addEnvironments({ "replayed-letters": () => ({ ...world, name: "replayed-letters" }) });

const folder = join(root, "run");
const config = resolveConfig({
  ...{ environment: "replayed-letters", steps: 1, seed: 7, rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 4 } },
  ...{ evaluation: { tasks: 1, k: 1 }, algorithm: "grpo" as const },
});
createRun(folder, config);
/** Says "b" in each turn, as likely as any other letter. */
class SaysB extends TableEngine {
  override async sample(): Promise<SampledAction> {
    const logprobs = [1, 1].map(() => -Math.log(lettersVocabulary));
    return { tokens: [1, lettersVocabulary - 1], logprobs, entropies: [], finish: "stop", weightVersion: this.weightVersion };
  }
}
await train({ config, engine: new SaysB(lettersVocabulary), chat: lettersChat(), environment: world, folder });
const reader = new TrajectoryReader(folder);
const lines = readIndex(folder);
const keep = (into: string) => {
  mkdirSync(layout.tokenizer(into), { recursive: true });
  for (const [name, json] of [
    ["tokenizer.json", lettersTokenizer.tokenizer],
    ["tokenizer_config.json", lettersTokenizer.config],
  ] as const)
    writeFileSync(join(layout.tokenizer(into), name), JSON.stringify(json));
};

async function replayed(source: string, changed: (recorded: Trajectory) => Trajectory = (recorded) => recorded) {
  const position: IndexPosition = { line: lines.find((line) => line.source === source) as IndexPosition["line"], at: 0 };
  const recorded = reader.read(position.line, 0);
  let out = "";
  const screen = createScreen({ write: (part: string) => (out += part) });
  const code = await replayCommand(folder, position, changed(recorded), {}, screen);
  return { code, lines: out.trimEnd().split("\n"), recorded };
}

test("a run that kept no tokenizer cannot be replayed", async () => {
  await expect(replayed("train")).rejects.toThrow(
    /\/run is "without a tokenizer"; expected a run that keeps its tokenizer\. Version 0\.1 kept none before a run had finished\.$/,
  );
  keep(folder);
});

test.each(["train", "before", "after"])("an episode of %s is played once more and shown", async (source) => {
  const { code, lines: shown, recorded } = await replayed(source);
  expect(code).toBe(0);
  expect(shown.slice(-2)).toEqual(["", "Replayed 2 turns, 0 tool calls: every context, the scores and the end are as recorded."]);
  expect(shown.slice(0, -2).join(" ")).toContain(recorded.messages[0].content);
});

test("where the world is another one now, the first difference is shown with its place", async () => {
  const { code, lines: shown } = await replayed("train", (recorded) => ({ ...recorded, reward: 0.5 }));
  expect([code, ...shown.slice(-3)]).toEqual([
    ...[1, "The replay differs at its end.", "recorded: reward 0.5"],
    "replayed: reward 1",
  ]);
  const turnDiffers = await replayed("train", (recorded) => ({
    ...recorded,
    turns: recorded.turns.map((turn, i) => (i === 1 ? { ...turn, context: [...turn.context, 1, 1] } : turn)),
  }));
  const context = turnDiffers.recorded.turns[1].context.length;
  expect([turnDiffers.code, ...turnDiffers.lines.slice(-3)]).toEqual([
    ...[1, `The replay differs at turn 2, after ${context} tokens of its context.`, 'recorded: "bb"', 'replayed: ""'],
  ]);
  const long = await replayed("train", (recorded) => ({
    ...recorded,
    turns: recorded.turns.map((turn) => ({ ...turn, context: [...turn.context, ...Array(300).fill(1)] })),
  }));
  expect(long.lines.at(-2)).toBe(`recorded: "${"b".repeat(200)}"`);
  const longer = await replayed("train", (recorded) => ({ ...recorded, turns: [...recorded.turns, recorded.turns[0]] }));
  expect(longer.lines.slice(-3)).toEqual([...["The replay differs at turn 3.", "recorded: a turn", "replayed: the end: done"]]);
});
