import "../../test/loopback.ts";
import { afterEach, expect, test } from "vitest";
import type { Environment, Played, TokenPolicy } from "../../src/environments/environment.ts";
import { replyOf } from "../inference/wires.fixture.ts";
import { type AgentDefinition, type AgentModel, agentEnvironment, environmentOfAgent, scoreOf } from "./agent.ts";

test("the customary variables of the vendors' clients", () => {
  const [at, key] = ["http://127.0.0.1:1/v1", "sk-1"];
  expect(environmentOfAgent(at, key, "m")).toEqual({
    ...{ OPENAI_BASE_URL: at, OPENAI_API_BASE: at, OPENAI_API_KEY: key, OPENAI_MODEL: "m" },
    ...{ ANTHROPIC_BASE_URL: "http://127.0.0.1:1", ANTHROPIC_API_KEY: key },
    ...{ GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1", GEMINI_API_KEY: key, GOOGLE_API_KEY: key },
    ...{ GOOGLE_GENAI_USE_VERTEXAI: "false", GOOGLE_GENAI_USE_ENTERPRISE: "false" },
  });
  expect(environmentOfAgent("http://127.0.0.1:1/v1/x", key)).toMatchObject({
    ...{ OPENAI_MODEL: "retrograde", ANTHROPIC_BASE_URL: "http://127.0.0.1:1/v1/x" },
    GOOGLE_GEMINI_BASE_URL: "http://127.0.0.1:1/v1/x",
  });
});

test("a score is a number, or an object with one as its reward", () => {
  expect([scoreOf(0.5), scoreOf(0)]).toEqual([{ reward: 0.5 }, { reward: 0 }]);
  const score = { reward: 1, scores: { own: 2 }, answer: { value: 3 } };
  expect(scoreOf(score)).toBe(score);
  for (const strange of [undefined, null, "1", true, {}, { reward: "1" }])
    expect(() => scoreOf(strange as never)).toThrow(
      /^the reward of an agent is .*; expected a number, or an object with a number/,
    );
});

let opened: Environment | undefined;
afterEach(() => opened?.close?.());
const tasks = { train: [{ prompt: "When?" }] };
const definition = { name: "desk", tasks, run: async () => 1 };

test("an agent is played in rollouts, once its endpoint is open", async () => {
  const environment = agentEnvironment({ ...definition, concurrency: 3 });
  expect([environment.name, environment.concurrency, environment.size("train")]).toEqual(["desk", 3, 1]);
  expect(() => environment.start({} as never, 0)).toThrow(
    /^an episode of "desk" is "started by hand"; expected a rollout: the agent holds the conversation\. Use it with train and eval\./,
  );
  const playing = environment.play?.({ id: "0", request: { prompt: "When?" } } as never, {} as TokenPolicy);
  await expect(playing).rejects.toThrow('"desk" is "not open"; expected open() before the first episode');
  expect(() => agentEnvironment({ ...definition, retries: 1 } as never)).toThrow(/^agentEnvironment: retries is 1/);
});

test("where an agent's own start fails, its endpoint is closed again", async () => {
  const done: string[] = [];
  const environment = agentEnvironment({
    ...definition,
    open: async ({ baseUrl }) => {
      done.push(new URL(baseUrl).pathname);
      throw new Error("no desk");
    },
    close: async () => void done.push("closed"),
  });
  await expect(environment.open?.()).rejects.toThrow("no desk");
  expect(done).toEqual(["/v1", "closed"]);
});

/** Plays an episode of an agent, whose model says yes. */
async function played(run: (model: AgentModel) => Promise<never>, more: Partial<AgentDefinition<{ prompt: string }>> = {}) {
  const gone = new AbortController();
  const policy = {
    ...{ signal: gone.signal, episode: "step-1/0/0", maxLength: 64, vocabularySize: 8, temperature: 1, topP: 1, canMask: true },
    ...{ decode: () => "", count: () => 5, captured: () => ({ auxiliary: [1], counts: { forks: 2 } }) },
    converse: async () => replyOf({ content: "Yes." }),
  } as unknown as TokenPolicy;
  const environment = agentEnvironment({ ...definition, run: (_, model) => run(model), ...more });
  await environment.open?.();
  opened = environment;
  const task = await environment.task("train", 0);
  return { gone, episode: environment.play?.(task, policy) as Promise<Played> };
}
const user = { role: "user", content: "When?" } as const;
const post = async ({ baseUrl, apiKey }: AgentModel, path: string, body: object) => {
  const headers = { authorization: `Bearer ${apiKey}` };
  const given = { model: "any", messages: [user], ...body };
  const response = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(given) });
  await response.text();
  return response.status;
};
const counts = (requests: number, refused = 0) => ({
  ...{ "agent.requests": requests, "agent.refused": refused, "agent.overridden": 0, "agent.tokenCounts": 0, "agent.forks": 2 },
});
const said = [user, { role: "assistant", content: "Yes." }];

