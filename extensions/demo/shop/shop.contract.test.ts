import "../../install.ts";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { randomStream } from "../../../src/core/random.ts";
import { openShop } from "./database.ts";
import { drawRequest } from "./requests.ts";

test("the books are a file that Python's sqlite3 reads while the shop is open", (context) => {
  const { tables } = drawRequest(randomStream(0, "test"), "seen");
  const shop = openShop(tables);
  const [{ name: customer } = { name: "" }] = tables.customers;
  const [{ product, stock } = { product: "", stock: 0 }] = tables.stock;
  try {
    expect(shop.rows()).toEqual(tables);
    expect(shop.order(customer, product, stock + 1)).toEqual({ left: stock });
    expect(shop.order(customer, product, stock)).toEqual({ price: stock * shop.look(product, "price") });
    expect(shop.rows().stock[0]).toEqual({ product, stock: 0 });
    expect(shop.rows().orders.at(-1)).toEqual({ customer, product, count: stock });
    const program = "import json,sqlite3,sys; print(json.dumps(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall()))";
    const query = "select customer, product, count from orders order by id desc limit 1";
    let read: string;
    try {
      read = execFileSync("python3", ["-c", program, shop.file, query]).toString();
    } catch {
      return context.skip("python3 with sqlite3 is not there");
    }
    expect(JSON.parse(read)).toEqual([[customer, product, stock]]);
  } finally {
    shop.close();
  }
  expect(existsSync(shop.file)).toBe(false);
});
