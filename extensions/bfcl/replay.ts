import { jsonText } from "../python/text.ts";
import { Dict, type Value } from "../python/values.ts";
import { backends } from "./backends/backends.ts";
import type { JsonRecord } from "./records.ts";
import { Session } from "./session.ts";
import { stateText } from "./state-text.ts";

/**
 * Executes the call sequence of a record, in a fresh session.
 * @param record `involved_classes`, `initial_config`, `turns` of `{calls}`; `task_id` or `id` names the instances; `long_context` as said,
 *   or as the id says
 * @returns the record as one line of JSON, with the results of each turn, the final state and the private state
 * @throws EnvError naming line and field
 */
export function replayRecord(record: JsonRecord): string {
  const id = record.optionalText("id") ?? record.text("task_id");
  const taskId = record.optionalText("task_id") ?? id;
  const involvedClasses = record.texts("involved_classes");
  for (const name of involvedClasses)
    if (!backends.has(name)) throw record.wrong("involved_classes", name, `names among ${[...backends.keys()].join(", ")}`);
  const session = new Session({
    taskId,
    involvedClasses,
    initialConfig: initialConfig(record),
    longContext: longContext(record, taskId),
  });
  const turns = record.list("turns").map((turn, i) => {
    const calls = callsOf(record, turn, i);
    return Dict.of({ calls: [...calls], results: session.execute(calls) });
  });
  const kept = ["id", "kind", "task_id", "mutations", "involved_classes", "long_context", "initial_config"].filter((key) =>
    record.value.has(key),
  );
  const head = Dict.from([...kept.map((key) => [key, record.value.get(key) ?? null] as const), ["turns", turns]]);
  const states = `"final_state": ${stateText(session.instances, "public")}, "private_state": ${stateText(session.instances, "private")}`;
  return `${jsonText(head).slice(0, -1)}, ${states}}`;
}

function initialConfig(record: JsonRecord): Dict {
  if (!record.value.has("initial_config")) return new Dict();
  const states = record.dict("initial_config");
  for (const [name, state] of states.pairs())
    if (!(state instanceof Dict)) throw record.wrong(`initial_config.${name}`, state, "an object");
  return states;
}

/** Turns are `{calls}`, or lists of calls as in the published answers. */
function callsOf(record: JsonRecord, turn: Value, index: number): readonly string[] {
  const calls = turn instanceof Dict ? turn.get("calls") : turn;
  if (!Array.isArray(calls)) throw record.wrong(`turns[${index}].calls`, calls, "a list of texts, one for each call");
  return calls.map((call, i) => {
    if (typeof call !== "string") throw record.wrong(`turns[${index}].calls[${i}]`, call, 'a text such as "ls(a=True)"');
    return call;
  });
}

function longContext(record: JsonRecord, taskId: string): boolean {
  const value = record.value.get("long_context");
  if (value === undefined) return isLongContext(taskId);
  if (typeof value !== "boolean") throw record.wrong("long_context", value, "true or false");
  return value;
}

/** True if the category of a task id, which is all before its last number, names the long context. */
export function isLongContext(taskId: string): boolean {
  return taskId.replace(/_[^_]*$/, "").includes("long_context");
}
