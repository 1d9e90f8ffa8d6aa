import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { z } from "zod";

const requestSchema = z.looseObject({
  model: z.string(),
  messages: z.array(z.object({ role: z.string(), content: z.string() })),
  temperature: z.number().optional(),
  response_format: z.looseObject({ type: z.string() }).optional(),
});

export interface JudgeRequest extends z.infer<typeof requestSchema> {
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly headers: IncomingMessage["headers"];
}

/** What the server does with one request. */
export type Reaction =
  | {
      readonly content: string;
      readonly finish?: string;
      readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
    }
  | { readonly status: number; readonly body?: unknown; readonly headers?: Readonly<Record<string, string>> }
  | "hang"
  | "stall"
  | "hang up";

/** A server of the chat-completions protocol on a free port. It ends with the test. */
export async function judgeServer(react: (request: JudgeRequest, number: number) => Reaction | Promise<Reaction>) {
  const requests: JudgeRequest[] = [];
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = requestSchema.parse(JSON.parse(Buffer.concat(chunks).toString("utf8")));
    const { url, headers } = request;
    const received = { ...body, url, headers, authorization: headers.authorization };
    requests.push(received);
    const reaction = await react(received, requests.length);
    if (reaction === "hang") return;
    if (reaction === "hang up") {
      request.socket.destroy();
      return;
    }
    if (reaction === "stall") {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"choices": [');
      return;
    }
    const send = (status: number, json: unknown, more: Readonly<Record<string, string>> = {}) => {
      response.writeHead(status, { "content-type": "application/json", ...more });
      response.end(JSON.stringify(json));
    };
    if ("status" in reaction) return send(reaction.status, reaction.body ?? { error: { message: "no" } }, reaction.headers);
    const { content, finish = "stop", usage = { prompt_tokens: 100, completion_tokens: 20 } } = reaction;
    send(200, {
      id: "chat-1",
      object: "chat.completion",
      model: body.model,
      choices: [{ index: 0, finish_reason: finish, message: { role: "assistant", content } }],
      ...(usage === null ? {} : { usage }),
    });
  };
  const server = createServer((request, response) => void respond(request, response));
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, requests };
}

/** The attempts of a question, by the ids that it gives them. */
export function attemptsIn({ messages }: JudgeRequest): Map<string, string> {
  const question = messages[1].content;
  return new Map([...question.matchAll(/<attempt id="(\d+)">\n(.*?)\n<\/attempt>/gs)].map(([, id, text]) => [id, text]));
}

/** The answer of a judge that scores each attempt by its text. */
export function scoring(request: JudgeRequest, scoreOf: (attempt: string) => number): { readonly content: string } {
  const scores = [...attemptsIn(request)].map(([id, text]) => ({ id, explanation: "because", score: scoreOf(text) }));
  return { content: JSON.stringify({ scores }) };
}
