import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolError } from "../../../src/core/errors.ts";
import { requirePackage } from "../../../src/core/optional-package.ts";

/** The columns that `look` reads and `set` writes, each by its table. */
export const columns = ["price", "stock"] as const;
export type Column = (typeof columns)[number];

/** All rows of a shop, ordered. */
export interface Tables {
  readonly products: readonly { readonly name: string; readonly price: number }[];
  readonly stock: readonly { readonly product: string; readonly stock: number }[];
  readonly customers: readonly { readonly name: string }[];
  readonly orders: readonly { readonly customer: string; readonly product: string; readonly count: number }[];
}

const schema = `
  create table products (name text primary key, price integer not null check (price > 0));
  create table stock (product text primary key references products, stock integer not null check (stock >= 0));
  create table customers (name text primary key);
  create table orders (
    id integer primary key, customer text not null references customers, product text not null references products,
    count integer not null check (count > 0)
  );`;

const queries: { readonly [Name in keyof Tables]: string } = {
  products: "select name, price from products order by name",
  stock: "select product, stock from stock order by product",
  customers: "select name from customers order by name",
  orders: "select customer, product, count from orders order by id",
};

const values = {
  price: { read: "select price from products where name = ?", write: "update products set price = ? where name = ?" },
  stock: { read: "select stock from stock where product = ?", write: "update stock set stock = ? where product = ?" },
} as const satisfies Readonly<Record<Column, { readonly read: string; readonly write: string }>>;

/** A shop whose books are an SQLite file. */
export interface Shop {
  /** Path of the file. Other programs may read it until `close`. */
  readonly file: string;
  look(product: string, column: Column): number;
  /** @returns the value that the column has now */
  set(product: string, column: Column, value: number): number;
  /** Writes an order and takes it from the stock. @returns its price, or how many there are where these are too few: then nothing is written */
  order(customer: string, product: string, count: number): { readonly price: number } | { readonly left: number };
  rows(): Tables;
  /** Closes the file and removes it. */
  close(): void;
}

/**
 * Opens a shop in a new SQLite file of a temporary folder.
 * @throws ConfigError if the package node-sqlite3-wasm is not installed
 */
export function openShop(rows: Tables): Shop {
  const { Database } = requirePackage(
    "node-sqlite3-wasm",
    "shops in SQLite files",
    () => createRequire(import.meta.url)("node-sqlite3-wasm") as typeof import("node-sqlite3-wasm"),
  );
  const folder = mkdtempSync(join(tmpdir(), "retrograde-shop-"));
  const file = join(folder, "shop.sqlite");
  const database = new Database(file);
  // The file is gone after the episode: nothing has to outlive a power failure.
  database.exec("pragma foreign_keys = on; pragma synchronous = off; pragma journal_mode = memory;");
  const together = <T>(change: () => T): T => {
    database.exec("begin");
    try {
      const result = change();
      database.exec("commit");
      return result;
    } catch (error) {
      database.exec("rollback");
      throw error;
    }
  };
  together(() => {
    database.exec(schema);
    for (const { name, price } of rows.products) database.run("insert into products values (?, ?)", [name, price]);
    for (const { product, stock } of rows.stock) database.run("insert into stock values (?, ?)", [product, stock]);
    for (const { name } of rows.customers) database.run("insert into customers values (?)", [name]);
    for (const { customer, product, count } of rows.orders)
      database.run("insert into orders (customer, product, count) values (?, ?, ?)", [customer, product, count]);
  });
  const number = (sql: string, name: string, what: string): number => {
    const row = database.get(sql, [name]);
    if (row === null || row === undefined) throw new ToolError(what, name, { expected: `a ${what} of the shop` });
    return Number(Object.values(row)[0]);
  };
  const look = (product: string, column: Column) => number(values[column].read, product, "product");
  return {
    file,
    look,
    set: (product, column, value) => {
      look(product, column);
      database.run(values[column].write, [value, product]);
      return value;
    },
    order: (customer, product, count) => {
      number("select 1 from customers where name = ?", customer, "customer");
      const left = look(product, "stock");
      if (count > left) return { left };
      together(() => {
        database.run("update stock set stock = stock - ? where product = ?", [count, product]);
        database.run("insert into orders (customer, product, count) values (?, ?, ?)", [customer, product, count]);
      });
      return { price: count * look(product, "price") };
    },
    rows: () => Object.fromEntries(Object.entries(queries).map(([name, sql]) => [name, database.all(sql)])) as unknown as Tables,
    close: () => {
      if (database.isOpen) database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
