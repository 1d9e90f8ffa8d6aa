import { z } from "zod";
import { isRecord } from "../../src/core/record.ts";
import { classes } from "./documents.ts";
import { type Evaluator, RequestError } from "./evaluator/evaluator.ts";
import type { JsonRecord } from "./records.ts";

/**
 * Executes the call sequence of a record, in a fresh session.
 * @param record `involved_classes`, `initial_config`, `turns` of `{calls}`; `task_id` or `id` names the instances; `long_context` as said,
 *   or as the id says
 * @returns the record as one line of JSON, with the results of each turn and the final state
 * @throws EnvError naming line and field
 */
export async function replayRecord(evaluator: Evaluator, record: JsonRecord): Promise<string> {
  record.optionalText("id") ?? record.text("task_id");
  record.optionalText("task_id");
  for (const name of record.texts("involved_classes"))
    if (!classes.includes(name)) throw record.wrong("involved_classes", name, `names among ${classes.join(", ")}`);
  checkStates(record);
  const longContext = record.value.long_context;
  if (longContext !== undefined && typeof longContext !== "boolean")
    throw record.wrong("long_context", longContext, "true or false");
  const turns = record.list("turns").map((turn, i) => callsOf(record, turn, i));
  try {
    return z.string().parse(await evaluator.execute({ op: "replay", record: record.line, turns }));
  } catch (error) {
    if (!(error instanceof RequestError) || !error.message.startsWith("StateError: ")) throw error;
    const why = error.message.slice("StateError: ".length);
    throw record.wrong(
      "initial_config",
      record.value.initial_config,
      "states that the classes can begin with",
      `Python's own error is: ${why}`,
    );
  }
}

function checkStates(record: JsonRecord): void {
  if (!Object.hasOwn(record.value, "initial_config")) return;
  for (const [name, state] of Object.entries(record.object("initial_config")))
    if (!isRecord(state)) throw record.wrong(`initial_config.${name}`, state, "an object");
}

/** Turns are `{calls}`, or lists of calls as in the published answers. */
function callsOf(record: JsonRecord, turn: unknown, index: number): readonly string[] {
  const calls: unknown = isRecord(turn) ? turn.calls : turn;
  if (!Array.isArray(calls)) throw record.wrong(`turns[${index}].calls`, calls, "a list of texts, one for each call");
  return calls.map((call: unknown, i) => {
    if (typeof call !== "string") throw record.wrong(`turns[${index}].calls[${i}]`, call, 'a text such as "ls(a=True)"');
    return call;
  });
}
