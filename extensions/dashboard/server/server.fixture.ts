import { mkdirSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { dirname, join } from "node:path";
import { afterAll, beforeAll } from "vitest";
import type { Trajectory } from "../../../src/core/trajectory.ts";
import { CreditWriter } from "../../../src/runs/credits.ts";
import { addStep, newRun, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { type Dashboard, startDashboard } from "./server.ts";

export let folder: string;
export let dashboard: Dashboard;
export let port: number;

export function withRoles(trajectory: Trajectory): Trajectory {
  return { ...trajectory, turns: trajectory.turns.map((turn, i) => ({ ...turn, role: ["planner", "doer"][i] ?? "" })) };
}

beforeAll(async () => {
  folder = newRun("my run");
  addStep(folder, 1, [trajectoryOf("step-1/0/0"), withRoles(trajectoryOf("step-1/0/1", { reward: 0 }))], { success: 0.5 });
  const writer = new CreditWriter(folder);
  const credit = { optimiserStep: 0, trajectory: "step-1/0/0", turn: 0, learningRate: 0.1, advantage: 1, weights: [1, 2, 3] };
  writer.write(1, [{ ...credit, before: [-1, -1, -1], old: [-1, -1, -1], after: [-0.5, -1, -1] }]);
  await writer.flush();
  mkdirSync(join(dirname(folder), "broken"));
  writeFileSync(join(dirname(folder), "broken", "run.json"), "{");
  dashboard = await startDashboard({ runs: dirname(folder), port: 0 });
  port = Number(new URL(dashboard.url).port);
});
afterAll(() => dashboard.close());

export interface Asked {
  readonly headers?: Record<string, string>;
  readonly method?: string;
  readonly body?: string;
  readonly to?: number;
}

export function ask(
  path: string,
  { headers = {}, method = "GET", body, to = port }: Asked = {},
): Promise<{ status: number; json: Record<string, unknown>; headers: Record<string, unknown> }> {
  return new Promise((answered, failed) => {
    const sent = request(
      { host: "127.0.0.1", port: to, path, method, headers: { host: `127.0.0.1:${to}`, ...headers } },
      async (response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
        const text = Buffer.concat(chunks).toString();
        const json = String(response.headers["content-type"]).startsWith("application/json") ? JSON.parse(text) : { text };
        answered({ status: response.statusCode ?? 0, json, headers: response.headers });
      },
    );
    sent.on("error", failed);
    sent.end(body);
  });
}
