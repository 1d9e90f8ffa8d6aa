import "../../test/loopback.ts";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Message } from "../../src/core/messages.ts";
import type { Episode } from "../../src/environments/environment.ts";
import { appworldEnvironment } from "./appworld.ts";
import { OtherServer, WorldClient, WorldError } from "./client.ts";
import { AppworldData } from "./data.ts";
import { pythonOf, rootOf, setupCommands } from "./places.ts";
import { LostWorld, WorldPool } from "./pool.ts";
import { systemPrompt } from "./prompt.ts";
import { isDegenerate, scoreOf } from "./reward.ts";
import { appworldSettingsSchema } from "./settings.ts";
import { stubRoot } from "./stub-server.fixture.ts";

/** A world of one counter in this process: `+1` adds, `show` prints, `done` completes. What it was asked is kept. */
let server: Server;
let url: string;
let asked: { path: string; body: Record<string, unknown> }[] = [];
let answers: Readonly<Record<string, string | number>> = {};
let [count, done] = [0, false];
/** Connections that end without an answer. */
let broken = 0;

beforeAll(async () => {
  server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body = (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
    const path = request.url ?? "";
    asked.push({ path, body });
    if (broken-- > 0) return void request.socket.destroy();
    const given = answers[path];
    if (typeof given === "number") return void response.writeHead(given).end("it broke");
    if (given !== undefined) return void response.end(given);
    const output = (value: unknown) => response.end(JSON.stringify({ output: value }));
    if (path === "/") return void response.end(JSON.stringify({ message: "Welcome to AppWorld Server!" }));
    if (path === "/initialize") {
      [count, done] = [0, false];
      return void output({ task_id: body.task_id });
    }
    if (path === "/task_completed") return void output(done);
    if (path === "/evaluate")
      return void output({ success: count === 2, num_tests: 4, passes: Array(Math.min(4, 2 * count)).fill({}), failures: [] });
    if (body.code === "+1") count++;
    if (body.code === "done") done = true;
    output(
      body.code === "show" ? `${count}\n` : body.code === "error" ? "Execution failed. Traceback: no" : "Execution successful.",
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => void server.close());
beforeEach(() => {
  asked = [];
  answers = {};
  broken = 0;
});

const root = stubRoot();
const context = { signal: new AbortController().signal };
const play = async (changes: object = {}) => {
  const world = appworldEnvironment({ root, urls: [url], timeoutMs: 2_000, ...changes });
  return { world, episode: await world.start(await world.task("train", 0), 1) };
};
const run = (episode: Episode, code: unknown) => episode.call?.({ name: "python", arguments: { code } }, context);

test("an episode: cells in the task's world, their output as the model reads it, done, and the share of tests that pass", async () => {
  const { episode } = await play({ maxOutput: 100 });
  expect(asked).toEqual([]); // the world is opened with the first cell
  expect(await run(episode, "+1")).toEqual({ content: "Execution successful.", valid: true, done: false });
  const experiment = `retrograde-${process.pid}-0`;
  expect(asked.map(({ path, body }) => [path, body])).toEqual([
    ["/initialize", { task_id: "abc1234_1", experiment_name: experiment }],
    ["/execute", { task_id: "abc1234_1", code: "+1" }],
    ["/task_completed", { task_id: "abc1234_1" }],
  ]);
  expect(await run(episode, "error")).toMatchObject({ valid: false });
  expect(await run(episode, 7)).toMatchObject({ valid: true });
  expect(asked.at(-2)?.body).toEqual({ task_id: "abc1234_1", code: "" });
  expect(await episode.score([])).toEqual({ reward: 0.5, scores: { success: 0, tests: 0.5 } });
  expect(asked.at(-1)?.body).toEqual({ task_id: "abc1234_1", suppress_errors: true });
  expect(await run(episode, "done")).toMatchObject({ done: true });
  answers = { "/execute": JSON.stringify({ output: "x".repeat(101) }) };
  expect(await run(episode, "long")).toMatchObject({ content: `${"x".repeat(100)}\n... truncated ...` });
  answers = { "/execute": JSON.stringify({ output: "x".repeat(100) }) };
  expect(await run(episode, "fits")).toMatchObject({ content: "x".repeat(100) });
});

test("a copy repeats the cells in a world of its own, and refuses where they answer otherwise", async () => {
  const { episode } = await play();
  await run(episode, "+1");
  await run(episode, "+1");
  const copy = await episode.clone?.();
  await episode.close?.();
  asked = [];
  expect(copy && (await run(copy, "show"))).toMatchObject({ content: "2\n" });
  expect(asked.map(({ path }) => path)).toEqual(["/initialize", "/execute", "/execute", "/execute", "/task_completed"]);
  const other = await copy?.clone?.();
  await copy?.close?.();
  answers = { "/execute": JSON.stringify({ output: "another" }) };
  await expect(other && run(other, "show")).rejects.toThrow(/cell 1 of abc1234_1, repeated is "another"/);
});

test("a server that is lost is asked once more with the cells repeated, and then ends the episode", async () => {
  const { episode } = await play();
  expect(episode.messages[1]).toEqual({ role: "user", content: "Do abc1234_1." });
  expect(episode.messages[0]?.content).toContain("I am your supervisor, Ada Test");
  expect(episode.limits).toEqual({ turns: 10 });
  await run(episode, "+1");
  broken = 1;
  asked = [];
  expect(await run(episode, "+1")).toMatchObject({ content: "Execution successful." });
  expect(asked.map(({ path }) => path)).toEqual(["/execute", "/initialize", "/execute", "/execute", "/task_completed"]);
  expect((await episode.score([])).reward).toBe(1);
  broken = 1;
  await expect(run(episode, "show")).rejects.toThrow(LostWorld);
});

test("one server plays one episode at a time: the next waits until it is free", async () => {
  const { world, episode } = await play();
  await run(episode, "+1");
  const second = await world.start(await world.task("train", 1), 1);
  let isThere = false;
  const waiting = Promise.resolve(run(second, "show"));
  void waiting.then(() => (isThere = true));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(isThere).toBe(false);
  await episode.close?.();
  await episode.close?.(); // a world is given back once
  expect(await waiting).toMatchObject({ content: "0\n" });
  expect(world.concurrency).toBe(1);
});

test("a closed pool refuses, and so does what waited for it", async () => {
  const pool = new WorldPool({
    ...{ python: "", root, servers: 1, urls: [url], port: undefined },
    startTimeoutMs: 1,
    timeoutMs: 2_000,
  });
  const world = await pool.world("abc1234_1");
  const waiting = pool.world("abc1234_2");
  await pool.close();
  await expect(waiting).rejects.toThrow(/pool of AppWorld servers is "closed"/);
  await expect(pool.world("abc1234_1")).rejects.toThrow(/closed/);
  await pool.open();
  world.release();
  expect(await (await pool.world("abc1234_2")).execute("show")).toBe("0\n");
});

test("what a server cannot answer is an error of the environment that says so", async () => {
  const { episode } = await play();
  answers = { "/execute": 500 };
  await expect(run(episode, "+1")).rejects.toThrow(/an AppWorld server is .*\/execute of .* answered 500 it broke/);
  answers = { "/initialize": JSON.stringify({ output: { task_id: "another" } }) };
  await expect(run(episode, "+1")).rejects.toThrow(/the world of abc1234_1 .*answered what AppWorld does not/);
  answers = {};
  expect(await run(episode, "show")).toMatchObject({ content: "0\n" }); // a world is opened anew
});

test("a client's errors: another server, no JSON, no answer, and whether the connection broke", async () => {
  const client = new WorldClient(`${url}//`, 2_000);
  expect(client.url).toBe(url);
  await client.hello();
  answers = { "/": JSON.stringify({ message: "Welcome to nginx" }) };
  await expect(client.hello()).rejects.toThrow("is another server: Welcome to nginx");
  answers = { "/execute": "<html>" };
  const nonsense = await client.execute("t", "c").catch((error: unknown) => error);
  expect(nonsense).toBeInstanceOf(WorldError);
  expect(nonsense).toMatchObject({ lost: false, message: expect.stringContaining("answered what AppWorld does not: <html>") });
  const gone = await new WorldClient("http://127.0.0.1:9", 2_000).completed("t").catch((error: unknown) => error);
  expect(gone).toMatchObject({ lost: true });
  answers = { "/retrograde": JSON.stringify({ token: "mine" }) };
  await client.requireToken("mine", 2_000);
  await expect(client.requireToken("yours", 2_000)).rejects.toBeInstanceOf(OtherServer);
  answers = { "/retrograde": 404 };
  await expect(client.requireToken("mine", 2_000)).rejects.toBeInstanceOf(OtherServer);
  await expect(new WorldClient("http://127.0.0.1:9", 2_000).requireToken("mine", 2_000)).rejects.toBeInstanceOf(WorldError);
  const failure = (path: string, answer: string | number, ask: () => Promise<unknown>) => {
    answers = { [path]: answer };
    return ask().catch(({ message, lost }: WorldError) => [message, lost]);
  };
  expect(await failure("/execute", 500, () => client.execute("t", "c"))).toEqual([
    `/execute of ${url} answered 500 it broke`,
    false,
  ]);
  expect(await failure("/execute", "x".repeat(17 * 2 ** 20), () => client.execute("t", "c"))).toEqual([
    expect.stringMatching(/^\/execute of .* answered .*16777216|^\/execute of .* answered .*MiB/),
    false,
  ]);
  expect(await failure("/evaluate", '{"output": {"success": true, "num_tests": -1}}', () => client.evaluate("t"))).toEqual([
    expect.stringContaining("/evaluate of "),
    false,
  ]);
  answers = {};
  const slow = new WorldClient("http://127.0.0.1:9", 2_000);
  expect(await slow.completed("t").catch(({ message }: WorldError) => message)).toMatch(
    /^\/task_completed of http:\/\/127\.0\.0\.1:9: /,
  );
});

test("servers elsewhere are asked before the first episode, and named where they do not answer", async () => {
  const world = appworldEnvironment({ root, urls: [url] });
  await world.open?.();
  expect(asked.map(({ path }) => path)).toEqual(["/"]);
  const gone = appworldEnvironment({ root, urls: ["http://127.0.0.1:9"] });
  await expect(gone.open?.()).rejects.toThrow(/environment.settings.urls is "http:\/\/127.0.0.1:9"; expected a running/);
  expect(() => appworldEnvironment({ root, urls: [url], port: 8000 })).toThrow(/environment.settings.port is 8000/);
  const unfound = appworldEnvironment({ root: join(root, "nowhere"), urls: [url] });
  expect(() => unfound.size("train")).toThrow(/expected a folder with data\/base_dbs/);
  const diagnosis = (await world.diagnose?.()) ?? [];
  expect(diagnosis.map(({ name, state, text }) => [name, state, text])).toEqual([
    ["AppWorld data", "good", `${root}: train 2, own 1 tasks`],
    ["AppWorld server", "good", "1 answer"],
  ]);
  expect((await unfound.diagnose?.())?.map(({ state }) => state)).toEqual(["bad", "doubtful"]);
});

test("a lost world says whether its process ended", () => {
  expect(new LostWorld("a server", "gone", new WorldError("gone", true)).lost).toBe(true);
  expect(new LostWorld("a server", "late", new WorldError("late", false)).lost).toBe(false);
});

test("tasks, scenarios and difficulties are those of the files; published splits come first, unknown ones after them", async () => {
  const data = new AppworldData(root);
  expect(data.names()).toEqual(["train", "own"]);
  expect(data.ids("train")).toEqual(["abc1234_1", "abc1234_2"]);
  expect(data.ids("dev")).toEqual([]);
  expect(data.task("abc1234_2")).toEqual({
    ...{ id: "abc1234_2", kind: "difficulty 2", scenario: "abc1234", instruction: "Do abc1234_2." },
    supervisor: { first_name: "Ada", last_name: "Test", email: "ada@example.com", phone_number: "1" },
  });
  expect(() => data.task("missing_1")).toThrow(/specs.json .*expected a file of AppWorld's data/);
  expect(data.documents()).toEqual([{ app: "spotify", apis: [{ name: "login", description: "Log in." }] }]);
  const { world } = await play();
  expect(() => world.task("train", 2)).toThrow(/task 2 of appworld split is "train"; expected less than 2/);
});

test("the prompt says who asks, which apps there are, and their APIs if they are asked for", () => {
  const data = new AppworldData(root);
  const [discover, listed] = (["discover", "listed"] as const).map((apiDocs) =>
    systemPrompt(data.task("abc1234_1"), data.documents(), { apiDocs }),
  );
  expect(discover).toContain("I am your supervisor, Ada Test, and you are an assistant");
  expect(discover).toContain('The apps, as JSON:\n["spotify"]');
  expect(discover).toContain("username='ada@example.com'");
  expect(discover?.match(/^\d\. /gm)).toHaveLength(8);
  expect(discover?.endsWith("My name is Ada Test. My email is ada@example.com and my phone number is 1.")).toBe(true);
  expect(listed?.replace("Their APIs:\nspotify:\n  login: Log in.\n\n", "")).toBe(discover);
});

const said = (...texts: string[]): Message[] => texts.map((content) => ({ role: "assistant", content }));

test("the eight instructions of the prompt", () => {
  const task = new AppworldData(root).task(new AppworldData(root).ids("train")[0] ?? "");
  const [, instructions = ""] = systemPrompt(task, [], { apiDocs: "discover" }).split("\n\nInstructions:\n");
  const lines = instructions.split("\n\n")[0]?.split("\n") ?? [];
  expect(lines.map((line) => line.slice(0, 24))).toEqual([
    ...["1. Put code into a fence", "2. Variables stay from o", "3. The credentials of th", "4. My own data, such as "],
    ...["5. Read the document of ", "6. Write a small piece o", "7. Many APIs answer page", "8. When the task is done"],
  ]);
  expect(lines[7]).toMatch(/ If it cannot be done call it with status='fail'\.$/);
});

test("rewards: the share of tests, all or nothing, and SeeUPO's with its penalty for going round in circles", () => {
  const verdict = (passed: number, tests = 4) => ({
    ...{ success: passed === tests, num_tests: tests, passes: Array(passed).fill({}), failures: [] },
  });
  const reward = (kind: "dense" | "sparse" | "seeupo", passed: number, ...texts: string[]) =>
    scoreOf(verdict(passed), said(...texts), kind).reward;
  expect([reward("dense", 3), reward("sparse", 3), reward("sparse", 4)]).toEqual([0.75, 0, 1]);
  expect([reward("seeupo", 0), reward("seeupo", 2), reward("seeupo", 4)]).toEqual([0, 0.25, 1.5]);
  expect(reward("seeupo", 4, "fine", "a <|im_start|> b")).toBe(-1);
  expect(scoreOf(verdict(4), [{ role: "user", content: "<|im_start|>" }], "seeupo").reward).toBe(1.5);
  expect(scoreOf(verdict(0, 0), [], "dense")).toEqual({ reward: 1, scores: { success: 1, tests: 1 } });
  expect(scoreOf({ ...verdict(0, 0), success: false }, [], "dense").scores).toEqual({ success: 0, tests: 0 });
});

test("a text goes round in circles from the tenth word in a row among the last five, or the 200th character among the last four", () => {
  const different = ["a1", "b2", "c3", "d4", "e5"];
  const words = (repeats: number) => [...different, ...Array.from({ length: repeats }, (_, i) => different[i % 5])].join(" ");
  expect([isDegenerate(words(9)), isDegenerate(words(10))]).toEqual([false, true]);
  expect(isDegenerate([...different, "f6", ...Array(9).fill("f6"), "g7", "f6"].join(" "))).toBe(false);
  // The sixth word back is forgotten.
  expect(isDegenerate(Array.from({ length: 60 }, (_, i) => `w${i % 6}`).join(" "))).toBe(false);
  expect([isDegenerate(`ab${"ab".repeat(99)}a`), isDegenerate(`ab${"ab".repeat(100)}`)]).toEqual([false, true]);
});

test("Python and data are looked for where the settings, the environment and the cache say", () => {
  const env = { XDG_CACHE_HOME: "/cache" };
  expect(pythonOf({ python: "py" }, env)).toBe("py");
  expect(pythonOf({}, env)).toBe("python3");
  expect(rootOf({ root: "/own" }, { ...env, APPWORLD_ROOT: "/set" })).toBe("/own");
  expect(rootOf({}, { ...env, APPWORLD_ROOT: "/set" })).toBe("/set");
  expect(rootOf({}, env)).toBe(join("/cache", "retrograde", "appworld-root"));
  const venv = join("/cache", "retrograde", "appworld");
  expect(setupCommands("/data", env)).toEqual({
    install: `python3 -m venv ${venv} && ${venv}/bin/pip install appworld==0.1.3.post1 && ${venv}/bin/appworld install`,
    data: `mkdir -p /data && ${venv}/bin/appworld download data --root /data`,
  });
});

test("the defaults are SeeUPO's and the server's", () => {
  expect(appworldSettingsSchema.parse({})).toEqual({
    ...{ servers: 4, maxInteractions: 10, reward: "dense", apiDocs: "discover", maxOutput: 12_000 },
    ...{ startTimeoutMs: 120_000, timeoutMs: 110_000 },
  });
});
