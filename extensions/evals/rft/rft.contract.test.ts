import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { createScreen } from "../../../src/terminal/screen.ts";
import { evaluateAgent } from "../../agents/evaluate-agent.ts";
import { importCommand } from "../cli/import.ts";
import { grade, graderSchema } from "./graders.ts";
import { openAiRft } from "./job.ts";

const folder = mkdtempSync(join(tmpdir(), "retrograde-rft-"));
/** A server of chat completions: a model that answers the last word, and a judge that likes "14:30". */
const server = createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const { model, messages } = z
      .object({ model: z.string(), messages: z.array(z.object({ content: z.string() })) })
      .parse(JSON.parse(body));
    const last = messages[messages.length - 1].content;
    const content =
      model === "rambling"
        ? "I would say 4 of 5."
        : model === "judge"
          ? JSON.stringify({ result: last.includes("14:30") ? 9 : -5 })
          : (last.split(" ").at(-1) ?? "");
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ choices: [{ message: { content } }] }));
  });
});
let baseUrl = "";
beforeAll(async () => {
  await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true });
});

const seen = {
  sample: { output_text: "Friday 14:30", output_json: { at: [1, 2] } },
  item: { answer: "14:30", kinds: ["a", { b: 3 }] },
};
const check = (operation: string, input = "{{sample.output_text}}", reference = "{{ item.answer }}") =>
  graderSchema.parse({ type: "string_check", name: "check", input, reference, operation });

test("score_model asks a server for a number, which stays in its range", async () => {
  const input = [{ role: "user", content: "Grade: {{sample.output_text}}" }];
  const grader = graderSchema.parse({ type: "score_model", model: "judge", input, range: [0, 5] });
  expect(await grade(grader, seen, { endpoint: { baseUrl } })).toEqual({ reward: 5 });
  const wrong = { ...seen, sample: { output_text: "no" } };
  expect(await grade(grader, wrong, { endpoint: { baseUrl } })).toEqual({ reward: 0 });
  await expect(grade(grader, seen, { endpoint: { baseUrl }, model: "rambling" })).rejects.toThrow(
    /the score model rambling is "I would say 4 of 5\."; expected \{"result": a number\}\. It ended with "stop"/,
  );
});

test("python runs in the sandbox; what it throws or returns besides a number is named", async () => {
  const python = (source: string) => graderSchema.parse({ type: "python", source });
  const source = 'def grade(sample, item):\n    print("noise")\n    return 0.5 * (item["answer"] in sample["output_text"])';
  expect(await grade(python(source), seen)).toEqual({ reward: 0.5 });
  await expect(grade(python("def grade(sample, item):\n    return item['gone']"), seen)).rejects.toThrow(/KeyError.*gone/s);
  await expect(grade(python("def grade(sample, item):\n    return float('nan')"), seen)).rejects.toThrow("finite number");
});

const job = join(folder, "job.json");
const data = join(folder, "train.jsonl");
const rows = ["14:30", "16:00"].map((answer) => ({ messages: [{ role: "user", content: `Say ${answer}` }], answer }));

test("a job is measured, and trained, as any agent: its rows are tasks, its grader the reward", async () => {
  const hyperparameters = {
    n_epochs: 3,
    batch_size: 2,
    eval_samples: 4,
    learning_rate_multiplier: 2,
    reasoning_effort: "low",
    eval_interval: "auto",
  };
  writeFileSync(
    job,
    JSON.stringify({
      model: "o4-mini",
      method: { type: "reinforcement", reinforcement: { grader: check("eq"), hyperparameters } },
    }),
  );
  writeFileSync(data, rows.map((row) => JSON.stringify(row)).join("\n"));
  const { reward } = await evaluateAgent({ ...openAiRft(job, data), endpoint: { baseUrl, apiKey: "none" } });
  expect(reward.mean).toBe(1);

  const text = { out: "" };
  const out = join(folder, "train.ts");
  await importCommand(
    "openai-rft",
    [job, data],
    { model: "m", out },
    createScreen({ write: (part: string) => (text.out += part) }),
  );
  expect(readFileSync(out, "utf8")).toContain('steps: 3,\n  rollout: {"tasksPerStep":2},\n  evaluation: {"k":4},');
  expect(text.out).toMatch(/2 tasks.*Not taken over: learning_rate_multiplier 2\nNot taken over: reasoning_effort "low"\nWrote/s);
  await expect(
    importCommand("openai-rft", [job, data], { model: "m", out }, createScreen({ write: () => true })),
  ).rejects.toThrow("does not exist");
});
