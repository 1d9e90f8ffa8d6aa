import "../../../test/loopback.ts";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createScreen } from "../../../src/terminal/screen.ts";
import { resolveConfig } from "../../../src/training/config/config.ts";
import { lettersEnvironment } from "../../../test/letters.ts";
import type { EnvironmentReport } from "../report.ts";
import type { ScannedTasks } from "../scan.ts";
import { agentCheckCommand, findingLines } from "./agent-check.ts";
import { checkLines } from "./env-check.ts";
import { type Subject, scanLines } from "./scan.ts";

const share = (mean: number) => ({ mean, low: mean / 2, high: mean });
const subject = (name: string, answers?: object, model = "smollm2"): Subject => ({
  ...{ name, environment: lettersEnvironment() },
  config: resolveConfig({ environment: answers === undefined ? name : "answers", model } as never),
  ...(answers === undefined ? {} : { answers: answers as never }),
});
const facts = (verdict: string, more: Partial<ScannedTasks> = {}): ScannedTasks => ({
  ...{ tasks: 64, prompt: 80.5, chance: { player: "a word of the prompt", success: share(0.25) }, verdict },
  ...more,
});
const known = { answers: { tokens: 3, inPrompt: 1 } };
const model = { model: { greedy: share(0.1), sampled: share(0.2), signal: share(0.5) } };

test("a scan has a line for each subject, with dashes for what was not measured, and its best player", () => {
  const rows = { "a.jsonl": facts("solved already", { ...known, ...model }), letters: facts("not known before the model plays") };
  expect(scanLines(rows, [subject("a.jsonl", {}), subject("letters")])).toEqual([
    "         tasks  prompt  answer  in prompt  chance  greedy  sampled  groups that differ",
    "a.jsonl     64    80.5       3    100.0 %  25.0 %  10.0 %   20.0 %              50.0 %  solved already",
    "letters     64    80.5       –          –  25.0 %       –        –                   –  not known before the model plays",
    "",
    "Prompts and answers are medians of tokens. Chance is the best player's who reads no meaning:",
    "  a.jsonl: a word of the prompt",
    "  letters: a word of the prompt",
  ]);
});

test("the first that can be trained has its command, with the settings that it was scanned by", () => {
  const rows = { "a.jsonl": facts("teach the form first"), "b c.jsonl": facts("train"), letters: facts("train") };
  const subjects = [
    subject("a.jsonl", { data: "a.jsonl", compare: "text" }),
    subject("b c.jsonl", { data: "b c.jsonl", compare: "number" }, "my model"),
    subject("letters"),
  ];
  const next = (of: Readonly<Record<string, ScannedTasks>>, from = subjects) =>
    scanLines(of, from).slice(Object.keys(of).length * 2 + 3);
  expect(next(rows)).toEqual([
    "",
    "Next, for b c.jsonl:",
    "  npx retrograde-rl train --model 'my model' --env answers --set 'environment.settings.data=b c.jsonl' " +
      "--set environment.settings.compare=number --set engine.lora.rank=16 --algorithm grpo --learning-rate 4e-4",
  ]);
  expect(next({ letters: rows.letters })).toEqual([
    "",
    "Next, for letters:",
    "  npx retrograde-rl train --model smollm2 --env letters --set engine.lora.rank=16 --algorithm grpo --learning-rate 4e-4",
  ]);
  expect(next({ "a.jsonl": rows["a.jsonl"] })).toEqual([
    "",
    "Next, for a.jsonl, demonstrations of the form, then a scan of the model that comes of it:",
    "  npx retrograde-rl sft --model smollm2 --env answers --set environment.settings.data=a.jsonl " +
      "--set environment.settings.demonstrate=form --set engine.lora.rank=16 --steps 8 --learning-rate 5e-4",
  ]);
  // Without known answers nobody can show the form.
  expect(next({ letters: facts("teach the form first") })).toEqual([]);
});

const report: EnvironmentReport = {
  ...{ environment: "rooms", sizes: { test: 1 }, split: "test", tasks: 1, expert: share(1), chance: share(0.25) },
  policies: [{ name: "always asks", success: share(0.5) }],
  overlap: [
    { split: "validation", texts: 2000, shared: 3 },
    { split: "test", texts: 4, shared: 1200 },
  ],
  model: {
    ...{ prompt: { mean: 80.4, longest: 99 }, greedy: share(0.1), sampled: share(0.2), attempts: 4 },
    ...{ signal: share(0.5), groupSize: 8 },
  },
  unrepeatable: ["Task 0 of test is another one."],
  unchecked: ["There is no train split.", "No model was measured."],
};

