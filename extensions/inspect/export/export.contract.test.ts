import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { exampleRun } from "./export.fixture.ts";
import { exportToMlflow } from "./export.ts";
import { sendToMlflow } from "./mlflow.ts";

interface MlflowCall {
  readonly path: string;
  readonly login: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A server that answers as MLflow does. */
async function mlflowServer() {
  const calls: MlflowCall[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = (request.url ?? "").replace("/api/2.0/mlflow/", "");
    const login = request.headers.authorization;
    if (request.method === "POST") calls.push({ path, login, body: JSON.parse(Buffer.concat(chunks).toString()) });
    const answers: Record<string, object> = {
      "experiments/create": { experiment_id: "7" },
      "runs/create": { run: { info: { run_id: "r1" } } },
    };
    if (path.startsWith("experiments/get-by-name")) response.statusCode = 404;
    response.end(JSON.stringify(answers[path] ?? {}));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return { calls, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

test("MLflow gets parameters, metrics in batches and the end, over its REST API", async () => {
  const { calls, url, close } = await mlflowServer();
  expect(await exportToMlflow(exampleRun(), `${url}/`, "office", "my-run")).toBe("r1");
  close();
  expect(calls.map(({ path }) => path)).toEqual([
    "experiments/create",
    "runs/create",
    "runs/log-batch",
    "runs/log-batch",
    "runs/update",
  ]);
  expect(calls[1].body).toMatchObject({ experiment_id: "7", run_name: "my-run" });
  expect(calls[2].body.params).toContainEqual({ key: "algorithm.kind", value: "grpo" });
  expect(calls[3].body.metrics).toContainEqual(expect.objectContaining({ key: "reward", value: 0.2, step: 2 }));
  // Nothing trains this run, and it has no summary. It was left after two steps of five seconds.
  const seconds = (Number(calls[4].body.end_time) - Number(calls[1].body.start_time)) / 1000;
  expect({ status: calls[4].body.status, seconds }).toEqual({ status: "KILLED", seconds: 10 });
  await expect(exportToMlflow(exampleRun(), url, "office", "x")).rejects.toThrow(/not reachable/);
});

test("MLflow gets names that it takes, and the login of its own client", async () => {
  const { calls, url, close } = await mlflowServer();
  const scalars = ["score/成功", "score/失败", "a|b", "a//b", "score/..", "x".repeat(300)].map((tag) => ({
    step: 1,
    tag,
    value: 1,
  }));
  const run = {
    name: "r",
    experiment: "e",
    started: 0,
    status: "RUNNING",
    ended: undefined,
    scalars,
    wallTime: () => 1,
  } as const;
  const params = [["servers.@scope/files", "😀".repeat(7000)]] as const;
  await sendToMlflow(url, { ...run, params }, { MLFLOW_TRACKING_TOKEN: "t" });
  await sendToMlflow(url, { ...run, params: [] }, { MLFLOW_TRACKING_USERNAME: "ann", MLFLOW_TRACKING_PASSWORD: "secret" });
  close();
  expect(calls[2].body.params).toEqual([{ key: "servers._scope/files", value: "😀".repeat(6000) }]);
  expect((calls[3].body.metrics as { key: string }[]).map(({ key }) => key)).toEqual([
    ...["score/成功", "score/失败", "a_b", "a/_/b", "score/.._"],
    "x".repeat(250),
  ]);
  expect(new Set(calls.map(({ login }) => login))).toEqual(new Set(["Bearer t", "Basic YW5uOnNlY3JldA=="]));
});
