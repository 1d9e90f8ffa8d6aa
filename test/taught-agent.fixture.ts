import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { invoke } from "./command-line.ts";

export const folder = mkdtempSync(join(tmpdir(), "taught-agent-"));
afterAll(() => rmSync(folder, { recursive: true }));
export const file = (name: string, text: string) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
export const taskOf = (n: number) => ({ prompt: `Where is B${n}?`, book: `B${n}` });
export const tasks = Array.from({ length: 12 }, (_, n) => taskOf(n));

export const agentText = `export default async (prompt) => {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
  const response = await fetch(process.env.OPENAI_BASE_URL + "/chat/completions", { method: "POST", body });
  if (!response.ok) throw new Error(await response.text());
  return JSON.parse(await response.text()).choices[0].message.content;
};\n`;
export const files = {
  agent: file("agent.mjs", agentText),
  tasks: file("tasks.jsonl", tasks.map((task) => `${JSON.stringify(task)}\n`).join("")),
  reward: file("reward.mjs", "export default ({ task, answer }) => Number(answer === task.book);\n"),
  expert: file("expert.mjs", "export default ({ messages }) => ({ content: messages[0].content.slice(9, -1) });\n"),
};
export const small = [
  ...[
    "--steps",
    "1",
    "--tasks-per-step",
    "2",
    "--group-size",
    "2",
    "--sft-steps",
    "2",
    "--sft-learning-rate",
    "3e-4",
    "--threads",
    "1",
    "--no-dashboard",
  ],
  ...["--set", "evaluation.k=1", "--set", "algorithm.kind=grpo"],
];
export const train = (out: string, ...more: string[]) =>
  invoke(
    "train-agent",
    files.agent,
    "--tasks",
    files.tasks,
    "--reward",
    files.reward,
    "--model",
    "bundled:office",
    "--out",
    out,
    ...small,
    ...more,
  );
