import { z } from "zod";
import { optionsDoor } from "../core/door.ts";
import { ConfigError } from "../core/errors.ts";
import { beyondBounds } from "./schema-bounds.ts";

/** Something that a model can call. `Arguments` is what the schema gives after validation. */
export interface Tool<Arguments = Record<string, unknown>> {
  readonly name: string;
  readonly description: string;
  /** A zod schema validates the arguments; a JSON schema (as MCP servers give it) is shown to the model as it is. */
  readonly parameters: z.ZodType<Arguments> | JsonSchema;
  /** A returned string is shown as it is, anything else as JSON. What it throws is shown to the model as an error. */
  execute(args: Arguments, context: ToolContext): unknown;
  /** Milliseconds; 10,000 if left out. */
  readonly timeoutMs?: number;
  /** Characters of a result that the model reads, what is beyond is cut with a notice; 20,000 if left out, as ARPO's page reader. */
  readonly maxOutput?: number;
  /** True if a call that failed may be made again with no other effect than one call has. */
  readonly idempotent?: boolean;
  /**
   * True if the same calls in the same order give the same answers in a fresh episode of the same seed, and change nothing outside of it.
   * Rollouts may then be forked by calling again, where the environment cannot copy its episodes.
   */
  readonly replayable?: boolean;
}

export type JsonSchema = { readonly type: "object"; readonly [key: string]: unknown };

export interface ToolContext {
  readonly signal: AbortSignal;
}

/**
 * Types a tool's arguments by its schema, and forgets the type again so that tools of any kind fit one list.
 * @example
 * const add = defineTool({
 *   name: "add",
 *   description: "Adds two numbers.",
 *   parameters: z.object({ a: z.number(), b: z.number() }),
 *   execute: ({ a, b }) => a + b,
 * });
 * @throws ConfigError for a property that tools do not have, the schema of another library, or without a function to execute
 */
export function defineTool<Schema extends z.ZodType<Record<string, unknown>>>(
  tool: Omit<Tool<z.infer<Schema>>, "parameters"> & { readonly parameters: Schema },
): Tool {
  checkTool({ ...tool });
  if (!(tool.parameters instanceof z.ZodType)) requireJsonSchema(tool);
  if (typeof tool.execute !== "function")
    throw new ConfigError(`${tool.name}.execute`, tool.execute, { expected: "a function of the arguments" });
  return tool;
}

const checkTool = optionsDoor<Tool>("defineTool", {
  ...{ name: true, description: true, parameters: true, execute: true, timeoutMs: true, maxOutput: true },
  ...{ idempotent: true, replayable: true },
});

/**
 * Refuses the schema of another library, such as zod 3: it would be shown to the model by its insides, and check nothing. A JSON schema has bounds.
 * @throws ConfigError naming the tool, and the library or the bound
 */
export function requireJsonSchema({ name, parameters }: { readonly name: string; readonly parameters: unknown }): JsonSchema {
  const library = libraryOf(parameters);
  const isObject = typeof parameters === "object" && parameters !== null;
  const beyond = isObject && library === undefined ? beyondBounds(parameters) : undefined;
  if (beyond !== undefined) {
    throw new ConfigError(`${name}.parameters`, `a schema ${beyond}`, {
      expected: "a smaller schema",
      hint: "Move what is nested into a text with JSON, or leave the tool out.",
    });
  }
  if (isObject && library === undefined && !("parse" in parameters)) return parameters as JsonSchema;
  throw new ConfigError(`${name}.parameters`, library === undefined ? parameters : `a schema of ${library}`, {
    expected: 'a schema of zod 4, or a JSON schema with type "object"',
    hint: library?.startsWith("zod")
      ? "Install zod 4 (npm install zod@4), or import it from zod/v4, where zod 3.25 has it."
      : "Convert it to a JSON schema: most libraries have a function for that.",
  });
}

/** Returns the library whose schema a value is, other than zod 4. undefined for other values. */
export function libraryOf(schema: unknown): string | undefined {
  if (typeof schema !== "object" || schema === null) return undefined;
  const standard = "~standard" in schema ? (schema["~standard"] as { readonly vendor?: unknown }) : undefined;
  const vendor = standard === undefined ? undefined : String(standard.vendor);
  // zod 3 has no vendor before 3.24, and the one of zod 4 since then.
  return "_def" in schema && (vendor ?? "zod") === "zod" ? "zod 3" : vendor;
}

/**
 * The JSON schema that a chat template shows to the model.
 * @throws ConfigError for a zod schema that no JSON fits, such as one with `z.date()`
 */
export function parametersAsJsonSchema(tool: Pick<Tool, "name" | "parameters">): JsonSchema {
  const { name, parameters } = tool;
  if (!(parameters instanceof z.ZodType)) return requireJsonSchema(tool);
  try {
    const { $schema: _, ...schema } = z.toJSONSchema(parameters, { io: "input" });
    return schema as JsonSchema;
  } catch (cause) {
    const hint = cause instanceof Error ? `${cause.message}.` : undefined;
    throw new ConfigError(`${name}.parameters`, "a zod schema", {
      expected: "one that JSON can meet, since models write JSON: z.iso.date() instead of z.date(), for instance",
      hint,
      cause,
    });
  }
}
