import { isDigit } from "../../python/characters.ts";
import { orderOf, parseDate } from "../../python/dates.ts";
import { parseJson } from "../../python/json.ts";
import { callMethod, joinTexts } from "../../python/methods.ts";
import { absolute, add, formatFixed, multiply, subtract, toFloat, toInt } from "../../python/numbers.ts";
import { compare, contains, equal, getItem, iterate, setItem, truth } from "../../python/operators.ts";
import type { PythonRandom } from "../../python/random.ts";
import { repr, str } from "../../python/text.ts";
import { Dict, hashKey, type Value } from "../../python/values.ts";
import { configured, defineBackend, error, f, itemsOf } from "./backend.ts";
import { seededBy } from "./seed.ts";
import { longDict, longList, type Shared } from "./shared.ts";

interface TradingState {
  orders: Dict;
  account_info: Value;
  authenticated: Value;
  market_status: Value;
  order_counter: Value;
  stocks: Value;
  watch_list: Value;
  transaction_history: Value;
  long_context: Value;
  _random: PythonRandom;
  _shared: Shared;
}

const symbols = Dict.of({
  Apple: "AAPL",
  Google: "GOOG",
  Tesla: "TSLA",
  Microsoft: "MSFT",
  Nvidia: "NVDA",
  "Zeta Corp": "ZETA",
  "Alpha Tech": "ALPH",
  "Omega Industries": "OMEG",
  "Quasar Ltd.": "QUAS",
  "Neptune Systems": "NEPT",
  "Synex Solutions": "SYNX",
  Amazon: "AMZN",
  Gorilla: "GORI",
});

/** price, percent_change, volume, MA(5), MA(20) */
const defaultStocks: readonly (readonly [string, number, number, number, number, number])[] = [
  ["AAPL", 227.16, 0.17, 2.552, 227.11, 227.09],
  ["GOOG", 2840.34, 0.24, 1.123, 2835.67, 2842.15],
  ["TSLA", 667.92, -0.12, 1.654, 671.15, 668.2],
  ["MSFT", 310.23, 0.09, 3.234, 309.88, 310.11],
  ["NVDA", 220.34, 0.34, 1.234, 220.45, 220.67],
  ["ALPH", 1320.45, -0.08, 1.567, 1321.12, 1325.78],
  ["OMEG", 457.23, 0.12, 2.345, 456.78, 458.12],
  ["QUAS", 725.89, -0.03, 1.789, 726.45, 728],
  ["NEPT", 88.34, 0.19, 0.654, 88.21, 88.67],
  ["SYNX", 345.67, 0.11, 2.112, 345.34, 346.12],
  ["ZETA", 22.09, -0.05, 0.789, 22.12, 22.34],
];

function stocks(): Dict {
  return Dict.from(
    defaultStocks.map(([symbol, price, change, volume, five, twenty]) => [
      symbol,
      Dict.of({ price, percent_change: change, volume, "MA(5)": five, "MA(20)": twenty }),
    ]),
  );
}

const defaultOrders = `{
  "12345": {"id": 12345, "order_type": "Buy", "symbol": "AAPL", "price": 210.65, "amount": 10, "status": "Completed"},
  "12446": {"id": 12446, "order_type": "Sell", "symbol": "GOOG", "price": 2840.56, "amount": 5, "status": "Pending"}
}`;

/** The stocks of each sector, and the list that the long_context category adds. */
const sectors: ReadonlyMap<unknown, readonly [string[], string?]> = new Map([
  ["Technology", [["AAPL", "GOOG", "MSFT", "NVDA"], "TECHNOLOGY_EXTENSION"]],
  ["Automobile", [["TSLA", "F", "GM"], "AUTOMOBILE_EXTENSION"]],
]);

/** Keys made of digits become ints. */
function withIntKeys(orders: Value): Dict {
  return Dict.from(
    itemsOf(orders).map(([key, order]) => {
      const digits = typeof key === "string" && key !== "" && [...key].every(isDigit);
      return [digits ? toInt(key) : key, order];
    }),
  );
}

/** 2024-09-01 10:30:00, in seconds of a clock without zones. */
const now = Date.UTC(2024, 8, 1, 10, 30) / 1000;