test("an episode has what was said, the score beside counts, and the answer; what is beside the work is left out", async () => {
  let env: AgentModel["env"] = {};
  const run = async (model: AgentModel) => {
    env = model.env;
    await model.converse({ messages: [user] });
    return { reward: 0.5, scores: { own: 3 }, answer: { value: "A" } } as never;
  };
  const whole = { messages: said, score: { reward: 0.5, scores: { own: 3, ...counts(0) } }, answer: { value: "A" } };
  expect(await (await played(run)).episode).toEqual({ ...whole, without: [1] });
  expect(env).toEqual({
    ...environmentOfAgent(env.OPENAI_BASE_URL, env.OPENAI_API_KEY),
    OTEL_RESOURCE_ATTRIBUTES: "retrograde.episode=step-1/0/0",
  });
  await opened?.close?.();
  expect(await (await played(run, { auxiliary: "train" })).episode).toEqual({ ...whole, without: [] });
});

test("refused requests are the episode's fault, and routes that are not there only where nothing else was said", async () => {
  const asking = (...calls: readonly (readonly [string, object])[]) =>
    played(async (model) => {
      for (const [path, body] of calls) await post(model, path, body);
      return 1 as never;
    });
  const [asked, refused, embeds] = [
    ["/chat/completions", {}] as const,
    ["/chat/completions", { strange: 1 }] as const,
    ["/embeddings", {}] as const,
  ];
  const faultOf = async (...calls: readonly (readonly [string, object])[]) => (await (await asking(...calls)).episode).fault;
  const why = "strange is 1; expected a field that this endpoint has. Leave it out of the request.";
  expect(await (await asking(asked)).episode).toEqual({
    ...{ messages: said, score: { reward: 1, scores: counts(1) }, without: [1] },
  });
  await opened?.close?.();
  expect(await faultOf(asked, refused)).toBe(`the model's endpoint refused a request of the agent: ${why}`);
  await opened?.close?.();
  expect(await faultOf(refused, refused)).toBe(`the model's endpoint refused 2 requests of the agent: ${why}`);
  await opened?.close?.();
  expect(await faultOf(asked, embeds)).toBeUndefined();
  await opened?.close?.();
  expect(await faultOf(embeds)).toMatch(/^the model's endpoint refused a request of the agent: route is "POST \/embeddings"/);
});

test("an agent's error has the endpoint's refusal as its reason, where there is one", async () => {
  const lost = new Error("lost");
  const failing = async (path: string) =>
    (
      await played(async (model) => {
        await post(model, path, {});
        throw lost;
      })
    ).episode.catch((error: unknown) => error);
  expect(await failing("/chat/completions")).toBe(lost);
  await opened?.close?.();
  const refused = (await failing("/embeddings")) as Error;
  expect([refused.message, refused.cause]).toEqual([expect.stringMatching(/^the model's endpoint refused a request/), lost]);
});

test("the key of an episode is its own, and none once it has ended or nobody waits for it", async () => {
  let model: AgentModel | undefined;
  const { episode } = await played(async (given) => {
    model = given;
    return (await post(given, "/chat/completions", {})) as never;
  });
  expect((await episode).score.reward).toBe(200);
  expect(await post(model as AgentModel, "/chat/completions", {})).toBe(401);
  await opened?.close?.();
  let go = () => {};
  const { gone, episode: left } = await played(async (given) => {
    await new Promise<void>((resolve) => {
      go = resolve;
    });
    return (await post(given, "/chat/completions", {})) as never;
  });
  gone.abort();
  go();
  expect((await left).score.reward).toBe(401);
});
