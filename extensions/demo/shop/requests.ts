import { present } from "../../../src/core/present.ts";
import type { Random } from "../../../src/core/random.ts";
import type { Words } from "../tasks.ts";
import { type Column, columns, type Tables } from "./database.ts";
import { wordings } from "./wordings.ts";

/** One thing to do in a shop: all that a request asks for. */
export type Action =
  | { readonly do: "look"; readonly product: string; readonly column: Column }
  | { readonly do: "set"; readonly product: string; readonly column: Column; readonly value: number }
  /** `rest`: where too few are left, these are ordered, else nothing. */
  | { readonly do: "order"; readonly customer: string; readonly product: string; readonly count: number; readonly rest: boolean };

/** A request to a shop, the rows that it finds, and those that it wants. */
export interface ShopRequest {
  readonly prompt: string;
  readonly kind: string;
  readonly tables: Tables;
  readonly action: Action;
  /** The customers that the text names, in its order. */
  readonly named: readonly string[];
  readonly wanted: { readonly tables: Tables; readonly answer: number };
}

const customers = ["Ana", "Ben", "Carla", "David", "Emma", "Felix", "Grace", "Hugo", "Ida", "Jonas", "Kira", "Leon"];
const products = ["apples", "books", "cups", "stamps", "pens", "lamps", "shells", "cards", "eggs", "buttons", "bags", "hats"];

/** Draws a shop and a request to it. @param words the sentences of training, or those that no training task has */
export function drawRequest(random: Random, words: Words): ShopRequest {
  const sold = random.shuffle(products).slice(0, 4);
  const known = random.shuffle(customers).slice(0, 3);
  const tables: Tables = {
    products: sold.toSorted().map((name) => ({ name, price: 2 + random.integer(30) })),
    stock: sold.toSorted().map((product) => ({ product, stock: 3 + random.integer(40) })),
    customers: known.toSorted().map((name) => ({ name })),
    orders: [0, 1].map(() => ({ customer: random.pick(known), product: random.pick(sold), count: 1 + random.integer(9) })),
  };
  const [product = ""] = sold;
  const [customer = "", other = ""] = known;
  const action = drawAction(random, product, customer, tables);
  const kind = action.do === "order" ? "orders" : (`${action.do === "look" ? "asks" : "sets"} the ${action.column}` as const);
  const ending = action.do === "order" ? ` ${random.pick(wordings[action.rest ? "rest" : "all"][words])}` : "";
  const fill: Readonly<Record<string, unknown>> = { ...action, customer, other };
  const prompt = `${random.pick(wordings[kind][words])}${ending}`.replace(/\{(\w+)\}/g, (_, slot: string) => String(fill[slot]));
  const named = [customer, other].toSorted((a, b) => prompt.indexOf(a) - prompt.indexOf(b));
  return { prompt, kind, tables, action, named, wanted: wantedBy(action, tables) };
}

/** Half of the requests are orders, and half of these are for more than there is. */
function drawAction(random: Random, product: string, customer: string, tables: Tables): Action {
  const column = random.pick(columns);
  if (random.chance(0.5)) {
    if (random.chance(0.5)) return { do: "look", product, column };
    const now = columnOf(tables, product, column);
    const value = now + random.pick([-1, 1]) * (1 + random.integer(now - 1));
    return { do: "set", product, column, value };
  }
  const left = columnOf(tables, product, "stock");
  const count = random.chance(0.5) ? 1 + random.integer(left) : left + 1 + random.integer(20);
  return { do: "order", customer, product, count, rest: random.chance(0.5) };
}

/** The value that a shop's column has for a product of it. */
export function columnOf({ products, stock }: Tables, product: string, column: Column): number {
  const value =
    column === "price"
      ? products.find(({ name }) => name === product)?.price
      : stock.find((row) => row.product === product)?.stock;
  return present(value, `the ${column} of ${product}`);
}

/** The rows and the answer after an action was done right. Computed without a database. */
function wantedBy(action: Action, tables: Tables): ShopRequest["wanted"] {
  const { product } = action;
  const withStock = (stock: number) => tables.stock.map((row) => (row.product === product ? { ...row, stock } : row));
  if (action.do === "look") return { tables, answer: columnOf(tables, product, action.column) };
  if (action.do === "set") {
    const { column, value } = action;
    const prices = tables.products.map((row) => (row.name === product ? { ...row, price: value } : row));
    const changed = column === "price" ? { products: prices } : { stock: withStock(value) };
    return { tables: { ...tables, ...changed }, answer: value };
  }
  const left = columnOf(tables, product, "stock");
  const count = action.count <= left ? action.count : action.rest ? left : 0;
  if (count === 0) return { tables, answer: 0 };
  const orders = [...tables.orders, { customer: action.customer, product, count }];
  return { tables: { ...tables, stock: withStock(left - count), orders }, answer: count * columnOf(tables, product, "price") };
}
