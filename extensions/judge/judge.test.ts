import "../../test/loopback.ts";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseSettings } from "../../src/core/settings.ts";
import type { Group } from "../../src/core/trajectory.ts";
import { applyRewards } from "../../src/rewards/compose.ts";
import { rewardsSchema } from "../../src/rewards/config.ts";
import { createRewards } from "../../src/rewards/create.ts";
import { episode, groupOf, quiet } from "../../src/rewards/episodes.fixture.ts";
import { addRewards } from "../../src/rewards/kinds.ts";
import { RewardError, type ScoringContext } from "../../src/rewards/reward.ts";
import type { RewardLimits } from "../../src/rewards/reward-kind.ts";
import { judgeReward } from "./rewards.ts";
import { attemptsIn, type JudgeRequest, judgeServer, type Reaction, scoring } from "./server.fixture.ts";

addRewards({ judge: judgeReward });

const key = "sk-very-secret-0123456789";
const newFolder = () => mkdtempSync(join(tmpdir(), "retrograde-judge-"));

interface Setup {
  readonly baseUrl: string;
  readonly folder?: string;
  readonly limits?: RewardLimits;
  readonly settings?: object;
}

function judge({ baseUrl, folder = newFolder(), limits = {}, settings = {} }: Setup) {
  const config = { kind: "judge", model: "wise", baseUrl, retries: 0, apiKeyEnv: "JUDGE_KEY", ...settings };
  const context = { code: [], limits, timeoutMs: 60_000, folder, env: { JUDGE_KEY: key } };
  return createRewards(parseSettings(rewardsSchema, [config]), context);
}

const says = (...answers: readonly string[]) => answers.map((answer) => episode({ says: answer }));
const group = (id: string, ...answers: readonly string[]) => groupOf(id, says(...answers));
const rewardsOf = (groups: readonly Group[]) => groups.map(({ trajectories }) => trajectories.map(({ reward }) => reward));

/** A judge that likes what holds a 7. */
const likesSeven = (request: JudgeRequest) => scoring(request, (attempt) => (attempt.includes("7") ? 1 : 0.25));
const score = async (setup: Setup, groups: readonly Group[], context: Partial<ScoringContext> = {}) =>
  applyRewards(judge(setup), groups, [], { ...quiet, ...context });

test("a group is one question, and each trajectory gets the score of its own attempt", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const groups = [group("a", "7", "8", "it is 7"), group("b", "1", "27")];
  const result = await score({ baseUrl }, groups);
  expect(rewardsOf(result.groups)).toEqual([
    [1, 0.25, 1],
    [0.25, 1],
  ]);
  expect(result.groups[0].trajectories[1].scores).toEqual({ "reward:environment": 0, "reward:judge": 0.25 });
  expect(result.metrics).toMatchObject({
    "judge/calls": 2,
    "judge/promptTokens": 200,
    "judge/completionTokens": 40,
    "judge/asked": 2,
    "judge/cached": 0,
    "judge/skipped": 0,
  });
  expect(requests).toHaveLength(2);
  expect(requests[0]).toMatchObject({
    url: "/v1/chat/completions",
    model: "wise",
    authorization: `Bearer ${key}`,
    response_format: { type: "json_schema" },
  });
  expect(requests[0].temperature).toBeUndefined();
});

test("settings of the environment for another service do not reach the judge's server", async () => {
  process.env.OPENAI_ORG_ID = "org-of-another";
  process.env.OPENAI_PROJECT_ID = "project-of-another";
  try {
    const { baseUrl, requests } = await judgeServer(likesSeven);
    await score({ baseUrl, settings: { apiKeyEnv: null, temperature: 0.5 } }, [group("a", "7", "8")]);
    expect(JSON.stringify(requests[0].headers)).not.toContain("of-another");
    expect(requests[0].authorization).toBeUndefined();
    expect(requests[0].temperature).toBe(0.5);
  } finally {
    delete process.env.OPENAI_ORG_ID;
    delete process.env.OPENAI_PROJECT_ID;
  }
});

test("attempts of the same wording are shown once and score the same", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const result = await score({ baseUrl }, [group("a", "8", "7", "8", "7")]);
  expect(attemptsIn(requests[0]).size).toBe(2);
  expect(rewardsOf(result.groups)).toEqual([[0.25, 1, 0.25, 1]]);
});

test("a group of one, or with nothing to tell apart, costs no call and has equal rewards", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const result = await score({ baseUrl }, [group("a", "7"), group("b", "8", "8")]);
  expect(rewardsOf(result.groups)).toEqual([[0.5], [0.5, 0.5]]);
  expect(requests).toHaveLength(0);
  expect(result.metrics).toMatchObject({ "judge/uncompared": 2, "judge/calls": 0 });
});

