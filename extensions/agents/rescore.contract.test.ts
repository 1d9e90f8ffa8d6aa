import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import "../../entries/index.ts";
import type { EvaluationRecord } from "../../src/runs/records.ts";
import { trajectoryOf } from "../../src/runs/store.fixture.ts";
import { createRun, writeEvaluation } from "../../src/runs/write.ts";
import { invoke } from "../../test/command-line.ts";
import { addRemark } from "../inspect/remarks.ts";

/** The run of an agent: one evaluation of two tasks. */
function agentRun() {
  const home = mkdtempSync(join(tmpdir(), "retrograde-agent-rescore-"));
  const folder = join(home, "run");
  createRun(folder, { seed: 1, steps: 0, algorithm: { kind: "evaluation" }, environment: { name: "agent", settings: {} } });
  const estimate = { mean: 1, low: 1, high: 1 };
  const record = {
    ...{ ...estimate, when: "after", step: 0, split: "test", tasks: 2, k: 1, temperature: 1, passAt: [], reward: estimate },
    ...{ meanTurns: 1, toolCalls: 0, stopReasons: {}, byKind: [], byRequests: [], byTurns: [] },
  };
  const episode = (index: number, answer: string) =>
    trajectoryOf(`after-test-0/${index}/0`, {
      ...{ group: `test/${index}`, task: `test/${index}`, reward: 1 },
      messages: [
        { role: "user", content: "?" },
        { role: "assistant", content: answer },
      ],
    });
  writeEvaluation(folder, record as unknown as EvaluationRecord, [episode(0, "4"), episode(1, "5")]);
  writeFileSync(join(home, "tasks.jsonl"), '{"prompt": "2 + 2?", "sum": 4}\n{"prompt": "3 + 3?", "sum": 6}\n');
  const reward = join(home, "reward.mjs");
  writeFileSync(reward, "export default ({ task, answer }) => Number(answer === String(task.sum));");
  return { folder, reward, tasks: join(home, "tasks.jsonl") };
}

test("a run of train-agent takes its tasks and a reward as train-agent does", async () => {
  const { folder, reward, tasks } = agentRun();
  const { exitCode, out } = await invoke("rescore", folder, "--reward", reward, "--split", "test", "--tasks", tasks, "--json");
  expect(exitCode).toBe(0);
  const { episodes, noLongerPass } = JSON.parse(out) as { episodes: { id: string; after: number }[]; noLongerPass: number };
  expect(episodes.map(({ id, after }) => [id, after])).toEqual([
    ["after-test-0/1/0", 0],
    ["after-test-0/0/0", 1],
  ]);
  expect(noLongerPass).toBe(1);
});

test("without its tasks, and with a file that is no reward, the error says what to do", async () => {
  const { folder, reward, tasks } = agentRun();
  const bare = await invoke("rescore", folder, "--reward", reward, "--split", "test");
  expect([bare.exitCode, bare.error]).toEqual([
    2,
    expect.stringContaining('--tasks is "missing"; expected the file of tasks that the agent had'),
  ]);
  const untrained = await invoke("rescore", folder, "--reward", reward, "--tasks", tasks);
  expect([untrained.exitCode, untrained.error]).toEqual([2, expect.stringContaining("--split test: it has evaluations alone")]);
  writeFileSync(`${reward}.mjs`, "export default 7;");
  const wrong = await invoke("rescore", folder, "--reward", `${reward}.mjs`, "--split", "test", "--tasks", tasks);
  expect([wrong.exitCode, wrong.error]).toEqual([2, expect.stringContaining("expected a file whose default export is a reward")]);
});

test("--marks asks for no reward and no tasks; both or neither of them are refused", async () => {
  const { folder, reward } = agentRun();
  addRemark(folder, { kind: "mark", trajectory: "after-test-0/1/0", reward: 0 });
  const { exitCode, out } = await invoke("rescore", folder, "--marks", "--split", "test");
  expect([exitCode, out]).toEqual([0, expect.stringContaining("verdicts that flip: 0 now pass, 1 no longer do")]);
  for (const flags of [[], ["--marks", "--reward", reward]])
    expect(await invoke("rescore", folder, ...flags)).toMatchObject({
      exitCode: 2,
      error: expect.stringContaining("one of them"),
    });
});
