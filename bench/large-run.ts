import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { randomStream } from "../src/core/random.ts";
import { CreditWriter } from "../src/runs/credits.ts";
import { indexLine } from "../src/runs/index-file.ts";
import { layout } from "../src/runs/layout.ts";
import { trajectoryOf } from "../src/runs/store.fixture.ts";
import { encodeTrajectories } from "../src/runs/trajectory-file.ts";
import { createRun } from "../src/runs/write.ts";

const kinds = ["pay", "move_event", "find_file", "send_message"];

/**
 * Writes a run as large as a long training makes it: every step with its trajectories, index line, metrics and timing. The last step has one
 * episode of `longest` tokens, with credits. Texts are those of one step under other ids, so that making them does not take an hour.
 */
export async function makeLargeRun(folder: string, { steps = 1000, perStep = 512, longest = 10_000 } = {}): Promise<void> {
  createRun(folder, { seed: 1, steps, algorithm: { kind: "grpo" }, environment: { name: "office" } });
  mkdirSync(layout.trajectoryFolder(folder));
  const random = randomStream(1, "large-run");
  const first = Array.from({ length: perStep }, (_, i) =>
    trajectoryOf(`step-@/${Math.floor(i / 8)}/${i % 8}`, { kind: kinds[i % kinds.length] }),
  );
  const { bytes, offsets } = encodeTrajectories(first);
  const text = gunzipSync(bytes).toString("utf8");
  for (let step = 1; step < steps; step++) {
    const named = (id: string) => id.replace("@", String(step));
    const trajectories = first.map((trajectory) => ({
      ...trajectory,
      id: named(trajectory.id),
      group: named(trajectory.group),
      reward: random.uniform() < step / steps ? 1 : 0,
      task: `train/${random.integer(2000)}`,
    }));
    const file = `trajectories/step-${String(step).padStart(6, "0")}.jsonl.gz`;
    appendFileSync(
      layout.index(folder),
      `${JSON.stringify(
        indexLine(
          { file, source: "train", step },
          trajectories,
          offsets.map((at, i) => at + 3 * i * (String(step).length - 1)),
        ),
      )}\n`,
    );
    writeFileSync(layout.trajectories(folder, step), gzipSync(text.replaceAll("step-@", `step-${step}`), { level: 1 }));
    writeLines(folder, step, trajectories.reduce((sum, { reward }) => sum + reward, 0) / perStep);
  }
  await writeLongest(folder, steps, longest);
}

function writeLines(folder: string, step: number, success: number): void {
  const names = [
    "entropy",
    "gradientNorm",
    "gradientNormMax",
    "learningRate",
    "turns",
    "actionTokens",
    "samplerGapMax",
    "samplerGapMean",
    "ratioMin",
    "ratioMax",
    "ratioMean",
    "carriedMin",
    "carriedMax",
    "clipFraction",
    "toolCalls",
    "groups",
    "groupsWithoutSignal",
    ...Array.from({ length: 30 }, (_, i) => `score/kind.${i}`),
  ];
  const metrics = Object.fromEntries(names.map((name, i) => [name, Math.sin(step / (20 + i)) + 2]));
  appendFileSync(layout.metrics(folder), `${JSON.stringify({ step, metrics: { success, reward: success, ...metrics } })}\n`);
  const timing = {
    rolloutSeconds: 4,
    updateSeconds: 6,
    sampledTokens: 9000,
    sampledTokensPerSecond: 2250,
    trainedTokens: 20_000,
    trainedTokensPerSecond: 3300,
    denseTokens: 60_000,
    rssMb: 900,
  };
  appendFileSync(layout.timing(folder), `${JSON.stringify({ step, ...timing })}\n`);
}

async function writeLongest(folder: string, step: number, tokens: number): Promise<void> {
  const id = `step-${step}/0/0`;
  const turns = 20;
  let context: readonly number[] = [1, 2];
  const long = trajectoryOf(id, {
    messages: [
      { role: "user", content: "Write." },
      ...Array.from({ length: turns }, () => ({ role: "assistant" as const, content: "word ".repeat(20) })),
    ],
    turns: Array.from({ length: turns }, (_, turn) => {
      const action = Array.from({ length: tokens / turns }, (_, t) => 3 + (t % 500));
      const made = {
        ...trajectoryOf(id).turns[0],
        turn,
        context,
        action,
        samplerLogprobs: action.map((a) => -a / 250),
        entropies: action.map((a) => a / 250),
      };
      context = [...context, ...action];
      return made;
    }),
  });
  const { bytes, offsets } = encodeTrajectories([long]);
  writeFileSync(layout.trajectories(folder, step), bytes);
  const file = `trajectories/step-${String(step).padStart(6, "0")}.jsonl.gz`;
  appendFileSync(layout.index(folder), `${JSON.stringify(indexLine({ file, source: "train", step }, [long], offsets))}\n`);
  writeLines(folder, step, 1);
  const writer = new CreditWriter(folder);
  const credits = long.turns.map(({ turn, action, samplerLogprobs }) => ({
    optimiserStep: 0,
    trajectory: id,
    turn,
    advantage: 1,
    factor: 1 + turn / 100,
    learningRate: 1e-4,
    weights: action.map((a, t) => Math.sin(a + t) / 1000),
    before: samplerLogprobs,
    old: samplerLogprobs,
    after: samplerLogprobs,
  }));
  writer.write(step, credits);
  await writer.flush();
}
