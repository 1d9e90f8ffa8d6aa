import { mkdtempSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { expect, test } from "vitest";
import type { Trajectory } from "../../core/trajectory.ts";
import { addStep, newRun, trajectoryOf } from "../store.fixture.ts";
import { atifOf } from "./atif.ts";
import { exportRun, exportToMlflow } from "./export.ts";
import { asCsv } from "./tables.ts";
import { crc32c, encodeEvents } from "./tensorboard.ts";

function exampleRun(): string {
  const folder = newRun();
  addStep(folder, 1, [trajectoryOf("step-1/0/0", { task: "=1+1" })], { entropy: 0.5 });
  addStep(folder, 2, [trajectoryOf("step-2/0/0")]);
  return folder;
}

const into = () => mkdtempSync(join(tmpdir(), "retrograde-export-"));

test("CSV quotes what it must, and no text becomes a formula", () => {
  expect(
    asCsv({
      columns: ["a", "b"],
      rows: [
        ['x,"y"\n', null],
        ["=cmd", 1.5],
      ],
    }),
  ).toBe('a,b\r\n"x,""y""\n",\r\n\'=cmd,1.5\r\n');
});

test("steps and trajectories are exported with every column, in each format", async () => {
  const folder = exampleRun();
  const [csv] = exportRun(folder, "csv", into());
  expect(readFileSync(csv, "utf8").split("\r\n").slice(0, 3)).toEqual([
    "step,reward,entropy,rolloutSeconds,updateSeconds,sampledTokens,sampledTokensPerSecond,trainedTokens,trainedTokensPerSecond,denseTokens,rssMb",
    "1,0.1,0.5,2,3,10,5,9,3,12,100",
    "2,0.2,,2,3,10,5,9,3,12,100",
  ]);
  const [, jsonl] = exportRun(folder, "jsonl", into());
  expect(JSON.parse(readFileSync(jsonl, "utf8").split("\n")[0])).toMatchObject({
    id: "step-1/0/0",
    task: "=1+1",
    success: true,
    tokens: 5,
  });
  const [parquet] = exportRun(folder, "parquet", into());
  const bytes = readFileSync(parquet);
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
  expect((await parquetReadObjects({ file })).map(({ step, entropy }) => [step, entropy])).toEqual([
    [1, 0.5],
    [2, null],
  ]);
});

test("CRC-32C has the value of RFC 3720, and an event file is what TensorFlow's writer made of the same scalars", () => {
  expect(crc32c(new TextEncoder().encode("123456789"))).toBe(0xe3069283);
  expect(crc32c(new Uint8Array(32))).toBe(0x8a9136aa);
  const bytes = encodeEvents([{ step: 300, tag: "loss", value: 0.5 }], () => 2);
  // The header record of every event file, but for its time: length 24, its checksum, then "brain.Event:2".
  expect(Buffer.from(bytes.subarray(0, 12)).toString("hex")).toBe("1800000000000000a37f4b22");
  // wall_time 2, step 300, summary { value { tag "loss", simple_value 0.5 } }
  const event = "090000000000000040" + "10ac02" + "2a0d" + "0a0b" + "0a046c6f7373" + "150000003f";
  expect(Buffer.from(bytes).toString("hex")).toContain(event);
});

test("MLflow gets parameters, metrics in batches and the end, over its REST API", async () => {
  const calls: { path: string; body: Record<string, unknown> }[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
    const path = (request.url ?? "").replace("/api/2.0/mlflow/", "");
    if (request.method === "POST") calls.push({ path, body: JSON.parse(Buffer.concat(chunks).toString()) });
    const answers: Record<string, object> = {
      "experiments/create": { experiment_id: "7" },
      "runs/create": { run: { info: { run_id: "r1" } } },
    };
    if (path.startsWith("experiments/get-by-name")) response.statusCode = 404;
    response.end(JSON.stringify(answers[path] ?? {}));
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await exportToMlflow(exampleRun(), `${url}/`, "office", "my-run")).toBe("r1");
  server.close();
  expect(calls.map(({ path }) => path)).toEqual([
    "experiments/create",
    "runs/create",
    "runs/log-batch",
    "runs/log-batch",
    "runs/update",
  ]);
  expect(calls[1].body).toMatchObject({ experiment_id: "7", run_name: "my-run" });
  expect(calls[2].body.params).toContainEqual({ key: "algorithm.kind", value: '"grpo"' });
  expect(calls[3].body.metrics).toContainEqual(expect.objectContaining({ key: "reward", value: 0.2, step: 2 }));
  await expect(exportToMlflow(exampleRun(), url, "office", "x")).rejects.toThrow(/not reachable/);
});

test("an episode in Harbor's format has its actions with ids and log-probs, and their results beneath them", () => {
  const trajectory = trajectoryOf("step-1/0/0");
  const calls = [{ name: "add", arguments: { by: 2 } }];
  const messages: Trajectory["messages"] = [
    { role: "user", content: "Count." },
    { role: "assistant", content: "", reasoning: "So.", toolCalls: calls },
    { role: "tool", name: "add", content: "2" },
  ];
  const [turn] = trajectory.turns;
  expect(atifOf({ ...trajectory, messages, turns: [turn] }, "small")).toMatchObject({
    ...{ schema_version: "ATIF-v1.8", trajectory_id: "step-1/0/0", agent: { name: "retrograde", model_name: "small" } },
    steps: [
      { step_id: 1, source: "user", message: "Count." },
      {
        ...{ step_id: 2, source: "agent", message: "", reasoning_content: "So." },
        tool_calls: [{ tool_call_id: "step-1/0/0/1/0", function_name: "add", arguments: { by: 2 } }],
        observation: { results: [{ source_call_id: "step-1/0/0/1/0", content: "2" }] },
        metrics: { completion_token_ids: turn.action, logprobs: turn.samplerLogprobs, prompt_token_ids: turn.context.slice() },
      },
    ],
    extra: { reward: trajectory.reward },
  });
  const folder = exampleRun();
  expect(exportRun(folder, "atif", into()).map((path) => basename(path))).toEqual(["step-1-0-0.json", "step-2-0-0.json"]);
});
