import { defineEnvironment, defineTool } from "retrograde-rl";
import { z } from "zod";

/**
 * The returns desk of a shop. A customer brings something back; the desk looks the purchase up, then refunds, exchanges or repairs.
 * Which of them is right stands in no prompt: the reward knows it. Replace this, part by part, with your own task.
 */

const items = ["Book", "Gift", "Lamp", "Photo", "Ticket"];
const decisions = ["refund", "exchange", "repair"] as const;

/** A task is the request that the model reads (`prompt`), and what tools and reward need to know. `kind` groups the report. */
export interface Return {
  readonly prompt: string;
  readonly kind: string;
  readonly item: string;
  readonly purchase: { readonly id: string; readonly unused: boolean; readonly guarantee: boolean };
}

/** What should be done. A model reads this rule nowhere: it has to find it by acting. */
export function rightDecision({ unused, guarantee }: Return["purchase"]): (typeof decisions)[number] {
  if (unused) return "refund";
  return guarantee ? "exchange" : "repair";
}

export const shop = defineEnvironment<Return>({
  name: "shop",
  // It names the tools, because the bundled model's chat template does not show them.
  system: "You answer for a shop. Tools: find_purchase(item), refund(id), exchange(id), repair(id).",

  // Made up without end here. A list for each split works too: { train: [...], test: [...] }.
  tasks: (random) => {
    const item = random.pick(items);
    const purchase = { id: `e${10 + random.integer(90)}`, unused: random.chance(1 / 3), guarantee: random.chance(0.5) };
    const prompt = random.chance(0.5) ? `I bring back the ${item}.` : `Please take back the ${item}.`;
    return { prompt, kind: `should ${rightDecision(purchase)}`, item, purchase };
  },

  start: (task) => startReturn(task),
});

/** A fresh episode. What its tools change is inside, so that no two episodes share it. */
export function startReturn({ item, purchase }: Return) {
  const done: string[] = [];
  return {
    tools: [
      defineTool({
        name: "find_purchase",
        description: "Finds what the customer bought.",
        parameters: z.object({ item: z.string() }),
        execute: (asked) => (asked.item === item ? purchase : "not found"),
      }),
      ...decisions.map((name) =>
        defineTool({
          name,
          description: `Decides to ${name} a purchase, by its id. There is one decision.`,
          parameters: z.object({ id: z.string() }),
          execute: ({ id }) => {
            // The model reads an error as the tool's answer.
            if (id !== purchase.id) throw new Error("no such purchase");
            done.push(name);
            return "Done";
          },
        }),
      ),
    ],
    /** 1 for the right decision alone, else 0. */
    reward: () => (done.length === 1 && done[0] === rightDecision(purchase) ? 1 : 0),
  };
}
