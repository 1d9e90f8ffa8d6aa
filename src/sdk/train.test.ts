import "../../test/office.ts";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { lettersChat, lettersEnvironment, lettersVocabulary } from "../../test/letters.ts";
import { TableEngine } from "../../test/table-engine.ts";
import { readMessages } from "../runs/live.ts";
import { resolveConfig } from "../training/config/config.ts";
import type { UserConfig } from "../training/config/user-config.ts";
import type { TrainingEvent } from "../training/record/events.ts";
import { episodesPerStep, openingLine, planRun, type RunPlan, runPlan, runPrinted, sft, train } from "./train.ts";

test("what no engine of the kind can do is refused before a model is looked for", async () => {
  const model = "no/such-model";
  await expect(planRun({ model, engine: { device: "webgpu" }, rollout: { ahead: 1 } })).rejects.toThrow(
    /rollout\.ahead is 1; expected 0, or an engine with the capability "frozen-policies" \(the engine "local" has .*WebGPU/,
  );
});

test("a run is described in one line", () => {
  const line = (user: UserConfig, resume = false) =>
    openingLine({ config: resolveConfig(user), environment: { name: "office" } as RunPlan["environment"], resume });
  expect(line({ algorithm: "grpo", steps: 3, rollout: { tasksPerStep: 1, groupSize: 8 } })).toBe(
    'Training the default model in "office" by grpo: 3 steps of 1 task × 8 rollouts',
  );
  expect(line({ algorithm: "seeupo", model: "m", steps: 1, rollout: { tasksPerStep: 4, groupSize: 2 } }, true)).toBe(
    'Continuing m in "office" by seeupo: 1 step of 4 tasks × 2 rollouts',
  );
  expect(line({ algorithm: { kind: "sft", tokensPerStep: 300 }, steps: 2 })).toBe(
    'Training the default model in "office" by sft: 2 steps of about 300 tokens of the expert\'s demonstrations',
  );
});

/** One step in a world of letters, on a table. */
const letters = (more: UserConfig = {}): UserConfig => ({
  ...{ environment: lettersEnvironment(), model: "bundled:office", algorithm: "grpo", steps: 1, seed: 5 },
  ...{ rollout: { tasksPerStep: 1, groupSize: 2, maxTokens: 4 }, evaluation: { tasks: 0 } },
  out: join(mkdtempSync(join(tmpdir(), "retrograde-sdk-")), "run"),
  ...more,
});

/** Opens a table, and counts those that were opened and given back. */
function tables(device = "cpu") {
  const log: string[] = [];
  const open = async (folder: string, _: unknown, purpose: { readonly use?: { readonly training: boolean } } = {}) => {
    log.push(`open ${folder} ${purpose.use?.training === true ? "to train" : "to sample"}`);
    const engine = new TableEngine(lettersVocabulary);
    const dispose = engine.dispose.bind(engine);
    engine.dispose = async () => {
      log.push("dispose");
      await dispose();
    };
    return { engine, chat: lettersChat(), device };
  };
  return { log, open };
}

test("a run from code gives its folder and its summary, its events, and Ctrl-C back", async () => {
  const plan = await planRun(letters());
  const events: string[] = [];
  const listening: number[] = [];
  const before = process.listenerCount("SIGTERM");
  const onEvent = (event: TrainingEvent) => {
    events.push(event.type);
    listening.push(process.listenerCount("SIGTERM") - before);
  };
  const { log, open } = tables();
  const { folder, summary } = await runPrinted(plan, { onEvent, interruptible: true }, open);
  expect([folder, summary.steps]).toEqual([plan.folder, 1]);
  expect(events).toContain("stepped");
  expect(new Set(listening)).toEqual(new Set([1]));
  expect(process.listenerCount("SIGTERM")).toBe(before);
  expect(log).toEqual([expect.stringMatching(/^open .*models.office to train$/), "dispose"]);
  expect(existsSync(join(folder, ".lock"))).toBe(false);
});

test("without being asked to, and with a signal, a run does not listen to Ctrl-C", async () => {
  const before = process.listenerCount("SIGTERM");
  for (const options of [{}, { interruptible: true, signal: new AbortController().signal }]) {
    let most = 0;
    const onEvent = () => {
      most = Math.max(most, process.listenerCount("SIGTERM"));
    };
    await runPrinted(await planRun(letters()), { ...options, onEvent }, tables().open);
    expect(most).toBe(before);
  }
});

test("warnings of the plan are kept with the run, and the device is named where it is not the CPU", async () => {
  const plan: RunPlan = { ...(await planRun(letters())), warnings: ["Careful."] };
  const said: unknown[] = [];
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "warning" || event.type === "notice") said.push(event);
  };
  await runPlan(plan, { onEvent }, tables("cuda").open);
  expect(said.slice(0, 2)).toEqual([
    { type: "warning", message: "Careful." },
    { type: "notice", message: "Computing on cuda" },
  ]);
  expect(readMessages(plan.folder)[0]).toEqual({
    ...{ schema: 2, level: "warning", step: 0, message: "Careful.", at: expect.any(String) },
  });
  const quiet: unknown[] = [];
  await runPlan(await planRun(letters()), { onEvent: (event) => quiet.push(event.type) }, tables().open);
  expect(quiet).not.toContain("notice");
});

test("a second model is opened to sample, and given back too", async () => {
  const { log, open } = tables();
  const advantage = { kind: "distillation", teacher: "bundled:office" } as const;
  const algorithm = { kind: "custom", advantage, update: { kind: "reinforce" } } as const;
  await runPlan(await planRun(letters({ algorithm })), {}, open);
  expect(log).toEqual([
    expect.stringMatching(/^open .*models.office to train$/),
    expect.stringMatching(/^open .*models.office to sample$/),
    ...["dispose", "dispose"],
  ]);
});

test("a run continues under its own configuration alone", async () => {
  const user = letters();
  await runPlan(await planRun(user), {}, tables().open);
  const resumed = (flags: UserConfig) => planRun(user, { resume: true, flags: { out: user.out, ...flags } });
  await expect(resumed({ seed: 6 })).rejects.toThrow(/seed of the run in .* is 5; expected 6, as this configuration says/);
  const plan = await resumed({});
  expect([plan.resume, plan.allowChanged, plan.folder]).toEqual([true, false, user.out]);
});

test("options that there are not, and conversations that are nowhere, are refused", async () => {
  await expect(train({}, { onEvents: () => {} } as never)).rejects.toThrow(/onEvents/);
  await expect(sft({ data: "missing.jsonl", tokensPerStep: 100 })).rejects.toThrow(/algorithm\.data is "missing\.jsonl"/);
  await expect(sft({ data: "missing.jsonl", tokensPerStep: 0 })).rejects.toThrow(/algorithm\.tokensPerStep is 0/);
});

test("the episodes of a step are those of its groups; demonstrations have none", () => {
  expect(episodesPerStep(resolveConfig({ rollout: { tasksPerStep: 3, groupSize: 4 } }))).toBe(12);
  expect(episodesPerStep(resolveConfig({ algorithm: "sft" }))).toBe(0);
});
