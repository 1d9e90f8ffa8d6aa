import { on } from "node:events";
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { linesOf } from "./lines.ts";
import { folderOf, launch, script } from "./packages.ts";

type Item = {
  readonly type?: string;
  readonly role?: string;
  readonly content?: string | readonly { readonly text?: string }[];
  readonly call_id?: string;
  readonly name?: string;
  readonly arguments?: string;
};
type Row = { readonly responses_create_params: { readonly input: string | readonly Item[] } };
type Rollout = Row & {
  readonly reward: number;
  readonly _ng_task_index?: number;
  readonly response: { readonly output: readonly Item[] };
};

/** The folder of the package with the resource servers. */
const servers = "resources_servers";

/** How a published rollout of a resource server came out when it was played again. */
export interface Replayed {
  readonly published: number;
  /** Undefined if the episode was a fault. */
  readonly reward?: number;
  readonly fault?: string;
}

/** Published rollouts of a resource server, with the rows that they are of. */
export interface Published {
  /** Of the rollouts: the server's own, or that of the folder or file which has more of them. */
  readonly name: string;
  readonly server: string;
  readonly rows: string;
  readonly rollouts: string;
}

/** Where a resource server answers, or why it does not start; and the hosts that it looked for and the errors that it raised. */
export type Started = Published & { readonly trouble: () => readonly string[] } & (
    | { readonly port: number }
    | { readonly why: string }
  );

/**
 * Starts resource servers of the package, all in one process and its forks.
 * @param through a program that runs theirs, with its arguments
 * @returns them as they come up
 * @throws Error if the process ends
 */
export async function* startServers(
  published: readonly Published[],
  through: readonly string[] = [],
): AsyncGenerator<Started, undefined> {
  const given = published.map(({ name, server, rollouts }) => JSON.stringify({ name, server, rollouts }));
  const child = launch("nemo-gym", [...through, script("nemo_gym_server.py"), ...given]);
  child.stderr?.resume();
  const lines = createInterface({ input: child.stdout as Readable });
  const trouble = new Map<string, string[]>();
  const said = on(lines, "line", { close: ["close"] });
  lines.on("line", (line) => {
    const { name, trouble: one } = JSON.parse(line) as { readonly name: string; readonly trouble?: string };
    if (one !== undefined) trouble.set(name, [...(trouble.get(name) ?? []), one]);
  });
  let left = published.length;
  for await (const [line] of said) {
    const one = JSON.parse(String(line)) as { readonly name: string; readonly trouble?: string; readonly why: string };
    const of = published.find(({ name }) => name === one.name);
    if (of === undefined || one.trouble !== undefined) continue;
    yield { ...of, ...one, trouble: () => trouble.get(one.name) ?? [] };
    if (--left === 0) return undefined;
  }
  throw new Error(`${left} of ${published.map(({ name }) => name).join(", ")} said nothing`);
}

/** Rollouts beside those of a server's own folder: [name, server, rows, rollouts]. */
const elsewhere = [
  ["calendar_v2", "calendar", "environments/calendar_v2/data/example", "environments/calendar_v2/data/example_rollouts"],
  ...["claude_code_agent", "hermes_agent"].map((agent) => {
    const rollouts = `responses_api_agents/${agent}/data/example_math_rollouts`;
    return [agent, "math_with_judge", `${rollouts}_materialized_inputs`, rollouts];
  }),
  ...["openclaw_agent", "opencode_agent", "pi_agent"].map((agent) => {
    const data = `responses_api_agents/${agent}/data`;
    return [agent, "math_with_judge", `${data}/example`, `${data}/example_rollout`];
  }),
  [
    "structeval_nonrenderable",
    "structeval",
    ...["example", "example_rollouts"].map((file) => `${servers}/structeval/data/structeval_nonrenderable_${file}`),
  ],
];

