import { z } from "zod";
import { door, nearestIssue, optionsDoor } from "../../src/core/door.ts";
import { ConfigError, ToolError } from "../../src/core/errors.ts";
import { type JsonSchema, libraryOf, parametersAsJsonSchema, type Tool, type ToolContext } from "../../src/tools/tool.ts";

/** The parts that are used of a `tool()` of the AI SDK (the npm package `ai`, versions 5 to 7), which need not be installed. */
export interface AiSdkTool {
  readonly description?: string;
  /** A zod schema, or what `jsonSchema()` makes. */
  readonly inputSchema: unknown;
  // Its types are those of one tool, its caller has any: the schema stands between them.
  // biome-ignore lint/suspicious/noExplicitAny: parameters of a function are contravariant; every tool shall fit.
  readonly execute?: (input: any, options: any) => unknown;
  // biome-ignore lint/suspicious/noExplicitAny: as above
  readonly toModelOutput?: (result: any) => unknown;
  readonly needsApproval?: unknown;
}

export interface AiSdkOptions {
  /** The AI SDK's major version, of which tools with `toModelOutput` are. Default: that of the package `ai` that is installed in this folder. */
  readonly version?: 5 | 6 | 7;
}

const checkOptions = optionsDoor<AiSdkOptions>("fromAiSdk", { version: true });
const toolDoor = door(
  "a tool of the AI SDK",
  {
    // A function of the context in version 7, which is not there.
    description: z.string("a text").optional(),
    inputSchema: z.unknown(),
    ...{ execute: z.unknown().optional(), toModelOutput: z.unknown().optional(), needsApproval: z.unknown().optional() },
    type: z.enum(["function", "dynamic"], 'none, "function" or "dynamic": other tools run on a provider\'s servers').optional(),
  },
  {
    // What a user interface sees, and how a call is sampled.
    ignores: [
      ...["onInputStart", "onInputDelta", "onInputAvailable", "outputSchema", "providerOptions", "providerMetadata", "title"],
      ...["metadata", "strict"],
    ],
    neutral: { deferLoading: false, inputExamples: [] },
  },
);

/**
 * The tools of an agent of the AI SDK, as they are: names, descriptions, schemas, and what `toModelOutput` makes of a result. Of a tool
 * that yields, the last value counts. `messages` is empty in a call's options.
 * @throws ConfigError for a tool without `execute`, one that asks a person for approval or needs what is not there, and a schema that cannot be shown
 * @example
 * const weather = {
 *   description: "Weather of a city",
 *   inputSchema: z.object({ city: z.string() }),
 *   execute: async ({ city }: { city: string }) => `Sunny in ${city}`,
 * };
 * const tools = fromAiSdk({ weather });
 */
export function fromAiSdk(tools: Readonly<Record<string, AiSdkTool>>, options: AiSdkOptions = {}): Tool[] {
  checkOptions({ ...options });
  return Object.entries(tools).map(([name, tool]) => {
    const { description = "", execute, toModelOutput } = tool;
    requireUsable(name, tool);
    if (execute === undefined) {
      const hint = "Tools that run elsewhere cannot be called.";
      throw new ConfigError(`${name}.execute`, undefined, { expected: "a function", hint });
    }
    if (tool.needsApproval !== undefined && tool.needsApproval !== false) {
      const hint = "Nobody is there to approve in a rollout.";
      throw new ConfigError(`${name}.needsApproval`, "set", { expected: "false", hint });
    }
    const { parameters, validate } = schemaOf(name, tool.inputSchema);
    // Version 5 gives the function the result itself, later ones an object with it.
    const isOld = toModelOutput !== undefined && (options.version ?? installedMajor(name)) === 5;
    let calls = 0;
    return {
      name,
      description,
      parameters,
      execute: async (args, { signal }: ToolContext) => {
        const input = await validate(args);
        const toolCallId = `${name}-${calls++}`;
        const output = await lastOf(await execute(input, { toolCallId, messages: [], abortSignal: signal }));
        if (toModelOutput === undefined) return output;
        return shown(await toModelOutput(isOld ? output : { toolCallId, input, output }));
      },
    };
  });
}

