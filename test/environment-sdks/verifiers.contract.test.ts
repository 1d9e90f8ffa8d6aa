import { once } from "node:events";
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { loadTokenizer } from "../../src/chat/tokenizer-folder.ts";
import { rollout } from "../../src/rollouts/rollout.ts";
import { openModel } from "../../src/sdk/model.ts";
import { resolveConfig } from "../../src/training/config/config.ts";
import { linesOf } from "./lines.ts";
import { publishedAnswers, publishedRollouts, startServers } from "./nemo-replay.ts";
import { launch, opened, pythonOf, saying, script, serve, share, withPackage } from "./packages.ts";
import { played } from "./played.ts";

withPackage(
  "verifiers",
  "verifiers 0.4: its environment server samples the bundled model here, and what it saw is the trajectory",
  async () => {
    const tasks = join(mkdtempSync(join(tmpdir(), "verifiers-")), "tasks.jsonl");
    const port = await serve("verifiers", (at) => [script("verifiers_world.py"), `tcp://127.0.0.1:${at}`, tasks]);
    const model = fileURLToPath(new URL("../../models/office", import.meta.url));
    const { engine, chat } = await openModel(model, resolveConfig({}).engine, {
      use: { training: false, length: 512, concurrency: 4 },
      seed: 1,
    });
    const environment = await opened(`verifiers:tcp://127.0.0.1:${port}`, {
      ...{ tasks: { test: tasks }, tokenizer: model, renderer: "default", rolloutTimeoutMs: 200_000 },
    });
    const options = { id: "r/0", group: "r", seed: 1, maxTurns: 4, maxTokens: 20, episodeTimeoutMs: 60_000 };
    const trajectory = await rollout(engine, chat, environment, await environment.task("test", 0), options);
    await engine.dispose();
    expect(trajectory).toMatchObject({ stopReason: expect.stringMatching(/done|max-tokens/), task: "test/0" });
    expect(trajectory.error).toBeUndefined();
    const [turn] = trajectory.turns;
    expect(chat.tokenizer.decode(turn.context.slice())).toContain("Write the letter a.");
    expect(turn.samplerLogprobs).toHaveLength(turn.action.length);
    const answer = trajectory.messages.at(-1)?.content ?? "";
    expect(trajectory.scores.length).toBe(answer.length);
    expect(trajectory.reward).toBeCloseTo((2 * answer.split("a").length - 2) / Math.max(1, answer.length), 6);
  },
);

interface Saved {
  readonly traces: readonly {
    readonly task: { readonly data: object };
    readonly nodes: readonly { readonly message: { readonly role: string; readonly content: string } }[];
    readonly rewards: Readonly<Record<string, { readonly score: number; readonly weight: number }>>;
  }[];
}

/** A model behind OpenAI's Chat Completions that gives the answer of the first question that it finds in a request. */
async function answering(answers: ReadonlyMap<string, string>): Promise<{ readonly url: string; close(): void }> {
  const server = createServer(async (request, response) => {
    let asked = "";
    for await (const part of request) asked += part;
    const [, content] = [...answers].find(([question]) => asked.includes(JSON.stringify(question).slice(1, -1))) ?? [];
    const choice = { index: 0, delta: { role: "assistant", content }, finish_reason: "stop" };
    const chunk = { id: "1", object: "chat.completion.chunk", created: 0, model: "golden", choices: [choice] };
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, close: () => server.close() };
}

withPackage(
  ["verifiers", "nemo-gym"],
  "verifiers 0.4: what its vf-eval saved of its taskset nemo_gym, answered as published, scores the same when it is played here",
  async () => {
    const [mcqa] = await publishedRollouts(["mcqa"]);
    const folder = mkdtempSync(join(tmpdir(), "verifiers-"));
    const answers = publishedAnswers(mcqa);
    for await (const server of startServers([mcqa])) {
      const url = `http://127.0.0.1:${"port" in server ? server.port : 0}`;
      const taskset = { id: "nemo_gym", dataset: mcqa.rows, task: { resources_url: url } };
      const model = await answering(new Map([...answers].map(([question, { text }]) => [question, text])));
      const config = {
        ...{ model: "golden", push: false, rich: null, output_dir: folder, run: { dir: "run" } },
        ...{ select: { limit: share(1, answers.size) }, client: { base_url: model.url, api_key_var: "HOME" } },
        env: { taskset, agent: { harness: { id: "null" }, runtime: { type: "subprocess" } } },
      };
      writeFileSync(join(folder, "eval.json"), JSON.stringify(config));
      const evaluation = launch("verifiers", [join(dirname(pythonOf("verifiers")), "vf-eval"), "@", join(folder, "eval.json")]);
      evaluation.stdout?.resume();
      evaluation.stderr?.resume();
      expect(await once(evaluation, "exit")).toEqual([0, null]);
      model.close();
      const traces = linesOf<Saved>(join(folder, "run/traces.jsonl")).map((saved) => saved.traces[0]);
      const tasks = join(folder, "tasks.jsonl");
      writeFileSync(tasks, traces.map(({ task }) => JSON.stringify(task.data)).join("\n"));

      const office = fileURLToPath(new URL("../../models/office", import.meta.url));
      const tokenizer = loadTokenizer(office);
      const address = await serve("verifiers", (at) => [
        script("verifiers_world.py"),
        ...[`tcp://127.0.0.1:${at}`, join(folder, "all.jsonl"), JSON.stringify(taskset)],
      ]);
      const environment = await opened(`verifiers:tcp://127.0.0.1:${address}`, {
        ...{ tasks: { test: tasks }, tokenizer: office, renderer: "default", rolloutTimeoutMs: 200_000 },
      });
      for (const [i, { nodes, rewards }] of traces.entries()) {
        const answer = nodes.find(({ message }) => message.role === "assistant")?.message.content ?? "";
        const { score } = (await environment.play?.(await environment.task("test", i), saying(tokenizer, answer))) ?? {};
        const question = [...answers.keys()].find((text) => JSON.stringify(nodes).includes(JSON.stringify(text).slice(1, -1)));
        expect(rewards.nemo_gym.score).toBe(answers.get(question ?? "")?.reward);
        expect(score?.reward).toBe(rewards.nemo_gym.score * rewards.nemo_gym.weight);
      }
      played({
        ...{ wire: "verifiers", package: "verifiers 0.4.0, nemo-gym 0.4.0", episodes: traces.length },
        what: "its taskset `nemo_gym` with `mcqa`: traces that `vf-eval` saved of the published answers",
        result: "the published rewards, saved and played again",
        refused: "verifiersClient",
      });
    }
  },
);
