import { existsSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { AssistantMessage, Message, ToolCall } from "../../src/core/messages.ts";
import { createEnvironment } from "../../src/environments/registry.ts";
import { linesOf } from "./lines.ts";
import { launch, script } from "./packages.ts";

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

/** How a published rollout of a resource server came out when it was played again. */
export interface Replayed {
  readonly published: number;
  /** Undefined if the episode was a fault. */
  readonly reward?: number;
  readonly fault?: string;
}

/** Where a resource server answers, or why it does not start. */
export type Started = { readonly name: string } & ({ readonly port: number } | { readonly why: string });

/** Starts resource servers of the package, all in one process and its forks. @returns them as they come up @throws Error if the process ends */
export async function* startServers(names: readonly string[], cwd: string): AsyncGenerator<Started> {
  const child = launch("nemo-gym", [script("nemo_gym_server.py"), ...names], cwd);
  child.stderr?.resume();
  let left = names.length;
  for await (const line of createInterface({ input: child.stdout as Readable })) {
    yield JSON.parse(line) as Started;
    if (--left === 0) return;
  }
  throw new Error(`${left} of ${names.join(", ")} said nothing`);
}

/** The resource servers of the package that publish rollouts. @param at the folder of the package */
export function serversWithRollouts(at: string): string[] {
  return readdirSync(at)
    .filter(
      (name) => existsSync(join(at, name, "data/example_rollouts.jsonl")) && existsSync(join(at, name, "data/example.jsonl")),
    )
    .sort();
}

/** The published answers of a server without tools by what was asked, with the rewards that they were given. @param data its folder of rows */
export function publishedAnswers(data: string): Map<string, { readonly text: string; readonly reward: number }> {
  return new Map(
    linesOf<Rollout>(join(data, "example_rollouts.jsonl")).map(({ reward, response, ...row }) => {
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
export async function replay(port: number, folder: string): Promise<Replayed[]> {
  const rows = linesOf<Row>(join(folder, "data/example.jsonl"));
  const rollouts = linesOf<Rollout>(join(folder, "data/example_rollouts.jsonl"));
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
  for (const [i, { reward: published, response }] of played.entries()) {
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
      results.push({ published, reward: (await episode.score(conversation)).reward });
      await episode.close?.();
    } catch (error) {
      results.push({ published, fault: String((error as Error).message).slice(0, 200) });
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