function requireUsable(name: string, tool: object): void {
  const parsed = toolDoor.safeParse({ ...tool });
  if (parsed.success) return;
  const { path, message } = nearestIssue(parsed.error.issues);
  const value: unknown = Reflect.get(tool, path[0] ?? "");
  throw new ConfigError([name, ...path].join("."), typeof value === "function" ? "a function" : value, { expected: message });
}

const packageSchema = z.looseObject({ version: z.string() });

/** The major version of the AI SDK beside the program. @throws ConfigError without one, or one that is not known */
function installedMajor(name: string): number {
  const { createRequire } = globalThis.process?.getBuiltinModule?.("node:module") ?? {};
  let found: string | undefined;
  try {
    const from = createRequire?.(`${process.cwd()}/here.js`);
    found = packageSchema.parse(from?.("ai/package.json")).version;
  } catch {
    // It is named below.
  }
  const major = Number(found?.split(".")[0]);
  if (major >= 5 && major <= 7) return major;
  throw new ConfigError(`${name}.toModelOutput`, found === undefined ? "of an unknown version" : `of version ${found}`, {
    expected: "the package ai of version 5, 6 or 7 in this folder: what it is called with differs",
    hint: "Name the version that the tool is of: fromAiSdk(tools, { version: 6 }).",
  });
}

interface Parameters {
  readonly parameters: Tool["parameters"];
  validate(args: Record<string, unknown>): Promise<unknown>;
}

const jsonSchemaShape = z.looseObject({ type: z.literal("object") });
const validationShape = z.union([
  z.object({ success: z.literal(true), value: z.unknown() }),
  z.object({ success: z.literal(false), error: z.instanceof(Error) }),
]);

function schemaOf(name: string, given: unknown): Parameters {
  // lazySchema() gives a function.
  const schema = typeof given === "function" ? given() : given;
  if (schema instanceof z.ZodType) {
    parametersAsJsonSchema({ name, parameters: schema as z.ZodType<Record<string, unknown>> });
    return { parameters: schema as z.ZodType<Record<string, unknown>>, validate: async (args) => args };
  }
  const json = jsonSchemaShape.safeParse(Reflect.get(Object(schema), "jsonSchema"));
  if (!json.success) {
    const library = libraryOf(schema);
    throw new ConfigError(`${name}.inputSchema`, library === undefined ? typeof schema : `a schema of ${library}`, {
      expected: "a schema of zod 4, or of jsonSchema() with an object",
      hint: library === undefined ? "Schemas that are made asynchronously are not read." : undefined,
    });
  }
  const validate: unknown = Reflect.get(Object(schema), "validate");
  return {
    parameters: json.data satisfies JsonSchema,
    validate: async (args) => {
      if (typeof validate !== "function") return args;
      const result = validationShape.parse(await validate(args));
      if (result.success) return result.value;
      throw new ToolError(name, args, { expected: result.error.message });
    },
  };
}

async function lastOf(output: unknown): Promise<unknown> {
  if (typeof output !== "object" || output === null || !(Symbol.asyncIterator in output)) return output;
  let last: unknown;
  for await (const value of output as AsyncIterable<unknown>) last = value;
  return last;
}

const outputShape = z.discriminatedUnion("type", [
  z.object({ type: z.enum(["text", "error-text"]), value: z.string() }),
  z.object({ type: z.enum(["json", "error-json"]), value: z.unknown() }),
  z.object({ type: z.literal("execution-denied"), reason: z.string().optional() }),
  z.object({ type: z.literal("content"), value: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })) }),
]);

/** Returns what the model reads of the SDK's own form of a result. */
function shown(modelOutput: unknown): unknown {
  const output = outputShape.parse(modelOutput);
  switch (output.type) {
    case "text":
    case "json":
      return output.value;
    case "error-text":
      return `Error: ${output.value}`;
    case "error-json":
      return `Error: ${JSON.stringify(output.value)}`;
    case "execution-denied":
      return `Error: denied. ${output.reason ?? ""}`.trim();
    case "content":
      return output.value.map(({ type, text }) => text ?? `[${type}: not shown]`).join("\n");
  }
}
