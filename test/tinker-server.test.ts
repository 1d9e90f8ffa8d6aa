import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createLocalEngine } from "../extensions/local/engine.ts";
import { encodeForwardBackward } from "../extensions/tinker/client/wire/forward-backward.ts";
import "./loopback.ts";
import { adam, base, client, failure, first, folder, second, server, signed, withModel } from "./tinker-server.fixture.ts";

describe("training", () => {
  test.each([
    ["an adapter", 4],
    ["the model itself", 0],
  ])("%s is what the engine in process computes, token for token and step for step", async (_, rank) => {
    const lora = rank === 0 ? undefined : { rank, alpha: 32, targets: "all-linear" as const, seed: 3 };
    const engine = await createLocalEngine({ model: join(folder, "tiny"), threads: 1, lora });
    const samples = [first, second].map(({ tokens, targets }, i) => {
      return { trajectory: `${i}`, turn: 0, context: [tokens[0]], action: targets };
    });
    const options = { ...adam, weightDecay: 0.1, clipNorm: 0.5 };
    await withModel(rank, async (model) => {
      for (let step = 0; step < 2; step++) {
        const data = [
          { ...first, inputs: signed },
          { ...second, inputs: { weights: [1, 1, 1] } },
        ];
        const expected = await engine.forwardBackward(samples, [signed.weights, [1, 1, 1]], { temperature: 1 });
        const { gradientNorm } = await engine.step(options);
        const [pass, stepped] = [model.forwardBackward(data, "cross_entropy"), model.optimStep(options)];
        // The same numbers: log-probs travel as float32, which they are.
        expect((await pass).fields.logprobs).toEqual(expected);
        const loss = -expected.flat().reduce((sum, lp, i) => sum + lp * [...signed.weights, 1, 1, 1][i], 0);
        expect((await pass).metrics["loss:sum"]).toBeCloseTo(loss, 4);
        expect((await stepped).gradientNorm).toBe(gradientNorm);
      }
      expect((await model.forward([first, second])).fields.logprobs).toEqual(await engine.logprobs(samples, { temperature: 1 }));
    });
    await engine.dispose();
  });

  test("targets that are not the next token are scored where they stand", async () => {
    await withModel(4, async (model) => {
      const { tokens } = first;
      const { fields } = await model.forward([first]);
      const other = { tokens, targets: [5, 0, 4, 6, 2] };
      const row = (await model.forward([other])).fields.logprobs[0];
      expect([row[0], row[1], row[3], row[4]].map((x) => x.toFixed(4))).toEqual(
        [0, 1, 3, 4].map((t) => fields.logprobs[0][t].toFixed(4)),
      );
      const alone = (await model.forward([{ tokens: tokens.slice(0, 3), targets: [5, 0, 4] }])).fields.logprobs[0][2];
      expect(row[2]).toBeCloseTo(alone, 4);
    });
  });
});

describe("sampling", () => {
  const call = { prompt: [1, 5, 0], maxTokens: 4, seed: 7, stop: [] as number[] };

  test("draws from the weights that were saved, whatever the model does next, and after it was unloaded", async () => {
    const sampler = await withModel(4, async (model) => {
      const saved = await model.saveForSampler("before");
      const before = await saved.sample({ ...call, promptLogprobs: true });
      const { tokens, logprobs } = before.sequences[0];
      const whole = [...call.prompt, ...tokens];
      const { fields } = await model.forward([{ tokens: whole.slice(0, -1), targets: whole.slice(1) }]);
      for (const [i, lp] of [...(before.promptLogprobs?.slice(1) ?? []), ...logprobs].entries())
        expect(lp).toBeCloseTo(fields.logprobs[0][i], 4);
      await model.forwardBackward([{ ...first, inputs: signed }], "cross_entropy");
      await model.optimStep({ ...adam, learningRate: 0.2 });
      const repeated = await saved.sample({ ...call, promptLogprobs: true });
      expect(repeated.promptLogprobs).toEqual(before.promptLogprobs);
      expect(repeated.sequences[0].tokens).toEqual(tokens);
      // The prompt's keys and values come from the first time now: other products, whose last digits differ.
      for (const [i, lp] of repeated.sequences[0].logprobs.entries()) expect(lp).toBeCloseTo(logprobs[i], 5);
      const after = await model.saveForSampler("after");
      expect((await after.sample(call)).sequences[0].logprobs).not.toEqual(logprobs);
      return { saved, before };
    });
    const again = await sampler.saved.sample({ ...call, promptLogprobs: true });
    expect(again.sequences[0].tokens).toEqual(sampler.before.sequences[0].tokens);
  });

  test("gives top candidates of samples and prompts, whose first is the greedy token", async () => {
    const sampler = client.baseSampler("tiny");
    const greedy = await sampler.sample({ ...call, temperature: 0, topLogprobs: 3, topPromptLogprobs: 2 });
    const [{ tokens, topLogprobs = [], logprobs }] = greedy.sequences;
    expect(topLogprobs.map((row) => row.tokens[0])).toEqual(tokens);
    for (const [t, row] of topLogprobs.entries()) expect(row.logprobs[0]).toBeCloseTo(logprobs[t], 5);
    expect(greedy.topPromptLogprobs?.map((row) => row.tokens.length)).toEqual([0, 2, 2]);
    const hot = await sampler.sample({ ...call, temperature: 2, topLogprobs: base.vocabularySize });
    for (const row of hot.sequences[0].topLogprobs ?? [])
      expect(row.logprobs.reduce((sum, lp) => sum + Math.exp(lp), 0)).toBeCloseTo(1, 3);
  });

  test("the n-th sample has the n-th seed", async () => {
    const sampler = client.baseSampler("tiny");
    const both = await sampler.sample({ ...call, samples: 2 });
    const one = await sampler.sample({ ...call, seed: call.seed + 1 });
    expect(both.sequences[1].tokens).toEqual(one.sequences[0].tokens);
  });
});

