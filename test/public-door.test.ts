import "./loopback.ts";
import { existsSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  compare,
  defineEnvironment,
  type EvaluationEvent,
  evaluate,
  loadRun,
  type TrainingEvent,
  train,
} from "../entries/index.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** The package as a program uses it: what is trained, loaded, evaluated and compared. */

const folder = mkdtempSync(join(tmpdir(), "retrograde-door-"));
const model = join(folder, "model");
const server = createServer((_, response) => {
  const message = { role: "assistant", content: "b" };
  response.end(
    JSON.stringify({ choices: [{ message, finish_reason: "stop" }], usage: { prompt_tokens: 3, completion_tokens: 1 } }),
  );
});
beforeAll(async () => {
  await writeTinyModel(model);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const start = () => ({ tools: [], reward: ({ answer }: { answer: string }) => Number(answer === "b") });
const prompts = ["a", "b", "c", "s", "u", "t"].map((prompt) => ({ prompt }));
const small = { rollout: { tasksPerStep: 2, groupSize: 2, maxTokens: 2 }, engine: { threads: 1 }, steps: 1 };

test("a model behind an endpoint against a trained one, task by task", async () => {
  const environment = defineEnvironment({ name: "letters", tasks: { train: prompts, test: prompts }, start });
  const evaluation = { tasks: 6, k: 2, greedy: false };
  const out = (name: string) => join(folder, name);
  const { baseUrl } = { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` };

  const trained = await train({ ...small, environment, model, evaluation, out: out("run") });
  const ours = { environment, model: trained.folder, evaluation, rollout: small.rollout, out: out("ours") };
  const events: EvaluationEvent[] = [];
  const own = await evaluate({ ...ours, engine: { threads: 1 } }, { onEvent: (event) => events.push(event) });
  expect(events[0]).toMatchObject({ type: "started", environment: "letters", split: "test", tasks: 6 });
  const played = events.flatMap((event) => (event.type === "played" ? [[event.done, event.total]] : []));
  expect(played).toEqual(Array.from({ length: 13 }, (_, done) => [done, 12]));
  const other = await evaluate({
    ...ours,
    model: "m",
    evaluation: { ...ours.evaluation, player: { baseUrl } },
    out: out("theirs"),
  });
  const { comparisons, differs } = compare(own, other);
  const [{ decoding, success }] = comparisons;

  expect(decoding).toBe("sampled");
  const shareOf = ({ trajectories }: typeof own) =>
    trajectories.filter(({ reward }) => reward === 1).length / trajectories.length;
  expect(own.trajectories).toHaveLength(12);
  expect(shareOf(other)).toBe(1);
  expect(success?.difference.mean).toBeCloseTo(shareOf(other) - shareOf(own), 12);
  expect(compare(out("ours"), out("theirs"))).toEqual({ comparisons, differs });
  const same = compare(own, own).comparisons[0].success;
  expect(same?.difference.mean).toBe(0);
  expect(() => compare(own, out("run"))).toThrow();

  const run = loadRun(trained.folder);
  expect(run).toMatchObject({ folder: trained.folder, summary: trained.summary, episodeSteps: [1] });
  expect(run.steps.map(({ step }) => step)).toEqual([1]);
  const episodes = run.episodes(1);
  expect(episodes).toHaveLength(4);
  expect(run.steps[0].metrics.reward).toBeCloseTo(episodes.reduce((sum, { reward }) => sum + reward, 0) / 4, 6);
  expect(run.attempts(run.evaluations[0])).toHaveLength(12);
  expect(() => run.episodes(2)).toThrow(/step/);
  expect(() => loadRun(out("nowhere"))).toThrow(/nowhere/);
});

test("a list of tasks alone is trained and, with a warning, evaluated on; a split that was asked for is refused", async () => {
  const environment = defineEnvironment({ name: "letters", tasks: prompts, start });
  const user = { ...small, environment, model, evaluation: { tasks: 2, k: 1, greedy: false }, out: join(folder, "alone") };
  const events: TrainingEvent[] = [];
  await train(user, { onEvent: (event) => events.push(event) });
  expect(events).toContainEqual({ type: "warning", message: expect.stringContaining("training tasks alone") });
  expect(loadRun(user.out).record.config).toMatchObject({ evaluation: { split: "train" } });
  const asked = { ...user, evaluation: { split: "test" }, out: join(folder, "asked") };
  await expect(train(asked)).rejects.toThrow(/evaluation.split is "test"; expected "train"/);
});

test("an evaluation whose model does not open leaves no folder behind", async () => {
  const environment = defineEnvironment({ name: "letters", tasks: { train: prompts, test: prompts }, start });
  const broken = join(folder, "broken");
  await writeTinyModel(broken);
  truncateSync(join(broken, "model.safetensors"), 2000);
  const out = join(folder, "nothing");
  await expect(evaluate({ environment, model: broken, evaluation: { tasks: 2, k: 1 }, out })).rejects.toThrow(
    "model.safetensors",
  );
  expect(existsSync(out)).toBe(false);
});
