import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** An agent of another package, as a function of its prompt. */
export type ObjectAgent = (prompt: string) => Promise<unknown>;

type Method = (...args: unknown[]) => unknown;
interface Shapes {
  readonly version?: unknown;
  readonly generate?: Method;
  readonly invoke?: Method;
  readonly streamEvents?: unknown;
  readonly handoffs?: unknown;
}

/**
 * Makes a function of an agent object: of Mastra and the AI SDK (`generate`), LangGraph (`invoke`) and OpenAI Agents, whose runner is the one that
 * is installed beside the agent.
 * @param beside a file of the agent's project
 * @returns undefined for another object
 */
export function agentOfObject(agent: object, beside = join(process.cwd(), "agent.js")): ObjectAgent | undefined {
  const { version, generate, invoke, streamEvents, handoffs } = agent as Shapes;
  // The AI SDK's agents have a version, and take options.
  const isAiSdk = typeof version === "string" && version.startsWith("agent-");
  if (typeof generate === "function") return async (prompt) => textIn(await generate.call(agent, isAiSdk ? { prompt } : prompt));
  // Other packages have `invoke` too, of another argument.
  if (typeof invoke === "function" && streamEvents !== undefined)
    return async (prompt) => {
      const { messages } = (await invoke.call(agent, { messages: [{ role: "user", content: prompt }] })) as {
        messages: unknown[];
      };
      return textIn(messages.at(-1));
    };
  if (!Array.isArray(handoffs)) return undefined;
  return async (prompt) => {
    const { href } = pathToFileURL(createRequire(beside).resolve("@openai/agents"));
    const { run } = (await import(href)) as {
      readonly run: (agent: object, prompt: string) => Promise<{ finalOutput?: unknown }>;
    };
    return (await run(agent, prompt)).finalOutput;
  };
}

function textIn(answer: unknown): unknown {
  return (answer as { readonly text?: unknown } | undefined)?.text;
}