describe("bad clients", () => {
  const post = async (path: string, body: object | string | Uint8Array, headers: Record<string, string> = {}) => {
    const sent = body instanceof Uint8Array ? new Uint8Array(body) : typeof body === "string" ? body : JSON.stringify(body);
    const type = body instanceof Uint8Array ? "application/x-protobuf" : "application/json";
    const response = await fetch(`${server.baseUrl}/api/v1/${path}`, {
      method: "POST",
      body: sent,
      headers: { "content-type": type, ...headers },
    });
    return { status: response.status, body: (await response.json()) as { detail?: string; request_id?: string; error?: string } };
  };
  const pass = (modelId: string, seqId: number, data = [first]) =>
    encodeForwardBackward({ modelId, seqId, data, lossFn: "cross_entropy", config: {}, forwardOnly: false });

  test("garbage of every kind is a 4xx that says what was expected", async () => {
    await withModel(4, async ({ id }) => {
      const cases: [string, object | string | Uint8Array, number, RegExp][] = [
        ["create_session", "{", 422, /expected JSON/],
        ["forward_backward", {}, 415, /application\/x-protobuf/],
        ["forward_backward", new TextEncoder().encode("not a protobuf"), 422, /ForwardBackwardRequest/],
        ["forward_backward", pass("nope", 1), 404, /model is "nope"/],
        ["forward_backward", pass(id, 1, []), 422, /data is "empty"/],
        [
          "forward_backward",
          pass(id, 1, [{ tokens: [1, 999], targets: [1, 2] }]),
          422,
          /a token in model_input of datum 0 is 999/,
        ],
        ["forward_backward", pass(id, 1, [{ tokens: [1, 2], targets: [1] }]), 422, /number of target_tokens/],
        ["forward_backward", pass(id, 1, [{ ...second, inputs: { weights: [Number.NaN, 1, 1] } }]), 422, /a number in weights/],
        ["forward_backward", pass(id, 1, [{ ...second, inputs: { weights: [1] } }]), 422, /number of weights/],
        ["optim_step", { model_id: id, seq_id: 1, adam_params: { learning_rate: -1 } }, 422, /adam_params.learning_rate/],
        ["optim_step", { model_id: id, seq_id: 1, adam_params: { momentum: 1 } }, 422, /momentum/],
        ["create_model", { session_id: "x", base_model: "tiny" }, 404, /session is "x"/],
        ["asample", { base_model: "tiny", prompt: { chunks: [] }, sampling_params: {} }, 422, /tokens of the prompt is 0/],
        ["asample", { base_model: "tony", prompt: { chunks: [{ tokens: [1] }] }, sampling_params: {} }, 404, /expected "tiny"/],
        [
          "asample",
          { model_path: "tinker://../../etc/x", prompt: { chunks: [{ tokens: [1] }] }, sampling_params: {} },
          422,
          /path/,
        ],
        ["retrieve_future", { request_id: "nope" }, 404, /future is "nope"/],
        ["nothing", {}, 404, /route is "POST \/api\/v1\/nothing"/],
        ["forward", {}, 404, /route/],
      ];
      for (const [path, body, status, message] of cases) {
        const answer = await post(path, body);
        expect([path, answer.status, answer.body.detail]).toEqual([path, status, expect.stringMatching(message)]);
      }
      // Nothing of that was taken for request 1.
      expect((await post("forward_backward", pass(id, 1))).status).toBe(200);
    });
  });

  test("what lies outside of the store is not listed, downloaded or deleted, however its path is written", async () => {
    const outside = join(folder, "outside/weights/secret");
    await mkdir(join(outside, "weights"), { recursive: true });
    await writeFile(join(outside, "weights/model.safetensors"), "secret");
    const record = { baseModel: "tiny", trained: "full", step: 1, savedAt: new Date(0).toISOString(), optimizer: false };
    await writeFile(join(outside, "checkpoint.json"), JSON.stringify(record));
    const ups = ["..", "%2e%2e", "..%2f..", ".", "x%2f..", "..%5c", "%00", "..%2foutside%00"];
    const models = ["..%2foutside", "..%2Foutside", "%2e%2e%2foutside", "x%2f..%2f..%2foutside", "..%5coutside", ...ups];
    const rests = ["", "/weights/secret/download", "/weights/secret/archive", "/weights/secret", "/secret/download"];
    const named = ups.flatMap((up) => [`m/checkpoints/weights/${up}/download`, `m/checkpoints/weights/${up}%2fsecret`]);
    const paths = [...models.flatMap((model) => rests.map((rest) => `${model}/checkpoints${rest}`)), ...named];
    for (const path of paths)
      for (const method of ["GET", "DELETE"]) {
        const status = await new Promise<number | undefined>((resolve, reject) => {
          const url = new URL(server.baseUrl);
          // As it is written: URL and fetch would resolve the dots.
          const asked = { host: url.hostname, port: url.port, path: `/api/v1/training_runs/${path}`, method };
          httpRequest(asked, (response) => resolve(response.resume().statusCode))
            .on("error", reject)
            .end();
        });
        expect([method, path, status]).toEqual([method, path, expect.toSatisfy((of: number) => of === 404 || of === 422)]);
      }
    expect(existsSync(join(outside, "weights/model.safetensors"))).toBe(true);
  });

  test("gaps wait for what is missing, repeats are applied once, reuse is a 409", async () => {
    await withModel(4, async ({ id }) => {
      const step = { model_id: id, seq_id: 2, adam_params: {} };
      const stepped = await post("optim_step", step);
      const passed = await post("forward_backward", pass(id, 1));
      expect((await post("forward_backward", pass(id, 1))).body.request_id).toBe(passed.body.request_id);
      expect((await post("optim_step", { ...step, adam_params: { learning_rate: 1 } })).status).toBe(409);
      const result = await post("retrieve_future", { request_id: stepped.body.request_id });
      expect(result.body).toMatchObject({ metrics: { grad_norm: expect.any(Number) } });
      expect((result.body as { metrics: { grad_norm: number } }).metrics.grad_norm).toBeGreaterThan(0.1);
    });
  });

  test("a step behind a pass that was refused does not run without it, once", async () => {
    await withModel(4, async ({ id }) => {
      expect((await post("forward_backward", pass(id, 1, []))).status).toBe(422);
      const refused = await post("optim_step", { model_id: id, seq_id: 2, adam_params: {} });
      const result = await post("retrieve_future", { request_id: refused.body.request_id });
      expect(result.body.error).toMatch(/optim_step is "behind a forward_backward that failed".*data is "empty"/);
      const next = await post("optim_step", { model_id: id, seq_id: 3, adam_params: {} });
      expect((await post("retrieve_future", { request_id: next.body.request_id })).body.error).toBeUndefined();
    });
  });

  test("1 GiB is refused before it is read, announced or not", async () => {
    const send = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const url = new URL(`${server.baseUrl}/api/v1/forward_backward`);
        const request = httpRequest(url, { method: "POST", headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
          request.destroy();
        });
        request.on("error", reject);
        const part = Buffer.alloc(2 ** 18);
        let sent = 0;
        const more = () => {
          while (sent < 2 ** 30 && !request.destroyed) {
            sent += part.length;
            if (!request.write(part)) return void request.once("drain", more);
          }
        };
        more();
      });
    const type = { "content-type": "application/x-protobuf" };
    expect(await send({ ...type, "content-length": String(2 ** 30) })).toBe(413);
    expect(await send({ ...type, "transfer-encoding": "chunked" })).toBe(413);
    expect((await fetch(`${server.baseUrl}/api/v1/healthz`)).status).toBe(200);
  });

  test("web pages and foreign names are kept out", async () => {
    const ask = async (headers: Record<string, string>) => {
      const url = new URL(`${server.baseUrl}/api/v1/healthz`);
      return new Promise<number | undefined>((resolve, reject) => {
        httpRequest(url, { headers }, (response) => resolve(response.resume().statusCode))
          .on("error", reject)
          .end();
      });
    };
    expect(await ask({ "x-api-key": "tml-any" })).toBe(200);
    expect(await ask({ origin: "http://example.com" })).toBe(403);
    // Names that somebody pointed at this machine.
    for (const host of ["example.com", "127.0.0.1.example.com", "127.example.com:80"]) expect(await ask({ host })).toBe(421);
    expect(await ask({ host: "127.0.0.2:80" })).toBe(200);
  });

  test("an adapter wider than the model is refused by name, before anything is made", async () => {
    const refused = await failure(client.createModel({ baseModel: "tiny", rank: 4096 }));
    expect(refused.message).toMatch(/lora_config.rank.* 4096; expected at most \d+, the width/);
  });
});
