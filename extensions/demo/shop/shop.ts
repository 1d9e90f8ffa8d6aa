import { z } from "zod";
import type { Message } from "../../../src/core/messages.ts";
import type { Random } from "../../../src/core/random.ts";
import { type DefinedTask, defineEnvironment } from "../../../src/environments/define.ts";
import type { Environment } from "../../../src/environments/environment.ts";
import { defineTool, type Tool } from "../../../src/tools/tool.ts";
import { drawnTasks, lastNumber } from "../tasks.ts";
import { columns, openShop, type Shop } from "./database.ts";
import { type Action, columnOf, drawRequest, type ShopRequest } from "./requests.ts";

const product = z.string();
const column = z.enum(columns);

/** The tools of a shop. Calls and results are short: the model is small. */
function toolsOf(shop: Shop): Tool[] {
  return [
    defineTool({
      name: "look",
      description: "Reads a value.",
      parameters: z.object({ product, column }),
      replayable: true,
      execute: (args) => shop.look(args.product, args.column),
    }),
    defineTool({
      name: "set",
      description: "Writes a value.",
      parameters: z.object({ product, column, value: z.int().min(1).max(999) }),
      replayable: true,
      execute: (args) => shop.set(args.product, args.column, args.value),
    }),
    defineTool({
      name: "order",
      description: "Writes an order.",
      parameters: z.object({ customer: z.string(), product, count: z.int().min(1).max(999) }),
      replayable: true,
      execute: (args) => {
        const written = shop.order(args.customer, args.product, args.count);
        return "price" in written ? written.price : `only ${written.left}`;
      },
    }),
  ];
}

/** Does an action in a shop. @returns the messages of an assistant that does it, the tools' results among them */
function act(shop: Shop, { do: name, ...action }: Action): Message[] {
  const tool = toolsOf(shop).find((each) => each.name === name);
  const messages: Message[] = [];
  const call = (args: Readonly<Record<string, unknown>>): string => {
    const content = String(tool?.execute({ ...args }, { signal: new AbortController().signal }));
    messages.push({ role: "assistant", content: "", toolCalls: [{ name, arguments: args }] }, { role: "tool", name, content });
    return content;
  };
  let result: string;
  if ("rest" in action) {
    const { rest, ...order } = action;
    result = call(order);
    if (result.startsWith("only")) result = rest ? call({ ...order, count: lastNumber(result) }) : "0";
  } else result = call(action);
  return [...messages, { role: "assistant", content: result }];
}

/** The share of a demonstration's choices that are wrong. After demonstrations with half of them wrong, GRPO took one column for every request. */
const slips = 1 / 3;

/** An action with the choices of a demonstration: which column, which customer, and what to do about a rest. */
function drawChoices({ action, named }: ShopRequest, random: Random): Action {
  const choose = <T>(from: readonly T[], right: T): T => {
    const isRight = !random.chance(slips);
    return random.pick(from.filter((each) => (each === right) === isRight));
  };
  return action.do === "order"
    ? { ...action, customer: choose(named, action.customer), rest: choose([false, true], action.rest) }
    : { ...action, column: choose(columns, action.column) };
}

/** The choices of policies that leave out one thing that orders ask for. */
const lazyChoices: Readonly<Record<string, (request: ShopRequest, always: boolean) => Partial<Action>>> = {
  "finds the customer": ({ named: [customer] }) => ({ customer }),
  "orders what is left": (_, always) => ({ rest: always }),
};

/** 1 if the answer is the right number, a tool gave it, and the file has the wanted rows and no others. */
function rewardOf({ wanted }: ShopRequest, shop: Shop, conversation: readonly Message[]): number {
  const results = conversation.filter(({ role }) => role === "tool").map(({ content }) => content);
  const given = wanted.answer === 0 ? results.some((text) => text.startsWith("only")) : results.includes(`${wanted.answer}`);
  const answer = conversation.at(-1)?.content.trim().replace(/\.$/, "");
  const isRight = given && answer === `${wanted.answer}`;
  return isRight && JSON.stringify(shop.rows()) === JSON.stringify(wanted.tables) ? 1 : 0;
}

/**
 * A shop whose books are an SQLite file of its own for every episode: products, stock, customers, orders. A request is solved if the file has the
 * wanted rows after it, nothing else changed, and the closing answer is right. `retrograde-rl demo smollm2 --task shop` trains in it.
 */
export function shopEnvironment(): Environment<DefinedTask<ShopRequest>> {
  const played = (request: ShopRequest, action: Action) => {
    const shop = openShop(request.tables);
    try {
      const messages = act(shop, action);
      return { messages, reward: rewardOf(request, shop, messages) };
    } finally {
      shop.close();
    }
  };
  const environment = defineEnvironment<ShopRequest>({
    name: "shop",
    system: "Keep the books of the shop by calls. Then answer with the number.",
    tasks: drawnTasks("shop", drawRequest),
    start: (request) => {
      const shop = openShop(request.tables);
      return {
        tools: toolsOf(shop),
        limits: { turns: 4 },
        reward: ({ conversation }) => rewardOf(request, shop, conversation),
        close: shop.close,
      };
    },
    demonstrate: (request, random) => played(request, drawChoices(request, random)).messages,
  });
  return {
    ...environment,
    expert: {
      behaviours: Object.keys(lazyChoices),
      always: ["orders what is left"],
      play: ({ request }, lazy = {}) => {
        let action = request.action;
        for (const [name, choose] of Object.entries(lazyChoices)) {
          const how = lazy[name];
          if (how !== undefined && action.do === "order") action = { ...action, ...choose(request, how === "always") } as Action;
        }
        const { messages, reward } = played(request, action);
        return { messages, score: { reward, behaviours: calledFor(request) } };
      },
    },
  };
}

/** The behaviours without which a request is not solved. The expert does them. */
function calledFor({ action, named, tables, wanted }: ShopRequest): Record<string, true> {
  if (action.do !== "order" || wanted.answer === 0) return {};
  return {
    ...(named[0] === action.customer ? {} : { "finds the customer": true }),
    ...(action.count > columnOf(tables, action.product, "stock") ? { "orders what is left": true } : {}),
  };
}
