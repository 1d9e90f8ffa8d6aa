import { z } from "zod";
import { door } from "../../../src/core/door.ts";
import type { Message } from "../../../src/core/messages.ts";
import { RemoteEnvError } from "../shared/problem.ts";
import { recordedCall } from "../shared/tool.ts";

/** Episodes of verifiers as they stream: the parts of their traces that are read here. Source: verifiers/v1/serve/delta.py, graph.py. */

const textSchema = z
  .union([z.string(), z.null(), z.undefined(), z.array(z.looseObject({ text: z.string().optional() }))])
  .transform((content) => (typeof content === "string" ? content : (content ?? []).map(({ text }) => text ?? "").join("\n")));

/** A message, for the record: what the policy wrote was drawn here. */
const messageSchema = door(
  "a message of verifiers",
  {
    role: z.enum(["system", "user", "assistant", "tool"]),
    content: textSchema,
    reasoning_content: z.string().nullish(),
    tool_call_id: z.string().nullish(),
    name: z.string().nullish(),
    tool_calls: z
      .array(
        door(
          "a tool call of verifiers",
          { id: z.string(), name: z.string(), arguments: z.string() },
          { ignores: ["type", "namespace"] },
        ),
      )
      .nullish(),
  },
  { ignores: ["provider_state"] },
);

/** Beside their message nodes have tokens, which are here already, and numbers of other trainers. */
const nodeSchema = z.looseObject({ parent: z.int().nullish(), message: messageSchema });
const rewardSchema = door("a reward of verifiers", { score: z.number(), weight: z.number().default(1) });

const scalarsSchema = door(
  "what a trace of verifiers ends with",
  {
    rewards: z.record(z.string(), rewardSchema.nullable()).optional(),
    metrics: z.record(z.string(), z.number().nullable()).optional(),
    ok: z.boolean().optional(),
    stop_condition: z.string().nullish(),
  },
  {
    ignores: [
      ...["agent", "tools", "mm_token_type_id_map", "info", "root_reply", "is_completed", "is_timeout", "timing"],
      ...["num_input_tokens", "num_output_tokens", "num_total_tokens"],
    ],
  },
);

const errorSchema = z.looseObject({ type: z.string(), message: z.string() });

/** The version of traces that verifiers 0.4 writes. */
const headerSchema = z.looseObject({ version: z.literal(1), verifiers: z.looseObject({ version: z.string() }) });

/** Calls, their use and their rewriting are what this process was asked; links and routes are for other trainers; what is pending comes as a node. */
const deltaSchema = door(
  "news of a trace of verifiers",
  {
    trace: z.string(),
    open: headerSchema.optional(),
    discard: z.boolean().optional(),
    nodes: z.array(nodeSchema).optional(),
    errors: z.array(errorSchema).optional(),
    set: scalarsSchema.optional(),
  },
  {
    ignores: ["calls", "extra_usage", "request_rewrites", "response_rewrites", "links", "routing_repairs", "pending"],
  },
);

export const headSchema = z.looseObject({
  head: z.looseObject({ errors: z.array(errorSchema).default([]), env: z.looseObject({ id: z.string() }).optional() }).nullish(),
  traces: z.array(z.looseObject({ id: z.string(), nodes: z.int() })).default([]),
});

export interface Trace {
  readonly nodes: z.output<typeof nodeSchema>[];
  readonly errors: z.output<typeof errorSchema>[];
  scalars: z.output<typeof scalarsSchema>;
  /** The server's version. */
  verifiers?: string;
}

/** The traces of an episode, put together as they arrive. */
export class Assembly {
  readonly #traces = new Map<string, Trace>();

  /** @throws ZodError for a delta of another form, also where it is a newer version's */
  apply(value: unknown): void {
    const { trace: id, open, discard, nodes = [], errors = [], set = {} } = deltaSchema.parse(value);
    if (discard) return void this.#traces.delete(id);
    const trace = this.#traces.get(id) ?? { nodes: [], errors: [], scalars: {} };
    this.#traces.set(id, trace);
    trace.nodes.push(...nodes);
    trace.errors.push(...errors);
    trace.scalars = { ...trace.scalars, ...set };
    if (open !== undefined) trace.verifiers = open.verifiers.version;
  }

  /** @returns the traces in the server's order. @throws Error if one is missing or lacks nodes */
  finish({ traces }: z.output<typeof headSchema>): Trace[] {
    return traces.map(({ id, nodes }) => {
      const trace = this.#traces.get(id);
      if (trace?.nodes.length === nodes) return trace;
      throw new Error(`trace ${id} has ${trace?.nodes.length ?? 0} of ${nodes} messages`);
    });
  }
}

/** The sum of the weighted rewards. @returns undefined where there is none, or one was not computed: it would count as 0 */
export function rewardOf({ scalars: { rewards = {} } }: Trace): number | undefined {
  const computed = Object.values(rewards).filter((reward) => reward !== null);
  if (computed.length === 0 || computed.length < Object.keys(rewards).length) return undefined;
  return computed.reduce((sum, { score, weight }) => sum + score * weight, 0);
}

/** Rewards and metrics by their names. */
export function scoresOf({ scalars: { rewards = {}, metrics = {} } }: Trace): Record<string, number> {
  const all = [...Object.entries(rewards).map(([name, reward]) => [name, reward?.score] as const), ...Object.entries(metrics)];
  return Object.fromEntries(all.filter((entry): entry is [string, number] => typeof entry[1] === "number"));
}

/** The conversation that ends in the last node, root first. */
export function conversationOf({ nodes }: Trace): Message[] {
  const path: Message[] = [];
  for (let at = nodes.length - 1; at >= 0; ) {
    const { parent, message } = nodes[at] as Trace["nodes"][number];
    path.unshift(messageOf(message));
    // A node comes after the one that it answers. Otherwise this would go round for ever.
    if (parent != null && parent >= at)
      throw new RemoteEnvError("malformed", `parent of node ${at} of the trace`, parent, { expected: `an index below ${at}` });
    at = parent ?? -1;
  }
  return path;
}

function messageOf(given: z.output<typeof messageSchema>): Message {
  const { role, content, reasoning_content, tool_call_id, name, tool_calls } = given;
  if (role === "tool") return { role, name: name ?? "tool", content, ...(tool_call_id ? { callId: tool_call_id } : {}) };
  if (role !== "assistant") return { role, content };
  const calls = (tool_calls ?? []).map((call) => recordedCall(call.id, call.name, call.arguments));
  return {
    role,
    content,
    ...(reasoning_content ? { reasoning: reasoning_content } : {}),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
  };
}