/** The published rollouts of the package whose rows are published too, or those of some names. */
export async function publishedRollouts(names?: readonly string[]): Promise<Published[]> {
  const at = dirname(await folderOf("nemo-gym", servers));
  const own = readdirSync(join(at, servers)).map((name) => [
    ...[name, name, `${servers}/${name}/data/example`, `${servers}/${name}/data/example_rollouts`],
  ]);
  return [...own, ...elsewhere]
    .map(([name, server, ...files]) => ({ name, server, files: files.map((file) => join(at, `${file}.jsonl`)) }))
    .filter(({ name, files }) => (names?.includes(name) ?? true) && files.every((file) => existsSync(file)))
    .map(({ files: [rows, rollouts], ...one }) => ({ ...one, rows, rollouts }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The published answers of a server without tools by what was asked, with the rewards that they were given. */
export function publishedAnswers({ rollouts }: Published): Map<string, { readonly text: string; readonly reward: number }> {
  return new Map(
    linesOf<Rollout>(rollouts).map(({ reward, response, ...row }) => {
      const text = actionsOf(response.output)
        .map(({ content }) => content)
        .join("");
      return [textOfLast(row), { text, reward }];
    }),
  );
}

/**
 * Plays the published rollouts of a server again, action by action: what real models did, with the rewards that it was given. Rollouts whose row is
 * not published are left out.
 */
export async function replay(port: number, published: Published): Promise<Replayed[]> {
  const rows = linesOf<Row>(published.rows);
  const rollouts = linesOf<Rollout>(published.rollouts);
  const said = ({ responses_create_params: { input } }: Row) =>
    JSON.stringify(
      (typeof input === "string" ? [{ role: "user", content: input }] : input).map((item) => [item.role, textOf(item.content)]),
    );
  // The number of a row may be that of another file: its last words have to be in what was said.
  const isOf = (row: Row | undefined, rollout: Rollout) =>
    row !== undefined && said(rollout).includes(JSON.stringify(textOfLast(row)).slice(1, -1));
  const fields = Object.keys(rows[0] ?? {});
  const rowOf = (rollout: Rollout): Row | undefined => {
    const numbered = rollout._ng_task_index === undefined ? undefined : rows[rollout._ng_task_index];
    const row = isOf(numbered, rollout) ? numbered : rows.find((each) => said(each) === said(rollout));
    if (row !== undefined || !fields.every((field) => field in rollout)) return row;
    // Some rollouts are of rows that are not published, and carry them.
    return Object.fromEntries(Object.entries(rollout).filter(([field]) => fields.includes(field))) as unknown as Row;
  };
  const file = join(mkdtempSync(join(tmpdir(), "rollouts-")), "rows.jsonl");
  const played = rollouts.filter((rollout) => rowOf(rollout) !== undefined);
  writeFileSync(file, played.map((rollout) => JSON.stringify(rowOf(rollout))).join("\n"));
  const url = `http://127.0.0.1:${port}`;
  const environment = createEnvironment(`nemo-gym:${url}`, { tasks: { test: file }, sameStart: "ignore", maxOutput: 10 ** 6 });
  const results: Replayed[] = [];
  for (const [i, { reward: given, response }] of played.entries()) {
    try {
      const episode = await environment.start(await environment.task("test", i), 0);
      const conversation: Message[] = [...episode.messages];
      const { signal } = new AbortController();
      let isOver = false;
      for (const message of actionsOf(response.output)) {
        if (isOver) break;
        conversation.push(message);
        for (const call of message.toolCalls ?? []) {
          const answer = await episode.call?.(call, { signal });
          const told = typeof answer === "string" ? { content: answer } : answer;
          const { content = "no such tool", done = false } = told ?? (await viaTool(episode.tools, call, signal));
          conversation.push({ role: "tool", name: call.name, callId: call.id, content });
          isOver ||= done;
        }
        if (message.toolCalls !== undefined) continue;
        const reply = await episode.reply(message);
        isOver = reply.done;
        if (!reply.done) conversation.push(...reply.messages);
      }
      results.push({ published: given, reward: (await episode.score(conversation)).reward });
      await episode.close?.();
    } catch (error) {
      results.push({ published: given, fault: String((error as Error).message).slice(0, 200) });
    }
  }
  return results;
}

async function viaTool(
  tools: readonly { readonly name: string; execute(args: never, context: never): unknown }[],
  call: ToolCall,
  signal: AbortSignal,
): Promise<{ content: string; done?: boolean }> {
  const tool = tools.find(({ name }) => name === call.name);
  return {
    content: tool === undefined ? "no such tool" : String(await tool.execute(call.arguments as never, { signal } as never)),
  };
}

/** The actions of a published Response: a text, the calls behind it, or both. The outputs of tools and the user's messages are the server's. */
function actionsOf(output: readonly Item[]): AssistantMessage[] {
  const actions: AssistantMessage[] = [];
  let text: string | undefined;
  let calls: ToolCall[] = [];
  const flush = () => {
    if (text !== undefined || calls.length > 0)
      actions.push({ role: "assistant", content: text ?? "", ...(calls.length === 0 ? {} : { toolCalls: calls }) });
    [text, calls] = [undefined, []];
  };
  for (const { type, role, content, call_id: id, name = "", arguments: given = "{}" } of output) {
    if (type === "function_call") calls.push({ id, name, arguments: argumentsOf(given), argumentsText: given });
    else if (type !== "message" || role !== "assistant") flush();
    else {
      flush();
      text = textOf(content);
    }
  }
  flush();
  return actions;
}

function argumentsOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}

const textOfLast = ({ responses_create_params: { input } }: Row) =>
  typeof input === "string" ? input : textOf(input.at(-1)?.content);

function textOf(content: Item["content"]): string {
  return typeof content === "string" ? content : (content ?? []).map(({ text = "" }) => text).join("");
}
