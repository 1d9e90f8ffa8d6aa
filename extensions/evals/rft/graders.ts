import { z } from "zod";
import { complete, type EndpointSettings } from "../../../src/completions/client.ts";
import { door } from "../../../src/core/door.ts";
import { EnvError } from "../../../src/core/errors.ts";
import { jsonOf } from "../../../src/core/json.ts";
import { createPython, type Python } from "../../tools/python/python.ts";
import { calculate } from "./formula.ts";
import { similarities } from "./similarity.ts";
import { render, type Seen } from "./template.ts";

const text = z.string();
/** A threshold says which answers pass, and is no part of the reward. */
const named = { ignores: ["name", "pass_threshold"] };
const stringCheck = door(
  "a grader by equality",
  { type: z.literal("string_check"), input: text, reference: text, operation: z.enum(["eq", "ne", "like", "ilike"]) },
  named,
);
const textSimilarity = door(
  "a grader by similarity",
  {
    ...{ type: z.literal("text_similarity"), input: text, reference: text },
    evaluation_metric: z.enum(Object.keys(similarities), {
      error: `one of ${Object.keys(similarities).join(", ")}; meteor needs WordNet, and cosine an embedding model: neither is here`,
    }),
  },
  named,
);
const scoreModel = door(
  "a grader by a model",
  {
    ...{ type: z.literal("score_model"), model: text },
    input: z.array(door("a message of a grader", { role: text, content: text }, { neutral: { type: "message" } })),
    range: z.tuple([z.number(), z.number()]).default([0, 1]),
    sampling_params: z.record(z.string(), z.unknown()).default({}),
  },
  named,
);
const python = door(
  "a grader in Python",
  { type: z.literal("python"), source: text },
  { ignores: [...named.ignores, "image_tag"] },
);
const single = z.discriminatedUnion("type", [stringCheck, textSimilarity, scoreModel, python]);
const multi = door(
  "a grader of several",
  {
    ...{ type: z.literal("multi"), calculate_output: text },
    graders: z.union([
      z.record(z.string(), single),
      z
        .array(z.intersection(single, z.looseObject({ name: text })))
        .transform((list) => Object.fromEntries(list.map((each) => [each.name, each]))),
    ]),
  },
  named,
);

/** A grader of OpenAI's reinforcement fine-tuning. Source: platform.openai.com/docs/guides/graders, as of November 2026. */
export const graderSchema = z.discriminatedUnion("type", [...single.options, multi]);
export type Grader = z.output<typeof graderSchema>;

/** The things that graders run with. */
export interface GraderSettings {
  /** The server of score models. Default: OpenAI's, with the key in OPENAI_API_KEY. */
  readonly endpoint?: EndpointSettings;
  /** A model there, instead of the grader's own. */
  readonly model?: string;
}

export interface Grade {
  readonly reward: number;
  /** The parts of a multi-grader by their names. */
  readonly scores?: Readonly<Record<string, number>>;
}

let interpreter: Python | undefined;

/** Grades an answer. @throws ConfigError for a template or formula that does not fit; EnvError for a grader that gives no number */
export async function grade(grader: Grader, seen: Seen, settings: GraderSettings = {}): Promise<Grade> {
  switch (grader.type) {
    case "multi": {
      const graded = await Promise.all(
        Object.entries(grader.graders).map(async ([name, each]) => [name, (await grade(each, seen, settings)).reward] as const),
      );
      const scores = Object.fromEntries(graded);
      return { reward: calculate(grader.calculate_output, scores), scores };
    }
    case "string_check":
      return { reward: Number(holds(grader.operation, render(grader.input, seen), render(grader.reference, seen))) };
    case "text_similarity":
      return {
        reward: similarities[grader.evaluation_metric]?.(render(grader.input, seen), render(grader.reference, seen)) ?? 0,
      };
    case "score_model":
      return { reward: await scoreOf(grader, seen, settings) };
    case "python":
      return { reward: await pythonGrade(grader.source, seen) };
  }
}

function holds(operation: z.output<typeof stringCheck>["operation"], input: string, reference: string): boolean {
  switch (operation) {
    case "eq":
      return input === reference;
    case "ne":
      return input !== reference;
    case "like":
      return input.includes(reference);
    case "ilike":
      return input.toLowerCase().includes(reference.toLowerCase());
  }
}

const resultSchema = z.object({ result: z.number() });

async function scoreOf(grader: z.output<typeof scoreModel>, seen: Seen, settings: GraderSettings): Promise<number> {
  const { endpoint = { baseUrl: "https://api.openai.com/v1", apiKey: process.env.OPENAI_API_KEY }, model = grader.model } =
    settings;
  const [low, high] = grader.range;
  const schema = {
    type: "object",
    properties: { result: { type: "number", description: `The score, from ${low} to ${high}.` } },
    ...{ required: ["result"], additionalProperties: false },
  };
  const answer = await complete(endpoint, {
    ...{ ...grader.sampling_params, model },
    messages: grader.input.map(({ role, content }) => ({ role, content: render(content, seen) })),
    response_format: { type: "json_schema", json_schema: { name: "score", strict: true, schema } },
  });
  const graded = resultSchema.safeParse(jsonOf(answer.content));
  if (graded.success) return Math.min(high, Math.max(low, graded.data.result));
  throw new EnvError(`the answer of the score model ${model}`, answer.content.slice(0, 200), {
    expected: '{"result": a number}',
    hint: `It ended with "${answer.finish}". Its server may not hold it to a JSON schema: name another as settings.endpoint.`,
  });
}

/** Runs `grade(sample, item)` in the sandbox of the tool "python". */
async function pythonGrade(source: string, seen: Seen): Promise<number> {
  interpreter ??= createPython({ timeoutMs: 120_000 });
  const seenText = JSON.stringify(JSON.stringify([seen.sample, seen.item]));
  // A traceback quotes the line that fails: the data are not in it.
  const lines = [source, "import json as _json", `_seen = _json.loads(${seenText})`, 'print("\\n" + str(float(grade(*_seen))))'];
  const { output, error } = await interpreter.run(lines.join("\n"));
  const value = Number(output.trimEnd().split("\n").at(-1));
  if (error === undefined && Number.isFinite(value)) return value;
  throw new EnvError("the python grader", (error ?? output).trimEnd().split("\n").at(-1), {
    expected: "grade(sample, item) to return a finite number",
  });
}
