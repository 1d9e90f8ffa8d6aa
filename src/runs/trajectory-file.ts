import { gzipSync } from "node:zlib";
import { z } from "zod";
import { Context, commonPrefix } from "../core/context.ts";
import { callFields } from "../core/message-doors.ts";
import type { Message } from "../core/messages.ts";
import { stopReasons, type Trajectory, type Turn, toolFailureKinds } from "../core/trajectory.ts";
import { gunzipBounded } from "../files/bounded.ts";
import { requireKnownVersion, schemaVersion } from "./schema.ts";
import { unsealed } from "./seal.ts";

const ids = z.array(z.int().min(0));

/** A context is the first `shared` ids of the previous context and action together, then `context`: each id is stored once. */
const storedTurnSchema = z.object({
  role: z.string().optional(),
  shared: z.int().min(0),
  context: ids,
  action: ids,
  samplerLogprobs: z.array(z.number()),
  masked: z.array(z.int().min(0)).optional(),
  entropies: z.array(z.number()),
  weightVersion: z.int(),
  truncated: z.boolean(),
  rewritten: z.boolean(),
  invalidToolCalls: z.int(),
  toolCalls: z.int(),
  usage: z.object({ promptTokens: z.number(), completionTokens: z.number() }).optional(),
  reward: z.number().optional(),
  toolFailures: z.array(z.object({ tool: z.string(), kind: z.enum(toolFailureKinds), lost: z.string().optional() })).optional(),
  branching: z.object({ entropy: z.number(), rise: z.number(), branch: z.boolean(), forks: z.int() }).optional(),
});

const messageSchema: z.ZodType<Message> = z.discriminatedUnion("role", [
  z.object({ role: z.literal("system"), content: z.string() }),
  z.object({ role: z.literal("user"), content: z.string() }),
  z.object({
    role: z.literal("assistant"),
    content: z.string(),
    reasoning: z.string().optional(),
    toolCalls: z.array(z.object(callFields)).optional(),
  }),
  z.object({ role: z.literal("tool"), name: z.string(), callId: z.string().optional(), content: z.string() }),
]);

const storedTrajectorySchema = z.object({
  id: z.string(),
  group: z.string(),
  task: z.string(),
  kind: z.string().optional(),
  scenario: z.string().optional(),
  reward: z.number(),
  scores: z.record(z.string(), z.number()),
  behaviours: z.record(z.string(), z.object({ done: z.int(), called: z.int() })).optional(),
  stopReason: z.enum(stopReasons),
  branch: z
    .object({ from: z.string(), turn: z.int(), kept: z.int().optional(), by: z.enum(["clone", "replay"]).optional() })
    .optional(),
  error: z.string().optional(),
  answer: z.union([z.object({ left: z.string() }), z.object({ value: z.unknown().optional() })]).optional(),
  messages: z.array(messageSchema),
  turns: z.array(storedTurnSchema),
});

/** A file of trajectories, and where in its text each of them is. */
export interface EncodedTrajectories {
  readonly bytes: Uint8Array;
  /** The offset of each line in the uncompressed text, in bytes; the last one is the text's length. */
  readonly offsets: readonly number[];
}

/** One JSON line a trajectory, compressed. */
export function encodeTrajectories(trajectories: readonly Trajectory[]): EncodedTrajectories {
  const lines = trajectories.map((trajectory) => Buffer.from(`${encodeTrajectory(trajectory)}\n`));
  const offsets = [0];
  for (const line of lines) offsets.push((offsets.at(-1) ?? 0) + line.length);
  return { bytes: gzipSync(Buffer.concat(lines)), offsets };
}

/** Returns one line of a file of trajectories. */
export function encodeTrajectory(trajectory: Trajectory): string {
  return JSON.stringify({ schema: schemaVersion, ...stored(trajectory) });
}

/** Returns what `encodeTrajectories` wrote, id for id. */
export function decodeTrajectories(bytes: Uint8Array): Trajectory[] {
  const lines = gunzipBounded(bytes).toString("utf8").split("\n").slice(0, -1);
  return lines.map(decodeTrajectory);
}

/** Reads one line of a file of trajectories. */
export function decodeTrajectory(line: string): Trajectory {
  const content = unsealed(line);
  requireKnownVersion("a trajectory", content);
  return restored(storedTrajectorySchema.parse(content));
}

function stored({ turns, ...trajectory }: Trajectory): object {
  let previous: Context | undefined;
  const storedTurns = turns.map(({ trajectory: _, turn: __, context, ...turn }) => {
    const shared = previous === undefined ? 0 : commonPrefix(previous, context);
    previous = Context.from(context).extend(turn.action);
    return { shared, context: context.slice(shared), ...turn };
  });
  return { ...trajectory, turns: storedTurns };
}

function restored({ turns, ...trajectory }: z.output<typeof storedTrajectorySchema>): Trajectory {
  let previous: Context | undefined;
  const restoredTurns = turns.map(({ shared, context: added, ...turn }, index): Turn => {
    const known = previous?.prefix(shared);
    const context = known === undefined ? Context.of(added) : known.extend(added);
    previous = context.extend(turn.action);
    return { trajectory: trajectory.id, turn: index, context, ...turn };
  });
  return { ...trajectory, turns: restoredTurns };
}
