import "../../test/loopback.ts";
import "../../test/office.ts";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { addRewards } from "../../src/rewards/kinds.ts";
import { key, metricsOf, newFolder, shareOfC, work } from "../../src/rewards/training.fixture.ts";
import { readMetrics, readTimings } from "../../src/runs/read.ts";
import type { UserConfig } from "../../src/training/config/user-config.ts";
import type { TrainingEvent } from "../../src/training/record/events.ts";
import { judgeReward } from "./rewards.ts";
import { judgeServer, scoring } from "./server.fixture.ts";

addRewards({ judge: judgeReward });

const everyFile = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
    .map((bytes) => (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString("utf8"))
    .join("\n");

test("a judge trains the table; its answers, costs and time are recorded, and its key is nowhere", async () => {
  const { baseUrl, requests } = await judgeServer((request) => scoring(request, shareOfC));
  const folder = newFolder();
  const phases = new Set<string>();
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: "JUDGE_KEY" } as const;
  const onEvent = (event: TrainingEvent) => {
    if (event.type === "progress" && event.phase === "reward" && event.done === event.total) phases.add(event.phase);
  };
  await work(folder, { rewards: [judge], steps: 25, evaluation: { tasks: 0 } }, { onEvent });
  const records = readMetrics(folder);
  expect(Number(records[24].metrics["score/reward:judge"])).toBeGreaterThan(
    Number(records[0].metrics["score/reward:judge"]) + 0.3,
  );
  expect(records.reduce((sum, { metrics }) => sum + Number(metrics["judge/calls"]), 0)).toBe(requests.length);
  expect(readTimings(folder)[0].rewardSeconds).toBeGreaterThan(0);
  expect([...phases]).toEqual(["reward"]);
  expect(everyFile(folder)).toContain("JUDGE_KEY");
  expect(everyFile(folder)).not.toContain(key);
});

test("a run that the judge stopped continues where it was, asks nothing twice, and ends as if nothing had been", async () => {
  let broken = 7;
  const { baseUrl, requests } = await judgeServer((request, number) =>
    number === broken ? { status: 500 } : scoring(request, shareOfC),
  );
  const settings = { retries: 0, concurrency: 1 };
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: "JUDGE_KEY", ...settings } as const;
  const user: UserConfig = { rewards: [{ kind: "environment" }, judge], evaluation: { tasks: 0 } };
  const stopped = newFolder();
  await expect(work(stopped, user)).rejects.toThrow(/reward "judge".*continue with --resume/);
  expect(readMetrics(stopped)).toHaveLength(1);
  await work(stopped, user, { resume: true });
  const asked = requests.length;

  broken = -1;
  const undisturbed = newFolder();
  await work(undisturbed, user);
  expect(metricsOf(stopped)).toBe(metricsOf(undisturbed));
  expect(asked).toBe(requests.length - asked + 1);
});

test("an interruption while the judge thinks moves nothing and keeps the steps before", async () => {
  const interrupt = new AbortController();
  const { baseUrl } = await judgeServer((request, number) => {
    if (number <= 6) return scoring(request, shareOfC);
    interrupt.abort();
    return "hang";
  });
  const folder = newFolder();
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: null, concurrency: 1 } as const;
  const run = work(folder, { rewards: [judge], evaluation: { tasks: 0 } }, { signal: interrupt.signal });
  await expect(run).rejects.toThrow("continue with --resume");
  expect(readMetrics(folder)).toHaveLength(1);
});

test("the budget is a limit that a run may be continued with another of", async () => {
  const { baseUrl, requests } = await judgeServer((request) => scoring(request, shareOfC));
  const judge = { kind: "judge", model: "wise", baseUrl, apiKeyEnv: null, concurrency: 1 } as const;
  const user: UserConfig = { rewards: [judge], evaluation: { tasks: 0 } };
  const folder = newFolder();
  await expect(work(folder, { ...user, limits: { judgeCalls: 6 } })).rejects.toThrow("--set limits.judgeCalls=");
  expect(requests).toHaveLength(6);
  await work(folder, { ...user, limits: { judgeCalls: 100 } }, { resume: true });
  expect(readMetrics(folder)).toHaveLength(4);
});
