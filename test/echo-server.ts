import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A model that repeats the user's last words, and remembers who asked. */
export interface EchoServer {
  readonly baseUrl: string;
  /** The user's last words in the requests of a key. */
  asked(key: string): readonly string[];
  close(): Promise<void>;
}

export async function echoServer(word?: string, delayMs = 3): Promise<EchoServer> {
  const byKey = new Map<string, string[]>();
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    const key = request.headers.authorization?.replace("Bearer ", "") ?? "";
    const said = String(JSON.parse(text).messages.at(-1).content);
    byKey.set(key, [...(byKey.get(key) ?? []), said]);
    await new Promise((go) => setTimeout(go, delayMs));
    const message = { role: "assistant", content: word ?? JSON.stringify({ said }) };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ id: "x", object: "chat.completion", choices: [{ index: 0, message, finish_reason: "stop" }] }));
  });
  await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: (key) => byKey.get(key) ?? [],
    close: async () => {
      server.closeAllConnections();
      await new Promise((go) => server.close(go));
    },
  };
}
