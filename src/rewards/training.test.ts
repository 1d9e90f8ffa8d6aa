import "../../test/office.ts";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { succeeded } from "../core/outcome.ts";
import { layout } from "../runs/layout.ts";
import { readEvaluations, readMetrics, readTimings, readTrajectories } from "../runs/read.ts";
import { defineReward } from "./reward.ts";
import { metricsOf, newFolder, shareOfC, work } from "./training.fixture.ts";

test("the environment's reward alone, written out, trains as no rewards at all do", async () => {
  const [plain, written] = [newFolder(), newFolder()];
  await work(plain, {});
  await work(written, { rewards: [{ kind: "environment" }] });
  const withoutScores = (folder: string) =>
    readMetrics(folder).map(({ metrics: { "score/reward:environment": _, ...metrics } }) => metrics);
  expect(withoutScores(written)).toEqual(withoutScores(plain));
  expect(metricsOf(plain)).not.toContain("reward:");
  expect(readTimings(plain)[0]).not.toHaveProperty("rewardSeconds");
  const model = (folder: string) => readFileSync(join(layout.model(folder), "table.json"), "utf8");
  expect(model(written)).toBe(model(plain));
});

test("training follows the composed reward, while success stays the environment's word", async () => {
  const folder = newFolder();
  const likesC = defineReward({
    name: "likes-c",
    verify: ({ conversation }) => shareOfC(conversation.map((message) => JSON.stringify(message)).join("\n")),
  });
  await work(folder, { rewards: [likesC, { kind: "environment", weight: 0 }], steps: 30, evaluation: { tasks: 20 } });
  const records = readMetrics(folder);
  const [first, last] = [records[0].metrics, records[records.length - 1].metrics];
  expect(Number(last.reward)).toBeGreaterThan(Number(first.reward) + 0.3);
  expect(last.reward).toBeCloseTo(Number(last["score/reward:likes-c"]), 12);
  expect(Number(last["score/reward:environment"])).toBeLessThan(Number(first["score/reward:environment"]));
  const [before, after] = readEvaluations(folder).filter(({ decoding }) => decoding === "sampled");
  expect(after.reward.mean).toBeLessThan(before.reward.mean);
  const perfect = readTrajectories(folder, 30).find(({ reward }) => reward >= 1);
  expect(perfect?.scores["reward:environment"]).toBeLessThan(1);
  expect(perfect && succeeded(perfect)).toBe(false);
});
