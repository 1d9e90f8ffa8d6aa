import { readFileSync } from "node:fs";
import { z } from "zod";
import { door, nearestIssue, optionsDoor } from "../../../src/core/door.ts";
import { ConfigError } from "../../../src/core/errors.ts";
import { jsonOf } from "../../../src/core/json.ts";
import { requireFile } from "../../../src/files/bounded.ts";
import { answerTo, type Evals, textOf } from "../evals.ts";
import { type GraderSettings, grade, graderSchema } from "./graders.ts";

const jobSchema = door(
  "a job of OpenAI's",
  {
    method: door("the method of a job", {
      type: z.literal("reinforcement"),
      reinforcement: door("reinforcement fine-tuning", {
        grader: graderSchema,
        response_format: z.unknown().optional(),
        hyperparameters: z.record(z.string(), z.unknown()).optional(),
      }),
    }),
  },
  { ignores: ["model", "training_file", "validation_file", "suffix", "seed", "metadata", "integrations"] },
);
/** The grader reads fields of any name; those by which a request is made are the model's. */
const rowSchema = z.looseObject({
  messages: z.array(z.looseObject({ role: z.string(), content: z.string() })).min(1),
  tools: z.array(z.unknown()).optional(),
  ...Object.fromEntries(
    ["functions", "function_call", "tool_choice", "response_format", "parallel_tool_calls"].map((field) => [
      field,
      z.null(`none: ${field} of a row is not asked with here`).optional(),
    ]),
  ),
});

/** A row of the data: messages, and the fields that the grader reads. */
export interface RftTask {
  readonly prompt: string;
  readonly item: z.output<typeof rowSchema>;
}

/** Reads the part of a job that says what is trained. @throws ConfigError naming what cannot be used */
export function readJob(job: string): z.output<typeof jobSchema>["method"]["reinforcement"] {
  return read(job, text(job), jobSchema).method.reinforcement;
}

const checkSettings = optionsDoor<GraderSettings>("openAiRft", { endpoint: true, model: true });

const largestFile = 256 * 2 ** 20;

/**
 * Reads a job of OpenAI's reinforcement fine-tuning: its rows as tasks, one answer to their messages as the agent, its grader as the reward.
 * @param job the file of the request that made the job
 * @param data the file of training rows, as JSON lines
 * @throws ConfigError naming what cannot be used
 * @example
 * await trainAgent({ ...openAiRft("job.json", "train.jsonl"), model: "Qwen/Qwen3-0.6B" });
 */
export function openAiRft(job: string, data: string, settings: GraderSettings = {}): Evals<RftTask> {
  checkSettings({ ...settings });
  const { grader, response_format } = readJob(job);
  const rows = text(data)
    .split("\n")
    .flatMap((line, i) => (line.trim() === "" ? [] : [read(`${data}:${i + 1}`, line, rowSchema)]));
  return {
    tasks: rows.map((item) => ({ prompt: item.messages.findLast(({ role }) => role === "user")?.content ?? "", item })),
    agent: async (_, model) => {
      const { messages, tools } = model.task.item;
      const form = response_format === undefined ? {} : { response_format };
      const { content, calls } = await answerTo(messages, model, { ...form, ...(tools === undefined ? {} : { tools }) });
      return {
        text: content,
        calls: calls.map(({ name, arguments: args }) => ({ type: "function", function: { name, arguments: args } })),
      };
    },
    reward: async ({ task, answer }) => {
      const output = textOf(answer);
      const { calls } = answer as { readonly calls?: readonly unknown[] };
      const json = jsonOf(output);
      const sample = {
        output_text: output,
        ...(json === undefined ? {} : { output_json: json }),
        ...(calls === undefined ? {} : { output_tools: calls }),
      };
      const { reward, scores } = await grade(grader, { sample, item: task.item }, settings);
      return { reward, ...(scores === undefined ? {} : { scores }) };
    },
  };
}

function text(file: string): string {
  requireFile(file, largestFile);
  return readFileSync(file, "utf8");
}

function read<T>(where: string, json: string, schema: z.ZodType<T>): T {
  const parsed = schema.safeParse(jsonOf(json));
  if (parsed.success) return parsed.data;
  const { path, message } = nearestIssue(parsed.error.issues);
  throw new ConfigError(`${where}: ${path.join(".") || "JSON"}`, message, { expected: "a job or a row of OpenAI's" });
}
