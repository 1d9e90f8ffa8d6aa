import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test, vi } from "vitest";
import { layout } from "../../../src/runs/layout.ts";
import { addStep, trajectoryOf } from "../../../src/runs/store.fixture.ts";
import { createRun } from "../../../src/runs/write.ts";
import { readRemarks } from "../../inspect/remarks.ts";
import { startDashboard } from "./server.ts";
import { TokenTexts } from "./token-texts.ts";
import "../../../test/loopback.ts";
import { ask, dashboard, folder } from "./server.fixture.ts";

// The page is not built where unit tests run.
vi.mock(import("../../../src/files/package-folder.ts"), async (original) => {
  const { packageFolder } = await original();
  const folder = mkdtempSync(join(tmpdir(), "retrograde-package-"));
  for (const name of readdirSync(packageFolder)) if (name !== "dist") symlinkSync(join(packageFolder, name), join(folder, name));
  mkdirSync(join(folder, "dist/dashboard/assets"), { recursive: true });
  writeFileSync(join(folder, "dist/dashboard/index.html"), "<!doctype html><title>Retrograde</title>");
  writeFileSync(join(folder, "dist/dashboard/assets/page.js"), "export {};");
  return { packageFolder: folder };
});

test("it listens on this machine alone if nothing is said", () => {
  expect(dashboard.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
});

test("runs are listed, and a damaged one is named and harms no other", async () => {
  const { json } = await ask("/api/runs");
  expect(json).toMatchObject({
    runs: [{ id: "my run", state: "stopped", stepsDone: 1, curve: [0.5] }],
    broken: [{ id: "broken" }],
  });
});

test("a trajectory comes with its credits and its group", async () => {
  const { json } = await ask("/api/run/trajectory?run=my%20run&id=step-1/0/0");
  expect(json).toMatchObject({
    groupMean: 0.5,
    hasCredits: true,
    messages: [{ role: "user" }, { turn: 0 }, { role: "tool" }, { turn: 1 }],
  });
  const [first] = json.turns as { updates: unknown[]; texts: string[] }[];
  expect(first.updates).toMatchObject([{ advantage: 1, factor: null, weights: [1, 2, 3], before: [-1, -1, -1] }]);
  expect(first.texts).toEqual(["⟨3⟩", "⟨4⟩", "⟨5⟩"]);
});

test("a turn has the role that acted", async () => {
  const { json } = await ask("/api/run/trajectory?run=my%20run&id=step-1/0/1");
  expect(json.turns).toMatchObject([{ role: "planner" }, { role: "doer" }]);
});

test("filters, searches and their mistakes are answered", async () => {
  const rows = async (query: string) =>
    ((await ask(`/api/run/trajectories?run=my%20run&${query}`)).json.rows as { id: string }[]).map(({ id }) => id);
  expect(await rows("success=false")).toEqual(["step-1/0/1"]);
  expect(await rows("text=number%20is")).toHaveLength(2);
  expect(await rows("text=nowhere")).toEqual([]);
  const byReward = await rows("sort=reward");
  expect(byReward.at(-1)).toBe("step-1/0/1");
  expect((await rows("sort=reward&ascending=true"))[0]).toBe("step-1/0/1");
  const { json: page } = await ask("/api/run/trajectories?run=my%20run");
  expect(page.rows).toMatchObject([{ prompt: expect.stringMatching(/\w/) }, { prompt: expect.stringMatching(/\w/) }]);
  expect((await ask("/api/run/trajectories?run=my%20run&sort=nothing")).status).toBe(422);
  expect((await ask("/api/run/trajectories?run=my%20run&fromStep=x")).status).toBe(422);
  expect((await ask("/api/run?run=..%2F..")).status).toBe(404);
  expect((await ask("/assets/..%2f..%2fpackage.json")).status).toBe(404);
});

test("one damaged file of trajectories hides no other: searches name it", async () => {
  const damaged = join(dirname(folder), "damaged");
  createRun(damaged, { seed: 1, steps: 9, algorithm: { kind: "grpo" }, environment: { name: "office" } });
  for (const step of [1, 2]) addStep(damaged, step, [trajectoryOf(`step-${step}/0/0`)]);
  truncateSync(layout.trajectories(damaged, 2), 60);
  const named = [expect.stringContaining("step-000002.jsonl.gz")];
  const found = await ask("/api/run/trajectories?run=damaged&text=number");
  expect(found.json).toMatchObject({ total: 1, rows: [{ id: "step-1/0/0" }], problems: named });
  // What is read by itself is an error with the file's name.
  for (const path of ["trajectory?run=damaged&id=step-2/0/0", "tree?run=damaged&step=2"])
    expect(await ask(`/api/run/${path}`)).toMatchObject({ status: 422, json: { error: named[0] } });
  rmSync(damaged, { recursive: true });
});

test("what a run adds between the page's question and its stream is sent, and a file that breaks meanwhile is named", async () => {
  const name = "watched";
  const watched = join(dirname(folder), name);
  createRun(watched, { seed: 1, steps: 9, algorithm: { kind: "grpo" }, environment: { name: "office" } });
  addStep(watched, 1, [trajectoryOf("step-1/0/0")]);
  addStep(watched, 2, [trajectoryOf("step-2/0/0")]);
  const events = await fetch(`${dashboard.url}api/run/events?run=${name}&steps=1`);
  const reader = (events.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
  const next = async () => JSON.parse(((await reader.read()).value ?? "").replace(/^data: /, ""));
  expect(await next()).toMatchObject({ steps: [{ step: 2 }], timings: [{ step: 2 }], row: { stepsDone: 2 } });
  expect(await next()).toMatchObject({ steps: [] });
  appendFileSync(layout.metrics(watched), "not JSON\n");
  expect(await next()).toEqual({ problem: expect.stringContaining("metrics.jsonl") });
  await reader.cancel();
  rmSync(watched, { recursive: true });
});

test.each([
  ["a name that was pointed at this machine", { host: "evil.example" }, 421],
  ["another port's name", { host: "127.0.0.1:1" }, 421],
  ["another page, as browsers mark it", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }, 403],
  ["a page of a neighbouring site", { "sec-fetch-site": "same-site" }, 403],
  ["another origin", { origin: "https://evil.example" }, 403],
] as const)("%s is refused", async (_, headers, status) => {
  const { status: got, json } = await ask("/api/runs", { headers: { ...headers } });
  expect(got).toBe(status);
  expect(json).not.toHaveProperty("runs");
});

test("a remark is taken only as JSON with the header that no form can send", async () => {
  const path = "/api/run/remarks?run=my%20run";
  const body = JSON.stringify({ kind: "note", text: "a note" });
  const json = { "content-type": "application/json" };
  const status = (headers: Record<string, string>, method = "POST") =>
    ask(path, { method, body, headers }).then(({ status }) => status);
  expect(await status(json)).toBe(403);
  expect(await status({ "content-type": "text/plain", "x-retrograde": "1" })).toBe(403);
  expect(await status({ ...json, "x-retrograde": "1" }, "PUT")).toBe(405);
});

test("a remark that is none, and a mark of an episode that is not there, are refused", async () => {
  const headers = { "content-type": "application/json", "x-retrograde": "1" };
  const remark = (body: object) =>
    ask("/api/run/remarks?run=my%20run", { method: "POST", body: JSON.stringify(body), headers }).then(({ status }) => status);
  expect(await remark({ kind: "note", text: " " })).toBe(422);
  expect(await remark({ kind: "mark", trajectory: "step-1/0/0", reward: 2 })).toBe(422);
  expect(await remark({ kind: "mark", trajectory: "step-9/9/9", reward: 1 })).toBe(404);
  expect(readRemarks(folder)).toEqual([]);
  expect(await remark({ kind: "note", text: "the first try" })).toBe(200);
  expect(readRemarks(folder)).toMatchObject([{ remark: { kind: "note", text: "the first try" } }]);
});

test("nothing but the page's own files may run, and the page is in no frame", async () => {
  const policy = String((await ask("/")).headers["content-security-policy"]);
  expect(policy).toContain("default-src 'none'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toMatch(/unsafe/);
});

test("where other machines reach it, nothing is answered without the token", async () => {
  const open = await startDashboard({ runs: dirname(folder), host: "0.0.0.0", port: 0 });
  const { port: to, searchParams } = new URL(open.url);
  const token = searchParams.get("token") ?? "";
  expect(token.length).toBeGreaterThan(20);
  const asked = (path: string, headers = {}) => ask(path, { to: Number(to), headers });
  expect((await asked("/api/runs")).status).toBe(401);
  expect((await asked("/")).status).toBe(401);
  expect((await asked("/?token=wrong")).status).toBe(401);
  const first = await asked(`/?token=${token}`);
  expect(first.status).toBe(200);
  const cookie = String(first.headers["set-cookie"]).split(";")[0];
  expect(String(first.headers["set-cookie"])).toMatch(/HttpOnly; SameSite=Strict/);
  expect((await asked("/api/runs", { cookie })).status).toBe(200);
  await open.close();
});

test("an episode as it was stored, the tree of its group, pushed phrases and another run beside it are answered", async () => {
  const of = (path: string) => ask(`/api/${path}`);
  expect((await of("run/raw?run=my%20run&id=step-1/0/0")).json).toEqual(JSON.parse(JSON.stringify(trajectoryOf("step-1/0/0"))));
  expect((await of("run/tree?run=my%20run&step=1")).json).toMatchObject({ group: "step-1/0", root: { leaves: 2 } });
  expect((await of("run/tree?run=my%20run&step=1&group=step-1%2F0")).json).toMatchObject({ group: "step-1/0" });
  const phrases = await of("run/phrases?run=my%20run&step=1");
  expect([phrases.status, Object.keys(phrases.json)]).toEqual([200, ["step", "up", "down"]]);
  expect((phrases.json.up as unknown[]).length).toBeGreaterThan(0);
  expect((await of("run/phrases?run=my%20run&step=2")).json).toEqual({ step: 2, up: [], down: [] });
  expect((await of("compare?a=my%20run&b=my%20run")).json).toEqual([]);
  expect((await of("run/remarks?run=my%20run")).status).toBe(200);
  expect((await of("run?run=my%20run")).json).toMatchObject({ row: { id: "my run" }, creditSteps: [1] });
});

test.each([
  ["run", 422, "the query's run is missing; expected a value."],
  ["run?run=", 422, "the query's run is missing; expected a value."],
  ["run?run=none", 404, 'There is no run "none".'],
  ["compare?a=my%20run", 422, "the query's b is missing; expected a value."],
  ["run/raw?run=my%20run&id=step-9/0/0", 404, 'This run has no trajectory "step-9/0/0".'],
  ["run/tree?run=my%20run&step=9", 404, "Step 9 has no trajectories."],
  ["run/tree?run=my%20run&step=-1", 422, expect.stringContaining("the request is")],
  ["nothing", 404, "There is nothing here."],
])("%s is answered by %d", async (path, status, error) => {
  expect(await ask(`/api/${path}`)).toMatchObject({ status, json: { error } });
});

test("the page's files have their types, and what is named by its content is kept by the browser", async () => {
  const page = await ask("/");
  expect([page.status, page.headers["content-type"], page.headers["cache-control"]]).toEqual([
    ...[200, "text/html; charset=utf-8", "no-store"],
  ]);
  const script = await ask("/assets/page.js");
  expect([script.headers["content-type"], script.headers["cache-control"]]).toEqual([
    ...["text/javascript; charset=utf-8", "max-age=31536000, immutable"],
  ]);
  const headers = { "content-type": "application/json", "x-retrograde": "1" };
  expect((await ask("/", { method: "POST", headers, body: "{}" })).status).toBe(404);
  expect((await ask("/api/runs", { method: "POST", headers, body: "x".repeat(64 * 1024 + 1) })).status).toBe(404);
  const remarks = { method: "POST", headers, body: "x".repeat(64 * 1024 + 1) };
  expect((await ask("/api/run/remarks?run=my%20run", remarks)).status).toBe(413);
});

test("a character of several tokens is given to the first; bytes that are no character stay themselves", () => {
  const bytes = new Map([
    [1, [0xe2]],
    [2, [0x82]],
    [3, [0xac]],
    [4, [0x61]],
  ]);
  const texts = new TokenTexts({
    decode: (ids) => new TextDecoder().decode(Uint8Array.from(ids.flatMap((id) => bytes.get(id) ?? []))),
  });
  expect(texts.of([4, 1, 2, 3, 4])).toEqual(["a", "€", "", "", "a"]);
  expect(texts.of([1, 4])).toEqual(["\ufffd", "a"]);
});
