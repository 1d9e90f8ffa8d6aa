import "../../install.ts";
import type { AssistantMessage, Message } from "../../../src/core/messages.ts";
import { playScript } from "../../check/play.ts";
import { shopEnvironment } from "./shop.ts";

export const limits = { timeoutMs: 10_000 };
export const environment = shopEnvironment();

/** Plays what an assistant says in a conversation. */
export function replay(task: Awaited<ReturnType<typeof environment.task>>, messages: readonly Message[]) {
  const said = messages.filter((message): message is AssistantMessage => message.role === "assistant");
  let at = 0;
  return playScript(environment, task, () => said[at++] ?? { role: "assistant", content: "" }, limits);
}