function timestamp({ _random }: TradingState): string {
  const seconds = now + Number(_random.randint(0, 86400));
  return new Date(seconds * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** A list that the long_context category adds. Empty in the others. */
function added({ long_context }: TradingState, name: string): Value[] {
  return truth(long_context) ? longList(name) : [];
}

function loginNeeded(purpose: string): Dict {
  return error(`User not authenticated. Please log in to ${purpose}.`);
}

function changeBalance(state: TradingState, type: string, amount: Value, change: typeof add): void {
  setItem(
    state.account_info,
    "balance",
    change(getItem(state.account_info, "balance"), amount, type === "deposit" ? "+=" : "-="),
  );
  callMethod(state.transaction_history, "append", Dict.of({ type, amount, timestamp: timestamp(state) }));
}

export const tradingBackend = defineBackend<TradingState>(
  "TradingBot",
  (config, longContext, shared) => ({
    orders: withIntKeys(config.has("orders") ? configured(config, "orders", null) : parseJson(defaultOrders)),
    account_info: configured(
      config,
      "account_info",
      Dict.of({ account_id: 12345n, balance: 10000, binding_card: 1974202140965533n }),
    ),
    authenticated: configured(config, "authenticated", false),
    market_status: configured(config, "market_status", "Closed"),
    order_counter: configured(config, "order_counter", 12446n),
    stocks: config.has("stocks") ? configured(config, "stocks", null) : stocks(),
    watch_list: configured(config, "watch_list", ["NVDA"]),
    transaction_history: configured(config, "transaction_history", []),
    long_context: longContext,
    _random: seededBy(config, 1053520n),
    _shared: shared,
  }),
  {
    "get_current_time()": () => Dict.of({ current_time: "10:30 AM" }),
    "get_symbol_by_name(name)": (_, name) => Dict.of({ symbol: symbols.get(name) ?? "Stock not found" }),
    "get_stock_info(symbol)": (state, symbol) => {
      if (!contains(state.stocks, symbol)) return error(f`Stock with symbol '${symbol}' not found.`);
      const stock = getItem(state.stocks, symbol);
      if (!truth(state.long_context)) return stock;
      const copy = callMethod(stock, "copy");
      setItem(copy, "MA(5)", longList("MA_5_EXTENSION"));
      setItem(copy, "MA(20)", longList("MA_20_EXTENSION"));
      return copy;
    },
    "get_order_details(order_id)": (state, id) => {
      const { orders } = state;
      if (!orders.has(id)) return error(f`Order with ID ${id} not found.Here is the list of orders_id: ${repr(orders.keys())}`);
      const order = getItem(orders, id);
      if (!truth(state.long_context)) return order;
      const copy = callMethod(order, "copy");
      const symbol = str(getItem(copy, "symbol"));
      const metadata = longDict(state._shared, "ORDER_DETAIL_EXTENSION")
        .pairs()
        .map(([key, template]) => [key, String(template).replaceAll("{symbol}", () => symbol)] as const);
      setItem(copy, "metadata", Dict.from(metadata));
      return copy;
    },
    "cancel_order(order_id)": ({ orders }, id) => {
      if (!orders.has(id)) return error(f`Order with ID ${id} not found.`);
      const order = getItem(orders, id);
      if (equal(getItem(order, "status"), "Completed")) return error(f`Can't cancel order ${id}. Order is already completed.`);
      setItem(order, "status", "Cancelled");
      return Dict.of({ order_id: id, status: "Cancelled" });
    },
    "place_order(order_type, symbol, price, amount)": (state, type, symbol, price, amount) => {
      if (!truth(state.authenticated)) return loginNeeded("place an order");
      if (!contains(state.stocks, symbol)) return error(f`Invalid stock symbol: ${symbol}`);
      if (compare(price, "<=", 0n) || compare(amount, "<=", 0n)) return error("Price and amount must be positive values.");
      if (equal(callMethod(type, "lower"), "buy")) {
        const cost = multiply(toFloat(price), toInt(amount));
        const balance = callMethod(state.account_info, "get", "balance", 0n);
        if (compare(cost, ">", balance))
          return error(`Insufficient funds: required $${formatFixed(cost, 2)} but only $${formatFixed(balance, 2)} available.`);
      }
      const exact = toFloat(price);
      const id = state.order_counter;
      state.orders.set(id, Dict.of({ id, order_type: type, symbol, price: exact, amount, status: "Open" }));
      state.order_counter = add(id, 1n, "+=");
      return Dict.of({ order_id: id, order_type: type, status: "Pending", price: exact, amount });
    },
    "withdraw_funds(amount)": (state, amount) => {
      if (!truth(state.authenticated)) return loginNeeded("make a transaction");
      if (!equal(state.market_status, "Open")) return error("Market is closed. Transactions are not allowed.");
      if (compare(amount, "<=", 0n)) return error("Transaction amount must be positive.");
      if (compare(amount, ">", getItem(state.account_info, "balance"))) return error("Insufficient funds for withdrawal.");
      changeBalance(state, "withdrawal", amount, subtract);
      return Dict.of({ status: "Withdrawal successful", new_balance: getItem(state.account_info, "balance") });
    },
    "get_account_info()": (state) => (truth(state.authenticated) ? state.account_info : loginNeeded("view account information")),
    "trading_login(username, password)": (state) => {
      if (truth(state.authenticated)) return Dict.of({ status: "Already logged in" });
      state.authenticated = true;
      return Dict.of({ status: "Logged in successfully" });
    },
    "trading_get_login_status()": (state) => Dict.of({ status: truth(state.authenticated) }),
    "trading_logout()": (state) => {
      if (!truth(state.authenticated)) return Dict.of({ status: "No user is currently logged in" });
      state.authenticated = false;
      return Dict.of({ status: "Logged out successfully" });
    },
    "fund_account(amount)": (state, amount) => {
      if (!truth(state.authenticated)) return loginNeeded("fund the account");
      if (compare(amount, "<=", 0n)) return error("Funding amount must be positive.");
      changeBalance(state, "deposit", amount, add);
      return Dict.of({ status: "Account funded successfully", new_balance: getItem(state.account_info, "balance") });
    },
    "remove_stock_from_watchlist(symbol)": (state, symbol) => {
      if (!truth(state.authenticated)) return loginNeeded("modify the watchlist");
      if (!contains(state.watch_list, symbol)) return error(f`Stock ${symbol} not found in watchlist.`);
      callMethod(state.watch_list, "remove", symbol);
      return Dict.of({ status: f`Stock ${symbol} removed from watchlist successfully.` });
    },
    "get_watchlist()": (state) => {
      if (!truth(state.authenticated)) return ["Error: User not authenticated. Please log in to view the watchlist."];
      if (!truth(state.long_context)) return Dict.of({ watchlist: state.watch_list });
      const list = callMethod(state.watch_list, "copy");
      callMethod(list, "extend", longList("WATCH_LIST_EXTENSION"));
      return list;
    },
    "get_order_history()": (state) =>
      truth(state.authenticated) ? Dict.of({ history: state.orders.keys() }) : [loginNeeded("view order history")],
    "get_transaction_history(start_date=None, end_date=None)": (state, first, last) => {
      if (!truth(state.authenticated)) return [loginNeeded("view transaction history")];
      const start = truth(first) ? orderOf(parseDate(first, "%Y-%m-%d")) : Number.NEGATIVE_INFINITY;
      const end = truth(last) ? orderOf(parseDate(last, "%Y-%m-%d")) : Number.POSITIVE_INFINITY;
      const history = iterate(state.transaction_history).filter((transaction) => {
        const at = orderOf(parseDate(getItem(transaction, "timestamp"), "%Y-%m-%d %H:%M:%S"));
        return start <= at && at <= end;
      });
      return Dict.of({ transaction_history: [...history, ...added(state, "TRANSACTION_HISTORY_EXTENSION")] });
    },
    "get_available_stocks(sector)": (state, sector) => {
      const [own, more] = sectors.get(typeof sector === "string" ? sector : hashKey(sector)) ?? [[]];
      return Dict.of({ stock_list: more === undefined ? own : [...own, ...added(state, more)] });
    },
    "filter_stocks_by_price(stocks, min_price, max_price)": (state, wanted, least, most) => {
      const price = (symbol: Value) => callMethod(callMethod(state.stocks, "get", symbol, new Dict()), "get", "price", 0n);
      const filtered = iterate(wanted).filter(
        (symbol) => compare(price(symbol), ">=", least) && compare(price(symbol), "<=", most),
      );
      return Dict.of({ filtered_stocks: filtered });
    },
    "add_to_watchlist(stock)": (state, stock) => {
      if (!contains(state.watch_list, stock) && contains(state.stocks, stock)) callMethod(state.watch_list, "append", stock);
      return Dict.of({ watchlist: state.watch_list });
    },
    "notify_price_change(stocks, threshold)": (state, wanted, threshold) => {
      const changed = iterate(wanted).filter(
        (symbol) =>
          contains(state.stocks, symbol) &&
          compare(absolute(getItem(getItem(state.stocks, symbol), "percent_change")), ">=", threshold),
      );
      return Dict.of({
        notification:
          changed.length > 0
            ? `Stocks ${joinTexts(", ", changed)} have significant price changes.`
            : "No significant price changes in the selected stocks.",
      });
    },
  },
);