test("failed episodes are not shown and get 0", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const failed = episode({ says: "7 7 7", stopReason: "environment-error", error: "broken" });
  const result = await score({ baseUrl }, [groupOf("a", [failed, ...says("7", "8")]), groupOf("b", [failed, failed])]);
  expect(rewardsOf(result.groups)).toEqual([
    [0, 1, 0.25],
    [0, 0],
  ]);
  expect(attemptsIn(requests[0]).size).toBe(2);
});

const bad = {
  "no JSON": "They are all fine.",
  "a score above 1": '{"scores": [{"id": "1", "score": 7}, {"id": "2", "score": 10}]}',
  "a score below 0": '{"scores": [{"id": "1", "score": -0.5}, {"id": "2", "score": 1}]}',
  "an attempt missing": '{"scores": [{"id": "1", "score": 0.5}]}',
  "an attempt twice": '{"scores": [{"id": "1", "score": 0.5}, {"id": "1", "score": 0.6}, {"id": "2", "score": 1}]}',
  "an attempt that does not exist": '{"scores": [{"id": "1", "score": 0.5}, {"id": "2", "score": 1}, {"id": "3", "score": 1}]}',
  nothing: "",
};

test.each(Object.entries(bad))("an answer with %s is asked for again, with what was wrong", async (_, content) => {
  const { baseUrl, requests } = await judgeServer((request, number) => (number === 1 ? { content } : likesSeven(request)));
  const result = await score({ baseUrl }, [group("a", "7", "8")]);
  expect(rewardsOf(result.groups)).toEqual([[1, 0.25]]);
  expect(requests).toHaveLength(2);
  expect(requests[1].messages.slice(2)).toMatchObject([{ role: "assistant", content }, { role: "user" }]);
  expect(requests[1].messages[3].content).toContain("cannot be used");
  expect(result.metrics["judge/calls"]).toBe(2);
});

test("scores in a cut-off answer are a draft of its thoughts: it is asked for again", async () => {
  const draft = `<think>Perhaps ${bad["an attempt missing"].replace("]}", ', {"id": "2", "score": 0.5}]}')}? Let me see`;
  const { baseUrl, requests } = await judgeServer((request, number) =>
    number === 1 ? { content: draft, finish: "length" } : likesSeven(request),
  );
  expect(rewardsOf((await score({ baseUrl }, [group("a", "7", "8")])).groups)).toEqual([[1, 0.25]]);
  expect(requests[1].messages[3].content).toContain("cut it off");
});

test("a judge that answers badly every time stops the run, with the group and the last reason", async () => {
  const { baseUrl, requests } = await judgeServer(() => ({ content: bad["a score above 1"] }));
  const scored = score({ baseUrl, settings: { attempts: 2 } }, [group("a", "7", "8")]);
  await expect(scored).rejects.toThrow(RewardError);
  await expect(scored).rejects.toThrow(/group a.*the score of attempt 1 is 7, not between 0 and 1 \(asked 2 times\)/);
  expect(requests).toHaveLength(2);
});

test("with skip-group that group is left out, warned of and counted; the others are scored", async () => {
  const react = (request: JudgeRequest): Reaction =>
    request.messages[1].content.includes("odd") ? { content: "?" } : likesSeven(request);
  const { baseUrl } = await judgeServer(react);
  const warnings: string[] = [];
  const warn = (message: string) => warnings.push(message);
  const groups = [group("a", "odd", "7"), group("b", "7", "8")];
  const result = await score({ baseUrl, settings: { onFailure: "skip-group", attempts: 2 } }, groups, { warn });
  expect(result.scored.map(({ id }) => id)).toEqual(["b"]);
  expect(rewardsOf(result.groups)).toEqual([
    [0, 0],
    [1, 0.25],
  ]);
  expect(result.groups[0].trajectories[0].scores).not.toHaveProperty("reward:judge");
  expect(result.metrics).toMatchObject({ "judge/skipped": 1, "judge/asked": 1, "judge/calls": 3 });
  expect(warnings).toEqual([expect.stringMatching(/group a is left out of the update: .*holds no JSON/)]);
});

test("429 is waited for as the server asks, and the repeated request is the same call", async () => {
  const { baseUrl, requests } = await judgeServer((request, number) =>
    number === 1 ? { status: 429, headers: { "retry-after-ms": "5" } } : likesSeven(request),
  );
  const result = await score({ baseUrl, settings: { retries: 1 } }, [group("a", "7", "8")]);
  expect(requests).toHaveLength(2);
  expect(result.metrics["judge/calls"]).toBe(1);
  expect(rewardsOf(result.groups)).toEqual([[1, 0.25]]);
});

