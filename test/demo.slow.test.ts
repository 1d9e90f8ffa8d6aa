import "../extensions/install.ts";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { recipes } from "../extensions/demo/recipe.ts";
import { RunError } from "../src/core/errors.ts";
import { layout } from "../src/runs/layout.ts";
import { readEvaluations, readMetrics, readSummary } from "../src/runs/read.ts";
import { planRun, runPlan } from "../src/sdk/train.ts";
import { invoke } from "./command-line.ts";
import { tokenizerJson } from "./fixtures/chats.ts";
import { writeTinyModel } from "./tiny-model.ts";

/** Shows what users say alone, so that prompts in bytes fit the tiny model's 256 positions. */
const template = `{%- for m in messages if m.role != 'system' %}{{- m.content + '<|im_end|>' }}{%- endfor %}`;
const folder = mkdtempSync(join(tmpdir(), "retrograde-demo-"));
const model = join(folder, "model");
const demo = (...flags: string[]) => invoke("demo", "smollm2", "--model", model, "--threads", "1", "--no-dashboard", ...flags);

test("a demonstration that was broken off continues where it was, and ends as one that was not", async () => {
  await writeTinyModel(model, { tokenizer: tokenizerJson, config: { eos_token: "<|im_end|>", chat_template: template } });
  const [straight, broken] = [join(folder, "straight"), join(folder, "broken")];
  const whole = await demo("--out", straight);
  expect(whole).toMatchObject({ exitCode: 0, error: "" });

  const controller = new AbortController();
  const out = join(broken, "form");
  const { form } = recipes.calculation;
  // As the command has it for a model of the user's.
  const engine = { ...(form.engine as object), memory: undefined, maxLength: undefined, threads: 1 };
  const plan = await planRun({ ...form, seed: 1, model, out, engine });
  const untilThird = runPlan(plan, {
    signal: controller.signal,
    onEvent: (event) => {
      if (event.type === "stepped" && event.record.step === 3) controller.abort();
    },
  });
  await expect(untilThird).rejects.toThrow(RunError);
  expect(await demo("--out", broken)).toMatchObject({ exitCode: 0, error: "" });

  for (const stage of ["form", "reinforcement"])
    expect(readFileSync(layout.metrics(join(broken, stage)), "utf8")).toBe(
      readFileSync(layout.metrics(join(straight, stage)), "utf8"),
    );
  const run = join(straight, "reinforcement");
  expect(readMetrics(run)).toHaveLength(recipes.calculation.reinforcement.steps ?? 0);
  // Before and after, in training's wordings and in others: greedily on the same 160 tasks.
  const played = readEvaluations(run).map(({ when, split, decoding, tasks }) => `${when} ${split} ${decoding} ${tasks}`);
  expect(played.toSorted()).toEqual([
    ...["after challenge greedy 160", "after test greedy 160"],
    ...["before challenge greedy 160", "before test greedy 160"],
  ]);
  expect(readSummary(run)?.difference?.greedy).toBeDefined();
  const again = await demo("--out", straight);
  expect(again).toMatchObject({ exitCode: 0, error: "" });
  expect(again.out).toContain("24 steps");
});
