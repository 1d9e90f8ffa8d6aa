import { defineEnvironment, defineTool, type Message } from "retrograde-rl";
import { z } from "zod";

/** A shop assistant: customers ask where things are and how many are left. Replace it, part by part, with your own task. */

const items = ["Coffee", "Snacks", "Flowers", "Lamp", "Books", "Paint", "Stamps", "Poster", "Photo", "Map", "Ticket", "Gift"];

/** A task is the request that the model reads (`prompt`), and whatever tools and reward need to know. */
interface Question {
  readonly prompt: string;
  readonly kind: "aisle" | "stock";
  readonly item: string;
  readonly id: string;
  readonly aisle: number;
  readonly left: number;
}

export const shop = defineEnvironment<Question>({
  name: "shop",
  // What the model must know. It names the tools, because the bundled model's chat template does not show them.
  system: "You help in a shop. Tools: find_item(name), stock(id).",

  // Made up without end here. A list for each split works too: { train: [...], test: [...] }.
  tasks: (random) => {
    const item = random.pick(items);
    const kind = random.pick(["aisle", "stock"] as const);
    return {
      prompt: kind === "aisle" ? `In which aisle is ${item}?` : `How many ${item} are left?`,
      ...{ kind, item, id: `i${10 + random.integer(90)}`, aisle: 1 + random.integer(9), left: 10 + random.integer(90) },
    };
  },

  // A fresh episode. What its tools change belongs in here, so that no two episodes share it.
  start: (question) => ({ tools: toolsOf(question), reward: ({ answer }) => rewardOf(question, answer) }),

  // How an expert would do it: what `retrograde sft` learns from. Leave it out if you have a file of conversations instead.
  demonstrate: (question) => expert(question),
});

function toolsOf({ item, id, aisle, left }: Question) {
  return [
    defineTool({
      name: "find_item",
      description: "Finds an item by its name.",
      parameters: z.object({ name: z.string() }),
      execute: ({ name }) => (name === item ? [{ id, name, aisle }] : []),
    }),
    defineTool({
      name: "stock",
      description: "How many of an item are left, by its id.",
      parameters: z.object({ id: z.string() }),
      execute: (asked) => (asked.id === id ? { left } : "no such id"),
    }),
  ];
}

/** 1 for the right number, else 0. Partial rewards, such as 0.5 for the right tool, make a hard task easier to learn. */
export function rewardOf({ kind, aisle, left }: Pick<Question, "kind" | "aisle" | "left">, answer: string): number {
  return (answer.match(/\d+/)?.[0] ?? "") === String(kind === "aisle" ? aisle : left) ? 1 : 0;
}

function expert({ kind, item, id, aisle, left }: Question): Message[] {
  const found: Message[] = [
    { role: "assistant", content: "", toolCalls: [{ name: "find_item", arguments: { name: item } }] },
    { role: "tool", name: "find_item", content: JSON.stringify([{ id, name: item, aisle }]) },
  ];
  if (kind === "aisle") return [...found, { role: "assistant", content: `${aisle}` }];
  return [
    ...found,
    { role: "assistant", content: "", toolCalls: [{ name: "stock", arguments: { id } }] },
    { role: "tool", name: "stock", content: JSON.stringify({ left }) },
    { role: "assistant", content: `${left}` },
  ];
}
