import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import "./office.ts";
import { nextSteps } from "../src/cli/next-steps.ts";
import { createEnvironment } from "../src/environments/registry.ts";
import { resolveConfig } from "../src/training/config/config.ts";
import { invoke } from "./command-line.ts";

const folder = mkdtempSync(join(tmpdir(), "next-steps-"));
const before = process.cwd();
/** Commands name files as users do, from the folder that they are in. */
beforeAll(() => process.chdir(folder));
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});
const tasks = Array.from({ length: 12 }, (_, n) => `${JSON.stringify({ prompt: `Where is B${n}?`, book: `B${n}` })}\n`).join("");
const agent = `export default async (prompt: string) => {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
  const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  return JSON.parse(await response.text()).choices[0].message.content;
};\n`;
const files = {
  "agent.ts": agent,
  "tasks.jsonl": tasks,
  "reward.ts":
    "export default ({ task, answer }: { task: { book: string }; answer: unknown }) => Number(answer === task.book);\n",
  "expert.ts":
    "export default ({ messages }: { messages: { content: string }[] }) => ({ content: messages[0]?.content.slice(9, -1) });\n",
  "talk.jsonl": `${JSON.stringify({
    messages: [
      { role: "user", content: "Hello" },
      { role: "assistant", content: "Good day" },
    ],
  })}\n`,
};
beforeAll(() => {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
});

/** Settings that shorten a run, of commands that train. */
const short = ["--steps", "1", "--tasks-per-step", "1", "--group-size", "2", "--threads", "1", "--no-dashboard"];
const tiny = ["--set", "evaluation.tasks=0", "--set", "rollout.maxTokens=4"];
const ofSft = ["--steps", "1", "--threads", "1", "--no-dashboard", ...tiny.slice(0, 2)];

/** The commands below "Next" on a last screen, each as its words. */
function printed(screen: string): string[][] {
  return screen
    .slice(screen.lastIndexOf("\nNext\n"))
    .split("\n")
    .flatMap((line) => {
      const [, command] = /^ {2}npx retrograde-rl (.*?)(?: {3}.*)?$/.exec(line) ?? [];
      return command === undefined ? [] : [command.split(" ")];
    });
}

/** Runs a printed command, with less to do. @returns its exit code and its error */
async function run(words: readonly string[], i: number) {
  const options =
    words[0] === "train-agent"
      ? [...short, ...tiny, "--out", `next-${i}`]
      : words[0] === "sft"
        ? [...ofSft, "--out", `next-${i}`]
        : [];
  const at = words.indexOf("--");
  const all = at === -1 ? [...words, ...options] : [...words.slice(0, at), ...options, ...words.slice(at)];
  const { exitCode, error } = await invoke(...all);
  return { words: words[0], exitCode, error };
}
/** It stays open. */
const ends = ([command]: readonly string[]) => command !== "dashboard";

test("what is printed after conversations runs: the agent that held them is trained next", async () => {
  const learned = await invoke("sft", "--data", "talk.jsonl", "--model", "bundled:office", ...ofSft, "--out", "learned");
  expect(learned).toMatchObject({ exitCode: 0, error: "" });
  const commands = printed(learned.out).filter(ends);
  expect(commands.map(([command]) => command)).toEqual(["runs", "train-agent", "eval"]);
  for (const [i, words] of commands.entries()) expect(await run(words, i)).toEqual({ words: words[0], exitCode: 0, error: "" });
});

test("after steps without a reward the next steps are demonstrations and a larger model, not another algorithm; they run", async () => {
  const trained = ["train-agent", "./agent.ts", "--tasks", "tasks.jsonl", "--reward", "./reward.ts", "--model", "bundled:office"];
  const nothing = await invoke(...trained, ...short, ...tiny, "--out", "nothing");
  expect(nothing).toMatchObject({ exitCode: 0, error: "" });
  expect(nothing.out).not.toContain("another algorithm");
  const commands = printed(nothing.out).filter(ends);
  expect(commands.map(([command]) => command)).toEqual(["runs", "eval", "train-agent", "advise"]);
  expect(commands[2]?.join(" ")).toContain("--teacher gpt-5-mini@https://api.openai.com/v1");
  for (const [i, words] of commands.entries()) {
    const own = words.map((word) => (word.startsWith("gpt-5-mini@") ? "./expert.ts" : word));
    expect(
      await run(words[0] === "train-agent" ? [...own.slice(0, 1), "--sft-steps", "1", ...own.slice(1)] : own, 10 + i),
    ).toEqual({
      ...{ words: words[0], exitCode: 0, error: "" },
    });
  }
});

test("an environment with an expert is taught by it where nothing was rewarded, by a command that runs", async () => {
  const environment = createEnvironment("office", {});
  const config = resolveConfig({ environment: "office", model: "bundled:office" });
  const state = { plan: { environment, folder: "office", config }, summary: { after: null }, flags: {} };
  const last = async (reward: number) => (await nextSteps({ ...state, metrics: [{ metrics: { reward } }] })).at(-1)?.[0];
  expect(await last(0.5)).toContain("--algorithm grpo");
  const same = { ...state, summary: { after: null, warnings: { "no-signal": 1 } }, metrics: [{ metrics: { reward: 0.5 } }] };
  expect((await nextSteps(same)).at(-1)).toEqual([
    expect.stringContaining("--group-size 16"),
    expect.stringMatching(/^in no step did attempts at a task differ/),
  ]);
  const flags = { agent: ["./agent.ts"], tasks: "tasks.jsonl", reward: "./reward.ts", teacher: "./expert.ts", model: "smollm2" };
  const [taught] = (await nextSteps({ ...state, flags, metrics: [{ metrics: { reward: 0.5 } }] })).at(-1) ?? [];
  expect(taught).toContain("--model bundled:office"); // the model that the demonstrations gave
  const words = (await last(0))?.replace("npx retrograde-rl ", "").split(" ") ?? [];
  expect(words).toEqual(["sft", "--env", "office", "--model", "bundled:office"]);
  expect(await run(words, 20)).toEqual({ words: "sft", exitCode: 0, error: "" });
});

test("a taught model that does the same for all tasks is taught longer, with the options that were given", async () => {
  const environment = createEnvironment("office", {});
  const config = resolveConfig({ environment: "office", model: "bundled:office" });
  const flags = {
    ...{ agent: ["./agent.ts"], tasks: "tasks.jsonl", reward: "./reward.ts", teacher: "./expert.ts", model: "smollm2" },
    ...{ algorithm: "grpo", seed: "3", out: "runs/x", sftSteps: "60", sftLearningRate: "5e-4", keep: "reward >= 1" },
    set: ["engine.threads=1"],
  };
  const summary = { after: null, warnings: { "one-behaviour": 2 } };
  const metrics = [{ metrics: { reward: 0.5 } }];
  const next = await nextSteps({ plan: { environment, folder: "office", config }, summary, metrics, flags });
  expect(next.map(([command]) => command).join("\n")).not.toContain("seeupo");
  expect(next.at(-2)?.[0]).toBe(
    "npx retrograde-rl train-agent --tasks tasks.jsonl --reward ./reward.ts --teacher ./expert.ts --sft-steps 120 " +
      "--sft-learning-rate 5e-4 --keep 'reward >= 1' --algorithm grpo --model smollm2 --seed 3 --set engine.threads=1 -- ./agent.ts",
  );
});
