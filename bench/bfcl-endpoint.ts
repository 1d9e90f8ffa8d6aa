/**
 * `npx jiti bench/bfcl-endpoint.ts [--data FOLDER] [--port N]`: an OpenAI-compatible endpoint that answers BFCL's 800 multi-turn
 * tasks with their published calls, so that `retrograde eval --env bfcl --split CATEGORY --model CATEGORY` must score 100 %. It finds the task
 * by the functions and the requests that it is shown; of the model "all" a few tasks show what another one shows, and get its calls. Every
 * answer reports 1,000 prompt tokens and 10 completion tokens.
 */
import { createServer } from "node:http";
import { Command } from "commander";
import { z } from "zod";
import { backends } from "../extensions/bfcl/backends/backends.ts";
import { documentsAt, readDocuments } from "../extensions/bfcl/documents.ts";
import { defaultFolder } from "../extensions/bfcl/files.ts";
import { type BfclTask, categories, readTasks } from "../extensions/bfcl/tasks.ts";
import { evaluate } from "../extensions/python/evaluate.ts";
import { parseExpression } from "../extensions/python/syntax.ts";
import { jsonText } from "../extensions/python/text.ts";
import { Dict } from "../extensions/python/values.ts";

const options = new Command("bfcl-endpoint")
  .option("--data <folder>", "the tasks", defaultFolder())
  .option("--port <n>", "where it listens", Number, 8123)
  .parse()
  .opts<{ data: string; port: number }>();

const documents = readDocuments(options.data);
const tasks = categories.flatMap((category) => readTasks(options.data, category));

const request = z.object({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string().nullish() })),
  tools: z.array(z.object({ function: z.object({ name: z.string() }) })).optional(),
});
type Request = z.infer<typeof request>;

/** The functions of a turn, and the requests up to it, as one text. */
function shownAt(task: BfclTask, turn: number): string {
  const names = documentsAt(documents, task, turn).map(({ name }) => name);
  const requests = task.userTurns.slice(0, turn + 1).map((text) => text ?? "");
  return JSON.stringify([names, requests]);
}

/** Published calls by what is shown at their turn. Where two tasks show the same, the first one's are taken. */
function publishedOf(some: readonly BfclTask[]): ReadonlyMap<string, readonly string[]> {
  const turns = some.flatMap((task) => task.groundTruth.map((calls, turn) => [shownAt(task, turn), calls] as const));
  return new Map(turns.reverse());
}

/** By the name of the model that is asked: a category's, or that of all. */
const published = new Map([
  ["all", publishedOf(tasks)],
  ...categories.map((category) => [category, publishedOf(tasks.filter((task) => task.category === category))] as const),
]);

/** The next call of the turn. Undefined if all were made. */
function nextCall({ model, messages, tools = [] }: Request): string | undefined {
  const requests = messages.flatMap(({ role, content }) => (role === "user" ? [content ?? ""] : []));
  const texts = requests.map((text) => (text.startsWith("I have updated some more functions") ? "" : text));
  const calls = published.get(model)?.get(JSON.stringify([tools.map((tool) => tool.function.name), texts]));
  if (calls === undefined) throw new Error(`no task of ${model} shows this: ${texts.at(-1)?.slice(0, 200)}`);
  const last = messages.findLastIndex(({ role }) => role === "user");
  return calls[messages.slice(last).filter(({ role }) => role === "tool").length];
}

/** A call's name and its arguments as JSON text, in which 5 and 5.0 stay apart. */
function asToolCall(call: string, id: number) {
  const node = parseExpression(call);
  if (node.type !== "call" || node.called.type !== "name") throw new Error(`no call: ${call}`);
  const { name } = node.called;
  const parameters = [...backends.values()].flatMap(({ methods }) => methods.get(name)?.signature.parameters ?? []);
  const given = [...node.positional.map((value, i) => ({ name: parameters[i].name, value })), ...node.keywords];
  const values = Dict.from(given.map((one) => [one.name ?? "", evaluate(one.value, () => undefined)] as const));
  return { id: `call_${id}`, type: "function", function: { name, arguments: jsonText(values) } };
}

let answered = 0;
const server = createServer(async (incoming, response) => {
  if (incoming.url?.endsWith("/models"))
    return void response.end(JSON.stringify({ data: [...published.keys()].map((id) => ({ id })) }));
  let body = "";
  for await (const chunk of incoming) body += chunk;
  try {
    const call = nextCall(request.parse(JSON.parse(body)));
    const message =
      call === undefined
        ? { role: "assistant", content: "Done." }
        : { role: "assistant", content: null, tool_calls: [asToolCall(call, ++answered)] };
    const choices = [{ index: 0, message, finish_reason: call === undefined ? "stop" : "tool_calls" }];
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        id: "x",
        object: "chat.completion",
        model: "published",
        choices,
        usage: { prompt_tokens: 1000, completion_tokens: 10 },
      }),
    );
  } catch (error) {
    response.writeHead(400).end(JSON.stringify({ error: { message: String(error) } }));
  }
});
server.listen(options.port, "127.0.0.1", () => console.log(`http://127.0.0.1:${options.port}/v1`));
