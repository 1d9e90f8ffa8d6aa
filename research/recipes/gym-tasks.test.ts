import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { seedOf } from "../../src/core/random.ts";
import { type GymTask, gymConfigs, gymEnvironment, gymTasks, writeForm } from "./gym-tasks.ts";

const task = (split: string, index: number, more: Partial<GymTask> = {}): GymTask => ({
  ...{ split, index, prompt: `${split} ${index}?`, answers: ["Ten Cows", "10"], guesses: ["one", "two"] },
  ...more,
});
const fresh = () => mkdtempSync(join(tmpdir(), "gym-"));
const rowsOf = (file: string) => {
  const lines = readFileSync(file, "utf8").split("\n");
  expect(lines.pop()).toBe("");
  return lines.map((line) => JSON.parse(line));
};

test("an answer is right if it is one of the texts, case and spaces apart; a place without a task is named", async () => {
  const world = gymEnvironment("cows", [task("train", 7), task("challenge", 7, { answers: ["b"] })]);
  expect([world.name, world.splits]).toEqual(["cows", ["train", "test", "challenge"]]);
  expect([world.size("train"), world.size("test"), world.size("challenge")]).toEqual([Number.POSITIVE_INFINITY, 256, 256]);
  expect(await world.task("train", 7)).toEqual({ id: "train/7", request: task("train", 7) });
  const rewardOf = async (answer: string) => {
    const episode = await world.start(await world.task("train", 7), 1);
    expect(episode.messages).toEqual([{ role: "user", content: "train 7?" }]);
    const said = { role: "assistant", content: answer } as const;
    expect(await episode.reply(said)).toEqual({ done: true });
    return (await episode.score([...episode.messages, said])).reward;
  };
  const answers = ["tencows", " TEN\tcows\n", "1 0", "ten", "ten cows.", ""];
  expect(await Promise.all(answers.map(rewardOf))).toEqual([1, 1, 1, 0, 0, 0]);
  expect(() => world.task("train", 8)).toThrow('task train/8 is "missing"; expected a line of tasks.jsonl');
});

test("the package makes a run's tasks once, each by the seed of its place; the run's seed decides which are trained on", async () => {
  const asked: string[] = [];
  const make = (seeds: string) => {
    asked.push(seeds);
    const lines = seeds.trimEnd().split("\n");
    return lines.map((seed) => JSON.stringify({ prompt: `of ${seed}`, answers: [seed], guesses: [] })).join("\n");
  };
  const folder = fresh();
  const tasks = await gymTasks(folder, 11, make);
  expect(tasks.slice(0, 128).map(({ split, index }) => `${split} ${index}`)).toEqual(
    Array.from({ length: 128 }, (_, i) => `train ${i}`),
  );
  const count = (split: string, below: number) => tasks.filter((each) => each.split === split && each.index < below).length;
  expect([count("train", 128), count("test", 64), count("test", 1e9), count("challenge", 256), count("challenge", 1e9)]).toEqual([
    ...[128, 64, 64, 256, 256],
  ]);
  const places = tasks.map(({ split, index }) => `${split}/${index}`);
  expect(new Set(places).size).toBe(places.length);
  expect(count("train", Number.POSITIVE_INFINITY)).toBeGreaterThanOrEqual(640);
  for (const { split, index, prompt, answers } of tasks) {
    const seed = seedOf(0, "task", split, index) >>> 1;
    expect([prompt, answers]).toEqual([`of ${seed}`, [`${seed}`]]);
  }
  expect(asked[0]?.endsWith("\n")).toBe(true);
  expect(await gymTasks(folder, 11, make)).toEqual(tasks);
  expect(asked).toHaveLength(1);
  const others = await gymTasks(fresh(), 12, make);
  expect(others.slice(0, 448)).toEqual(tasks.slice(0, 448));
  expect(others).not.toEqual(tasks);
  await expect(gymTasks(fresh(), 11, () => '{"prompt":"p","answers":[],"guesses":[]}')).rejects.toThrow("answers");
});

test("the form is shown by guesses at the first training tasks", () => {
  const folder = fresh();
  const tasks = [task("train", 0), task("train", 127), task("train", 128), task("test", 0), task("challenge", 5)];
  writeForm(tasks, join(folder, "form.jsonl"));
  const shown = rowsOf(join(folder, "form.jsonl"));
  expect(shown).toEqual(
    [0, 127].map((index) => ({
      messages: [
        { role: "user", content: `train ${index}?` },
        { role: "assistant", content: expect.stringMatching(/^(one|two)$/) },
      ],
    })),
  );
  const many = Array.from({ length: 40 }, (_, i) => task("train", i));
  writeForm(many, join(folder, "many.jsonl"));
  const guesses = rowsOf(join(folder, "many.jsonl")).map(({ messages }) => messages[1].content);
  expect(new Set(guesses)).toEqual(new Set(["one", "two"]));
});

test("both stages are as long as the longest answer needs", () => {
  const tokens = (text: string) => text.length;
  const configs = (prompt: number, answer: number) =>
    gymConfigs({
      ...{ family: "cows", seed: 3, device: "cpu", threads: 2, data: "form.jsonl", tokens },
      tasks: [
        task("train", 0, { prompt: "p", answers: ["a"] }),
        task("train", 1, { prompt: "p".repeat(prompt), answers: ["a".repeat(answer)] }),
      ],
    });
  const { form, reinforcement } = configs(190, 10);
  const engine = {
    kind: "local",
    device: "cpu",
    threads: 2,
    lora: { rank: 16, alpha: 32, targets: "all-linear" },
    maxLength: 256,
    memory: 2.6,
  };
  const shared = { seed: 3, environment: expect.objectContaining({ name: "cows" }), engine };
  expect(form).toEqual({
    ...shared,
    rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: 14 },
    algorithm: { kind: "sft", data: "form.jsonl" },
    optimizer: { learningRate: 5e-4 },
    steps: 8,
    evaluation: { tasks: 0 },
  });
  expect(reinforcement).toEqual({
    ...shared,
    rollout: { tasksPerStep: 16, groupSize: 8, maxTurns: 2, maxTokens: 14 },
    algorithm: { kind: "grpo" },
    optimizer: { learningRate: 4e-4 },
    steps: 40,
    evaluation: { split: "challenge", tasks: 256, k: 1 },
  });
  expect(configs(20, 8).form).toMatchObject({ rollout: { maxTokens: 12 } });
  expect(configs(20, 9).form).toMatchObject({ rollout: { maxTokens: 13 } });
});
