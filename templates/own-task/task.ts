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
  readonly wish: "broken" | "unwanted";
  readonly purchase: { readonly id: string; readonly guarantee: boolean };
}

/** What should be done. A model reads this rule nowhere: it has to find it by acting. */
export function rightDecision({ wish, purchase }: Pick<Return, "wish" | "purchase">): (typeof decisions)[number] {
  if (wish === "unwanted") return "refund";
  return purchase.guarantee ? "exchange" : "repair";
}

export const shop = defineEnvironment<Return>({
  name: "shop",
  // It names the tools, because the bundled model's chat template does not show them.
  system: "You answer for a shop. Tools: find_purchase(item), refund(id), exchange(id), repair(id).",

  // Made up without end here. A list for each split works too: { train: [...], test: [...] }.
  tasks: (random) => {
    const item = random.pick(items);
    const wish = random.chance(2 / 3) ? "broken" : "unwanted";
    const purchase = { id: `e${10 + random.integer(90)}`, guarantee: random.chance(0.5) };
    const prompt = wish === "broken" ? `The ${item} does not work.` : `I do not need the ${item}.`;
    return { prompt, kind: `${wish}, should ${rightDecision({ wish, purchase })}`, item, wish, purchase };
  },

  start: (task) => startReturn(task),
});

/** A fresh episode. What its tools change is inside, so that no two episodes share it. */
export function startReturn(task: Return) {
  const { item, purchase } = task;
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
    reward: () => (done.length === 1 && done[0] === rightDecision(task) ? 1 : 0),
  };
}
