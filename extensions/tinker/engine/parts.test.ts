import { existsSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { EngineError } from "../../../src/core/errors.ts";
import { TinkerError } from "../client/index.ts";
import { tinkerCapabilities } from "./capabilities.ts";
import { linearForms } from "./linear-form.ts";
import { byGradient, checkWeights } from "./passes.ts";
import { Recovering } from "./recovering.ts";
import { requestOf, uniqueName } from "./sampling.ts";
import { readRemoteState, writeRemoteState, writeWeights } from "./state.ts";
import { Tally } from "./tally.ts";

const folder = () => mkdtempSync(join(tmpdir(), "tinker-engine-"));
const sample = (action: number[]) => ({ trajectory: "t", turn: 2, context: [1, 2], action });

test("a capability that the probe did not find is not there", () => {
  const none = { accumulates: false, adam: false, clips: false, topLogprobs: false };
  const always = ["reference", "exact-state"];
  expect(tinkerCapabilities(none)).toEqual(always);
  for (const [fact, capability] of [
    ["accumulates", "gradient-accumulation"],
    ["adam", "adam-settings"],
    ["clips", "gradient-clipping"],
    ["topLogprobs", "top-logprobs"],
  ] as const)
    expect(new Set(tinkerCapabilities({ ...none, [fact]: true }))).toEqual(new Set([...always, capability]));
});

test("weights are sent as they are, or as advantages that undo the mean over targets and data", () => {
  const data = [
    { tokens: [1, 2], targets: [2, 3] },
    { tokens: [1], targets: [4] },
  ];
  const weights = [[0.5, -1], [2]];
  const sent = linearForms.map(({ lossFn, config, accumulates, inputs }) => ({
    ...{ lossFn, config, accumulates, inputs: inputs(data, weights).map((datum) => datum.inputs) },
  }));
  expect(sent).toEqual([
    { lossFn: "cross_entropy", config: {}, accumulates: true, inputs: [{ weights: [0.5, -1] }, { weights: [2] }] },
    {
      ...{ lossFn: "cispo", config: { clip_low_threshold: 1, clip_high_threshold: 1 }, accumulates: false },
      // Times targets of the datum, and 2 data.
      inputs: [{ advantages: [2, -4] }, { advantages: [4] }],
    },
  ]);
});

test("samples without a weight are scored alone, with their places", () => {
  const samples = [sample([1, 2]), sample([3]), sample([4])];
  const { moving, scored } = byGradient(samples, [[0, 0.5], [0], [-1]]);
  expect(moving).toEqual({ indices: [0, 2], samples: [samples[0], samples[2]], weights: [[0, 0.5], [-1]] });
  expect(scored).toEqual({ indices: [1], samples: [samples[1]], weights: [[0]] });
});

test.each([
  [[[1]], /weights of turn 2 of trajectory t is 1; expected 2 numbers/],
  [[], /is missing; expected 2 numbers/],
  [[[1, Number.NaN]], /NaN.*finite/],
  [[[1, Number.POSITIVE_INFINITY]], /Infinity.*finite/],
])("weights %j are refused", (weights, message) => {
  expect(() => checkWeights([sample([5, 6])], weights)).toThrow(message);
});

const info = { name: "x", parameters: 0, vocabularySize: 10, maxLength: 12, capabilities: [] } as never;
const request = { context: [1, 2, 3], maxTokens: 100, stopTokens: [9], seed: 0xffff_fffe };
const decode = () => "";

test("a request keeps within the model's length, and its seed within the server's bits", () => {
  expect(requestOf(request, info, true, undefined)).toMatchObject({
    ...{ greedy: false, stopStrings: [], signal: undefined },
    call: { prompt: [1, 2, 3], maxTokens: 9, temperature: 1, seed: 0xffff_fffe, stop: [9] },
  });
  expect(requestOf({ ...request, maxTokens: 4 }, info, false, decode)).toMatchObject({
    call: { maxTokens: 4, seed: 0x7fff_fffe },
  });
  expect(requestOf({ ...request, temperature: 0, topP: 0.5 }, info, true, decode)).toMatchObject({ greedy: true });
  for (const change of [{ temperature: 0.5 }, { topP: 0.9 }, { topK: 5 }, { topLogprobs: 2 }, { stopStrings: ["x"] }])
    expect(() => requestOf({ ...request, ...change }, info, true, undefined)).toThrow(EngineError);
  expect(requestOf({ ...request, stopStrings: ["x"] }, info, true, decode).stopStrings).toEqual(["x"]);
});

test("names are used once", () => {
  expect(uniqueName("step")).toMatch(/^step-[0-9a-f]{8}$/);
  expect(uniqueName("step")).not.toBe(uniqueName("step"));
});

test("a state is read back, and one that is none is refused by its file", async () => {
  const at = join(folder(), "new/state");
  const state = { url: "http://x", path: "tinker://a", steps: 3, rank: 8, reference: null };
  await writeRemoteState(at, state);
  expect(await readRemoteState(at)).toEqual(state);
  writeFileSync(join(at, "tinker.json"), JSON.stringify({ ...state, steps: -1 }));
  await expect(readRemoteState(at)).rejects.toThrow(/tinker\.json is "malformed".*steps/s);
  await expect(readRemoteState(join(at, "none"))).rejects.toThrow(/"not readable"; expected the reference of a state/);
});

test("downloaded weights stay in their folder: an adapter in adapter/, a model beside it", async () => {
  const at = folder();
  const bytes = Buffer.from("{}");
  await writeWeights(
    at,
    new Map([
      ["adapter_config.json", bytes],
      ["deep/a.bin", bytes],
    ]),
  );
  expect(readFileSync(join(at, "adapter/deep/a.bin"), "utf8")).toBe("{}");
  await writeWeights(
    at,
    new Map([
      ["config.json", bytes],
      ["a..b", bytes],
    ]),
  );
  expect([existsSync(join(at, "config.json")), existsSync(join(at, "a..b"))]).toEqual([true, true]);
  for (const name of ["/etc/x", "../x", "a/../../x", ".."])
    await expect(writeWeights(at, new Map([[name, bytes]]))).rejects.toThrow(/expected a path inside of the archive/);
});

test("counts are those since they were taken", () => {
  const tally = new Tally();
  tally.sampled(3, 10);
  tally.sampled(1, 5);
  // Two samples that share their context travel as two data: (2 + 1) + (2 + 1) tokens, of which 4 are distinct.
  const [one, other] = [sample([3]), { ...sample([4]), trajectory: "u" }];
  const data = [3, 4].map((token) => ({ tokens: [1, 2], targets: [2, token] }));
  tally.sent({ samples: [one, other], packed: { data, spans: [] } } as never);
  tally.waitedSince(performance.now(), 2);
  tally.waitedSince(performance.now());
  const sent = { requests: 7, repeats: 1, sentBytes: 8, receivedBytes: 9 };
  expect(tally.take(sent)).toMatchObject({
    ...{ sampler: { sampledTokens: 4, prefilledTokens: 15 }, training: { computedTokens: 6, denseTokens: 6 } },
    remote: { waits: 3, sharedTokens: 4, requests: 7, sentBytes: 8, receivedBytes: 9 },
  });
  expect(tally.take(sent)).toMatchObject({ sampler: { sampledTokens: 0, seconds: 0 }, remote: { waits: 0, sharedTokens: 0 } });
});

// ---- models that are lost

function recovering(most = 2) {
  const log: string[] = [];
  let opened = 0;
  const make = async (from: string | undefined, fresh: boolean) => {
    const id = `m${++opened}`;
    log.push(`open ${id} ${from ?? "new"} ${fresh}`);
    const model = { id, unload: async () => void log.push(`unload ${id}`) };
    return { client: { close: () => void log.push(`close ${id}`) }, model } as never;
  };
  return { log, make, open: async () => new Recovering(await make(undefined, false), make, most) };
}
const lost = (kind: "lost" | "address" | "timeout" | "not-found" | "request" | "failed" | "cancelled") =>
  new TinkerError("x", kind, { kind, retry: "never" });

test.each([
  ["lost", true],
  ["address", true],
  ["timeout", true],
  ["not-found", true],
  ["request", false],
  ["failed", false],
  ["cancelled", false],
] as const)("after an error of the kind %s a new model is made: %s", async (kind, again) => {
  const { log, open } = recovering();
  const remote = await open();
  let calls = 0;
  const work = remote.run(async ({ model }) => {
    if (++calls === 1) throw lost(kind);
    return model.id;
  });
  if (again) expect(await work).toBe("m2");
  else await expect(work).rejects.toMatchObject({ kind });
  expect(log).toEqual(again ? ["open m1 new false", "close m1", "open m2 new true"] : ["open m1 new false"]);
  expect(remote.generation).toBe(again ? 1 : 0);
});

test.each<[string, Error, boolean]>([
  ["one to continue from the checkpoint", new TinkerError("x", "no", { kind: "answer", retry: "from-checkpoint" }), true],
  ["one of a model that is not loaded", new TinkerError("x", "model m is not loaded", { kind: "request", retry: "never" }), true],
  ["another", new TinkerError("x", "no", { kind: "answer", retry: "later" }), false],
  ["one of something else", new Error("model m is not loaded"), false],
])("after %s a new model is made: %s", async (_, error, again) => {
  const remote = await recovering().open();
  const work = remote.run(async ({ model }, generation) => (generation === 0 ? Promise.reject(error) : model.id));
  if (again) expect(await work).toBe("m2");
  else await expect(work).rejects.toBe(error);
});

test("what was applied since the checkpoint is applied again to the new model, once for all who wait", async () => {
  const { log, open } = recovering();
  const remote = await open();
  const apply = (name: string) => remote.apply(async (model) => void log.push(`${name} on ${model.id}`));
  await apply("a");
  expect(await remote.checkpoint(async () => "saved")).toBe("saved");
  expect(remote.lastCheckpoint).toBe("saved");
  await apply("b");
  let failed = false;
  const read = () =>
    remote.run(async ({ model }) => {
      if (model.id === "m1") {
        failed = true;
        throw lost("lost");
      }
      return model.id;
    });
  expect(await Promise.all([read(), read()])).toEqual(["m2", "m2"]);
  expect(failed).toBe(true);
  expect(log).toEqual(["open m1 new false", "a on m1", "b on m1", "close m1", "open m2 saved true", "b on m2"]);
});

test("a model that is lost again and again is given up; one that may have taken a part is in doubt until a restart", async () => {
  const { open, log } = recovering(2);
  const remote = await open();
  let calls = 0;
  const never = async () => {
    calls++;
    throw lost("lost");
  };
  await expect(remote.run(never)).rejects.toThrow(
    /The server lost the model 2 times: x is "lost"\. Continue with --resume once it is sound/,
  );
  expect(calls).toBe(3);
  await expect(remote.apply(async () => Promise.reject(lost("request")))).rejects.toMatchObject({ kind: "request" });
  expect(await remote.run(async () => 1)).toBe(1);
  await expect(remote.apply(async () => Promise.reject(lost("failed")))).rejects.toMatchObject({ kind: "failed" });
  await expect(remote.run(async () => 1)).rejects.toMatchObject({ kind: "failed" });
  const before = remote.generation;
  await remote.restart("other");
  expect(await remote.run(async ({ model }, generation) => `${model.id} ${generation - before}`)).toBe("m4 1");
  expect(log.slice(-2)).toEqual(["open m4 other false", "unload m3"]);
  await remote.close();
  expect(log.slice(-2)).toEqual(["unload m4", "close m4"]);
});

test("a model that cannot be made again says from where, and how to continue", async () => {
  const { make } = recovering();
  let first = true;
  const open = async () => {
    if (!first) throw new Error("no place");
    first = false;
    return make(undefined, false);
  };
  const remote = new Recovering(await open(), open, 2);
  await expect(remote.run(() => Promise.reject(lost("lost")))).rejects.toThrow(
    /"not rebuilt"; expected a server that continues from its beginning\. no place Continue with --resume/,
  );
});