test("a report of an environment has a section for each kind of what was measured", () => {
  expect(checkLines(report)).toEqual([
    'The environment "rooms", on 1 test task; success with 95 % intervals',
    ...["", "Scripted policies", "  100.0 %  [50.0, 100.0]  the expert", "  50.0 %  [25.0, 50.0]  always asks"],
    "  25.0 %  [12.5, 25.0]  chance: a name or number of the request, at random",
    ...["", "Texts of users that training has too", "  3 of 2,000  validation", "  1,200 of 4  test"],
    ...[
      "",
      "The model before training",
      "  80 tokens of a prompt on average, at most 99",
      "  10.0 %  [5.0, 10.0]  at temperature 0",
    ],
    "  20.0 %  [10.0, 20.0]  at temperature 1, 4 attempts each",
    "  50.0 %  [25.0, 50.0]  of groups of 8 have different rewards",
    ...["", "Not the same the second time", "  Task 0 of test is another one."],
    ...["", "Not checked", "  There is no train split.", "  No model was measured."],
  ]);
  const { expert: _, chance: __, model: ___, ...bare } = report;
  expect(checkLines({ ...bare, tasks: 2, policies: [], overlap: [], unrepeatable: [], unchecked: [] })).toEqual([
    'The environment "rooms", on 2 test tasks; success with 95 % intervals',
  ]);
});

const folder = mkdtempSync(join(tmpdir(), "retrograde-check-"));
afterAll(() => rmSync(folder, { recursive: true }));
const file = (name: string, content: string) => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const asks = file(
  "agent.mjs",
  `export default async (prompt, { baseUrl, apiKey }) => {
    const headers = { authorization: "Bearer " + apiKey };
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: prompt }] });
    const response = await fetch(baseUrl + "/chat/completions", { method: "POST", headers, body });
    return JSON.parse(await response.text()).choices[0].message.content;
  };`,
);
/** A module is loaded once by its name. */
let rewards = 0;
async function checked(tasks: readonly object[], reward: string, more: object = {}) {
  let out = "";
  const flags = {
    tasks: file("tasks.jsonl", tasks.map((task) => `${JSON.stringify(task)}\n`).join("")),
    reward: file(`reward-${++rewards}.mjs`, reward),
  };
  const screen = createScreen({ write: (part: string) => (out += part), columns: 120 });
  const code = await agentCheckCommand([asks], { ...flags, ...more }, screen);
  return { code, lines: out.trimEnd().split("\n"), out, flags };
}

test("a reward that nobody lazy is paid by leads to advise", async () => {
  const { code, lines, flags } = await checked([{ prompt: "Say A." }], "export default () => 0;");
  expect([code, ...lines]).toEqual([
    ...[0, `${asks}, 1 task; scripted policies that understand nothing in place of its model`],
    "  policy              solves  reward  of",
    "  says nothing         0.0 %   0.000   1",
    '  says "Done."         0.0 %   0.000   1',
    "  repeats the prompt   0.0 %   0.000   1",
    "  declines             0.0 %   0.000   1",
    "Attempted tasks that no policy solves: 1; some: 0; all: 0. Tools that the model is shown: none",
    "",
    "Nothing found in 1 or more attempts of each: no lazy policy is paid, no answer is in a prompt.",
    `Next: npx retrograde-rl advise ${asks} --tasks ${flags.tasks} --reward ${flags.reward}`,
  ]);
});

test("a reward that an echo is paid by is to be mended, and errors have their number", async () => {
  const reward =
    "export default ({ task, answer }) => { if (answer === '') throw new Error('none'); return answer === task.prompt ? 1 : 0.5; };";
  const { code, lines } = await checked([{ prompt: "Say A." }, { prompt: "Say B." }], reward);
  expect([code, ...lines.slice(1)]).toEqual([
    1,
    "  policy               solves  reward  of",
    "  says nothing          0.0 %   0.000   0",
    '  says "Done."          0.0 %   0.500   2',
    "  repeats the prompt  100.0 %   1.000   2",
    "  declines              0.0 %   0.500   2",
    "Attempted tasks that no policy solves: 0; some: 2; all: 0. Tools that the model is shown: none",
    "Without a score, 2×: reward: none",
    "",
    '! A policy that repeats the prompt solves 2 of 2 tasks, such as "Say A.". Score what it leaves undone, or take these',
    "tasks out.",
    "! The reward raised an error 2 times (none): such an episode has no score. A model gives odd answers too.",
    "Next: mend these, and check again: a model learns what is paid.",
  ]);
  const json = await checked([{ prompt: "Say A." }], reward, { json: true });
  expect([json.code, JSON.parse(json.out)]).toMatchObject([1, { tasks: 1, tools: [], errors: { "reward: none": 1 } }]);
});

test("of a long list the first hundred tasks are checked", async () => {
  const tasks = Array.from({ length: 101 }, (_, i) => ({ prompt: `Say ${i}.` }));
  const { lines } = await checked(tasks, "export default () => 0;");
  expect(lines[0]).toBe(`${asks}, the first 100 of 101 tasks; scripted policies that understand nothing in place of its model`);
});

test("nothing found is said with the fewest attempts of a policy", () => {
  const policies = [5, 1200, 7].map((tasks) => ({ policy: "p", tasks, success: 0, reward: 0 }));
  const screen = createScreen({ write: () => true });
  expect(findingLines({ findings: [], policies }, screen)).toEqual([
    "Nothing found in 5 or more attempts of each: no lazy policy is paid, no answer is in a prompt.",
  ]);
});