const failures: readonly (readonly [string, Reaction, RegExp])[] = [
  ["fails for ever", { status: 500, headers: { "retry-after-ms": "1" } }, /: 500 /],
  ["limits for ever", { status: 429, headers: { "retry-after-ms": "1" } }, /: 429 /],
  ["never answers", "hang", /nothing within 100 ms/],
  ["begins an answer and stops", "stall", /nothing within 100 ms/],
  ["hangs up", "hang up", /fetch failed|other side closed|socket/],
];

test.each(failures)("a server that %s stops the run after the retries", async (_, reaction, said) => {
  const { baseUrl, requests } = await judgeServer(() => reaction);
  const scored = score({ baseUrl, settings: { retries: 1, timeoutMs: said.source.includes("100 ms") ? 100 : 10_000 } }, [
    group("a", "7", "8"),
  ]);
  await expect(scored).rejects.toThrow(said);
  await expect(scored).rejects.toThrow(RewardError);
  // A lost connection is replaced once at once, beside the retries.
  expect(requests).toHaveLength(reaction === "hang up" ? 3 : 2);
});

test.each(failures)(
  "with skip-group, a server that %s costs the groups but not the run, unless none is left",
  async (_, reaction) => {
    const { baseUrl } = await judgeServer((request) =>
      request.messages[1].content.includes("odd") ? reaction : likesSeven(request),
    );
    // Long enough for the answer to the other group on a busy machine.
    const settings = { retries: 0, timeoutMs: 2_000, onFailure: "skip-group" };
    const result = await score({ baseUrl, settings }, [group("a", "odd", "8"), group("b", "7", "8")]);
    expect(result.scored.map(({ id }) => id)).toEqual(["b"]);
    await expect(score({ baseUrl, settings }, [group("a", "odd", "8")])).rejects.toThrow("no group of this step");
  },
);

test("a server that wants to be left alone for longer than a minute is not waited for", async () => {
  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString();
  for (const wish of ["3600", inAnHour]) {
    const { baseUrl, requests } = await judgeServer(() => ({ status: 429, headers: { "retry-after": wish } }));
    await expect(score({ baseUrl, settings: { retries: 5 } }, [group("a", "7", "8")])).rejects.toThrow(": 429 ");
    expect(requests).toHaveLength(1);
  }
});

test("a wrong request is not repeated", async () => {
  const { baseUrl, requests } = await judgeServer(() => ({ status: 400 }));
  await expect(score({ baseUrl, settings: { retries: 5 } }, [group("a", "7", "8")])).rejects.toThrow(": 400 ");
  expect(requests.map(({ response_format }) => response_format?.type)).toEqual(["json_schema", undefined]);
});

test.each([401, 403, 404])("status %i is a wrong setting: the run stops, also with skip-group", async (status) => {
  const { baseUrl, requests } = await judgeServer(() => ({ status }));
  const settings = { onFailure: "skip-group", retries: 3, concurrency: 1 };
  await expect(score({ baseUrl, settings }, [group("a", "7", "8"), group("b", "7", "9")])).rejects.toThrow("apiKeyEnv");
  expect(requests).toHaveLength(1);
});

test("a server that takes no JSON schema is asked without, from then on, and that is said once", async () => {
  const { baseUrl, requests } = await judgeServer((request) =>
    request.response_format === undefined ? likesSeven(request) : { status: 400 },
  );
  const warnings: string[] = [];
  const settings = { concurrency: 1 };
  const warn = (message: string) => warnings.push(message);
  const result = await score({ baseUrl, settings }, [group("a", "7", "8"), group("b", "7", "9")], { warn });
  expect(rewardsOf(result.groups)).toEqual([
    [1, 0.25],
    [1, 0.25],
  ]);
  expect(requests.map(({ response_format }) => response_format?.type)).toEqual(["json_schema", undefined, undefined]);
  expect(warnings).toEqual([expect.stringContaining("does not take a JSON schema")]);
});

test("what was answered is not asked again: not in this run, not after it was killed, not with the attempts in another order", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const folder = newFolder();
  const parts = judge({ baseUrl, folder });
  const first = await applyRewards(parts, [group("a", "7", "8"), group("same", "8", "7")], [], quiet);
  expect(first.metrics).toMatchObject({ "judge/asked": 1, "judge/cached": 1, "judge/calls": 1 });
  expect(rewardsOf(first.groups)).toEqual([
    [1, 0.25],
    [0.25, 1],
  ]);
  const again = await score({ baseUrl, folder }, [group("a", "7", "8"), group("same", "8", "7")]);
  expect(again).toEqual(first);
  expect(requests).toHaveLength(1);
});

