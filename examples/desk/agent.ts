import { readFileSync } from "node:fs";
import { generateText, stepCountIs, tool } from "ai";
import { z } from "zod";

interface Order {
  status: "delivered" | "lost" | "shipping";
  days: number;
}
const orders: Record<string, Order> = JSON.parse(readFileSync(new URL("orders.json", import.meta.url), "utf8"));

const system = `You answer customers of a furniture shop. Look up the order first.
delivered, up to 30 days ago: refund. delivered, more than 30 days ago: escalate.
lost: resend. shipping: ask the customer to wait.`;

/** A support desk of the AI SDK. It returns its last words, the orders that it looked up, and what it did to the shop. */
export default async (prompt: string) => {
  const looked: string[] = [];
  const done: string[] = [];
  const deed = (name: string, description: string) =>
    tool({
      description,
      inputSchema: z.object({ order: z.string() }),
      execute: async ({ order }) => {
        done.push(`${name} ${order}`);
        return "done";
      },
    });
  const tools = {
    lookup: tool({
      description: "Finds an order.",
      inputSchema: z.object({ order: z.string() }),
      execute: async ({ order }) => {
        looked.push(order);
        return orders[order] ?? "no such order";
      },
    }),
    refund: deed("refund", "Pays an order back."),
    resend: deed("resend", "Sends an order again."),
    escalate: deed("escalate", "Gives an order to a colleague."),
  };
  const { text } = await generateText({ model: "openai/gpt-5-mini", system, prompt, tools, stopWhen: stepCountIs(4) });
  return { text, looked, done };
};
