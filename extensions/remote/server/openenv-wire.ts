import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import type { Outcome } from "./hosted.ts";

/** Messages of OpenEnv 0.10, from the server's side. Source: openenv/core/env_server/{types,mcp_types,serialization}.py. */

const record = z.record(z.string(), z.unknown());

export const incomingSchema = z.discriminatedUnion("type", [
  door("a reset sent to us in OpenEnv", { type: z.literal("reset"), data: record.default({}) }),
  door("a step sent to us in OpenEnv", { type: z.literal("step"), data: record }),
  door("a question of state sent to us in OpenEnv", { type: z.literal("state") }),
  door("a message of MCP sent to us in OpenEnv", { type: z.literal("mcp"), data: record }),
  door("an end sent to us in OpenEnv", { type: z.literal("close") }),
]);
export type Incoming = z.output<typeof incomingSchema>;

export const resetSchema = door("what a reset in OpenEnv asks of us", {
  seed: z.int().min(0).nullish(),
  episode_id: z.string().max(255).nullish(),
  split: z.string().nullish(),
  index: z.int().min(0).nullish(),
});

export const actionSchema = z.discriminatedUnion("type", [
  door("a list of tools asked of us in OpenEnv", { type: z.literal("list_tools") }, { ignores: ["metadata"] }),
  door(
    "a call asked of us in OpenEnv",
    { type: z.literal("call_tool"), tool_name: z.string(), arguments: record.default({}) },
    { ignores: ["metadata"] },
  ),
]);

const rpcSchema = door("a request of MCP to us in OpenEnv", {
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  params: record.default({}),
  id: z.union([z.string(), z.number(), z.null()]).default(null),
});
/** `_meta` asks for reports of progress, of which there are none; the session is found by its id before. */
export const rpcCallSchema = door(
  "a call of MCP to us in OpenEnv",
  { name: z.string().min(1), arguments: record.default({}) },
  { ignores: ["_meta", "session_id"] },
);
export type Rpc = z.output<typeof rpcSchema>;

/** Reads a request of MCP, or returns its refusal. */
export function readRpc(value: unknown): { readonly rpc: Rpc } | { readonly refusal: object } {
  const parsed = rpcSchema.safeParse(value);
  return parsed.success ? { rpc: parsed.data } : { refusal: rpcError({ id: null }, "request", z.prettifyError(parsed.error)) };
}

const errorCodes = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  server: -32_000,
} as const;

export function rpcResult({ id }: Pick<Rpc, "id">, result: object): object {
  return { jsonrpc: "2.0", id, result };
}

export function rpcError({ id }: Pick<Rpc, "id">, code: keyof typeof errorCodes, message: string): object {
  return { jsonrpc: "2.0", id, error: { code: errorCodes[code], message, data: null } };
}

export function observation(
  fields: object,
  { reward = null, done = false }: { reward?: number | null; done?: boolean } = {},
): object {
  return { type: "observation", data: { observation: { metadata: {}, ...fields }, reward, done } };
}

export function failure(code: string, message: string, more: object = {}): object {
  return { type: "error", data: { message, code, ...more } };
}

/** A tool's result as FastMCP writes it. */
export function toolResult({ text, error }: Outcome): object {
  return {
    content: [{ type: "text", text, annotations: null, _meta: null }],
    structured_content: { result: text },
    meta: null,
    data: text,
    is_error: error === "error",
  };
}

const errorTypes = { "unknown-tool": "tool_not_found", invalid: "invalid_args", timeout: "timeout" } as const;

/** The observation of a tool call: its result, or why it did not reach the tool. */
export function callObservation(tool: string, outcome: Outcome): object {
  const { error, text, scores = {} } = outcome;
  const missing = error === undefined || error === "error" ? null : { error_type: errorTypes[error], message: text };
  const fields = {
    metadata: { ...scores },
    tool_name: tool,
    result: missing === null ? toolResult(outcome) : null,
    error: missing,
  };
  return observation(fields, { reward: outcome.reward ?? null, done: outcome.done });
}

const metadata = { type: "object", additionalProperties: true, default: {} };

/** The answer to `GET /schema`: actions are calls of tools. */
export const schemas = {
  action: {
    title: "CallToolAction",
    description: "Calls a tool of the environment.",
    type: "object",
    additionalProperties: false,
    properties: {
      metadata,
      type: { type: "string", const: "call_tool", default: "call_tool" },
      tool_name: { type: "string" },
      arguments: { type: "object", additionalProperties: true },
    },
    required: ["tool_name"],
  },
  observation: {
    title: "CallToolObservation",
    type: "object",
    properties: { done: { type: "boolean" }, reward: {}, metadata, tool_name: { type: "string" }, result: {}, error: {} },
    required: ["tool_name"],
  },
  reset_observation: {
    title: "TaskObservation",
    type: "object",
    properties: { done: { type: "boolean" }, reward: {}, metadata, prompt: { type: "string" } },
    required: ["prompt"],
  },
  state: { title: "State", type: "object", properties: { episode_id: { type: "string" }, step_count: { type: "integer" } } },
};

const ok = { responses: { 200: { description: "Successful Response" } } };

/** The answer to `GET /openapi.json`: the version of OpenEnv's HTTP interface, and its routes. `openenv validate` reads both. */
export function openapi(name: string): object {
  const get = ["health", "metadata", "schema", "state", "list_environments", `${name}/splits`];
  const post = ["reset", "step", "mcp", ...["tasks", "num_tasks", "task", "task_range"].map((route) => `${name}/${route}`)];
  const paths = [...get.map((path) => [`/${path}`, { get: ok }]), ...post.map((path) => [`/${path}`, { post: ok }])];
  return { openapi: "3.1.0", info: { title: name, version: "1.0.0" }, paths: Object.fromEntries(paths) };
}