test("another rubric, model or task is another question", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const folder = newFolder();
  await score({ baseUrl, folder }, [group("a", "7", "8")]);
  await score({ baseUrl, folder, settings: { rubric: "Be brief." } }, [group("a", "7", "8")]);
  await score({ baseUrl, folder, settings: { model: "wiser" } }, [group("a", "7", "8")]);
  await score({ baseUrl, folder }, [
    groupOf("a", [episode({ asks: "2 + 5?", says: "7" }), episode({ asks: "2 + 5?", says: "8" })]),
  ]);
  expect(requests).toHaveLength(4);
  expect(requests[1].messages[0].content).toContain("Be brief.");
});

test("half a line that a kill left costs that answer and no other", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const folder = newFolder();
  await score({ baseUrl, folder }, [group("a", "7", "8")]);
  const [file] = readdirSync(join(folder, "judge"));
  const path = join(folder, "judge", file);
  const line = readFileSync(path, "utf8");
  writeFileSync(path, line + line.slice(0, 40));
  await score({ baseUrl, folder }, [group("a", "7", "8"), group("b", "7", "9")]);
  await score({ baseUrl, folder }, [group("a", "7", "8"), group("b", "7", "9")]);
  expect(requests).toHaveLength(2);
});

test("runs that share a cache share its answers, and tell them from their own", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const settings = { cache: newFolder() };
  await score({ baseUrl, settings }, [group("a", "7", "8")]);
  const other = await score({ baseUrl, settings, limits: { judgeCalls: 1 } }, [group("a", "7", "8"), group("b", "7", "9")]);
  expect(requests).toHaveLength(2);
  expect(other.metrics).toMatchObject({ "judge/asked": 1, "judge/cached": 1, "judge/calls": 1 });
});

test("the budget of calls ends the run before the call that is too many, and counts over its processes", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const folder = newFolder();
  const groups = [group("a", "7", "8"), group("b", "7", "9"), group("c", "7", "10")];
  const settings = { onFailure: "skip-group", concurrency: 1 };
  const limited = score({ baseUrl, folder, settings, limits: { judgeCalls: 2 } }, groups);
  await expect(limited).rejects.toThrow(/over its budget: the run's judges have used 2 calls.*limits\.judgeCalls/);
  expect(requests).toHaveLength(2);
  await expect(score({ baseUrl, folder, settings, limits: { judgeCalls: 2 } }, groups)).rejects.toThrow("over its budget");
  expect(requests).toHaveLength(2);
  expect(rewardsOf((await score({ baseUrl, folder, settings, limits: { judgeCalls: 3 } }, groups)).groups)).toHaveLength(3);
  expect(requests).toHaveLength(3);
});

test("the budget of tokens counts what the server reports, else a quarter of the characters", async () => {
  const { baseUrl, requests } = await judgeServer((request) => ({
    ...likesSeven(request),
    usage: request.messages[1].content.includes("9") ? null : { prompt_tokens: 900, completion_tokens: 99 },
  }));
  const settings = { concurrency: 1 };
  const groups = [group("a", "7", "8"), group("b", "7", "9"), group("c", "7", "10")];
  await expect(score({ baseUrl, settings, limits: { judgeTokens: 999 } }, groups)).rejects.toThrow("used 999 tokens");
  expect(requests).toHaveLength(1);
  const { metrics } = await score({ baseUrl, settings }, [groups[1]]);
  const { messages } = requests[1];
  expect(metrics["judge/promptTokens"]).toBe(Math.ceil((messages[0].content.length + messages[1].content.length) / 4));
  expect(metrics["judge/completionTokens"]).toBeGreaterThan(0);
});

test("calls whose answers were useless count too, also in the run that continues", async () => {
  const { baseUrl } = await judgeServer(() => ({ content: "?" }));
  const folder = newFolder();
  await expect(score({ baseUrl, folder }, [group("a", "7", "8")])).rejects.toThrow("asked 3 times");
  await expect(score({ baseUrl, folder, limits: { judgeCalls: 3 } }, [group("a", "7", "8")])).rejects.toThrow("used 3 calls");
});

test("a call counts also where the budget ended the question that it was made for", async () => {
  const { baseUrl, requests } = await judgeServer(() => ({ content: "?" }));
  const setup = { baseUrl, folder: newFolder(), limits: { judgeCalls: 1 } };
  await expect(score(setup, [group("a", "7", "8")])).rejects.toThrow("used 1 calls");
  await expect(score(setup, [group("a", "7", "8")])).rejects.toThrow("used 1 calls");
  expect(requests).toHaveLength(1);
});

test("an interruption ends the waiting at once, with its own reason", async () => {
  const { baseUrl } = await judgeServer((_, number) => {
    if (number === 2) interrupt.abort(new Error("Ctrl-C"));
    return number === 1 ? { status: 429, headers: { "retry-after": "60" } } : "hang";
  });
  const interrupt = new AbortController();
  const groups = [group("a", "7", "8"), group("b", "7", "9")];
  const settings = { retries: 3, onFailure: "skip-group" };
  await expect(score({ baseUrl, settings }, groups, { signal: interrupt.signal })).rejects.toThrow("Ctrl-C");
});

test("as many questions are in flight as was allowed, and no more", async () => {
  let [now, most] = [0, 0];
  let bothAreThere = () => {};
  const two = new Promise<void>((resolve) => {
    bothAreThere = resolve;
  });
  const { baseUrl } = await judgeServer(async (request) => {
    most = Math.max(most, ++now);
    if (now === 2) setTimeout(bothAreThere, 20); // A third one would come in the meantime.
    await two;
    now--;
    return likesSeven(request);
  });
  const groups = Array.from({ length: 6 }, (_, i) => group(`g${i}`, "it is", `${i}`));
  await score({ baseUrl, settings: { concurrency: 2 } }, groups);
  expect(most).toBe(2);
});

test("the key stays out of errors and files, also where the server repeats it", async () => {
  const folder = newFolder();
  const refusing = await judgeServer(() => ({ status: 401, body: { error: { message: `Incorrect API key provided: ${key}` } } }));
  const error: unknown = await score({ baseUrl: refusing.baseUrl, folder }, [group("a", "7", "8")]).catch((reason) => reason);
  expect(error).toBeInstanceOf(RewardError);
  expect(String(error)).toContain("[API key]");
  const telling = await judgeServer((request) => ({ content: likesSeven(request).content.replaceAll("because", key) }));
  await score({ baseUrl: telling.baseUrl, folder }, [group("a", "7", "8")]);
  const files = readdirSync(join(folder, "judge")).map((file) => readFileSync(join(folder, "judge", file), "utf8"));
  expect(files.join("")).toContain("[API key]");
  expect(files.join("") + String(error) + JSON.stringify(error) + String((error as Error).stack)).not.toContain(key);
  expect((error as Error).cause).toBeUndefined();
});

const byEpisode = { of: "episode", reference: "answer" };
const tasks = [{ id: "task of a", answer: "7" }] as const;

test("of an episode, each attempt is a question of its own, with what is right", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const parts = judge({ baseUrl, settings: byEpisode });
  const { groups, metrics } = await applyRewards(parts, [group("a", "7", "8", "7")], tasks, quiet);
  expect(rewardsOf(groups)).toEqual([[1, 0.25, 1]]);
  expect(requests.map((request) => attemptsIn(request).size)).toEqual([1, 1]);
  expect(requests.every(({ messages }) => messages[1].content.includes('<reference>\n"7"\n</reference>'))).toBe(true);
  expect(metrics).toMatchObject({ "judge/asked": 2, "judge/cached": 1, "judge/uncompared": 0 });
});

test("an episode that the judge gives no score is an error, or leaves its group out, never a score", async () => {
  const { baseUrl } = await judgeServer((request) =>
    [...attemptsIn(request).values()].some((text) => text.includes("8")) ? { content: "it is fine" } : likesSeven(request),
  );
  const groups = [group("a", "7", "8"), group("b", "7")];
  const settings = { of: "episode", attempts: 1 };
  await expect(score({ baseUrl, settings }, groups)).rejects.toThrow(RewardError);
  const left = await score({ baseUrl, settings: { ...settings, onFailure: "skip-group" } }, groups);
  expect(left.scored.map(({ id }) => id)).toEqual(["b"]);
});

test("a task without what is right is refused before a question is put", async () => {
  const { baseUrl, requests } = await judgeServer(likesSeven);
  const [part] = judge({ baseUrl, settings: byEpisode });
  expect(() => part?.check?.(tasks[0])).not.toThrow();
  expect(() => part?.check?.({ id: "bare" })).toThrow('reward "judge" is "no answer: task bare has no field answer"');
  expect(() => judge({ baseUrl, settings: { reference: "answer" } })).toThrow('none unless `of` is "episode"');
  expect(requests).toEqual([]);
});
