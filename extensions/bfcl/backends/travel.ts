import { deepCopy } from "../../python/copy.ts";
import { parseDate } from "../../python/dates.ts";
import { callMethod } from "../../python/methods.ts";
import { add, divide, multiply, round, subtract, toFloat, toInt } from "../../python/numbers.ts";
import { compare, contains, equal, getItem, iterate, setItem, truth } from "../../python/operators.ts";
import type { PythonRandom } from "../../python/random.ts";
import { repr } from "../../python/text.ts";
import { Dict, hashKey, PyError, PySet, Tuple, type Value, valueError } from "../../python/values.ts";
import { configured, defineBackend, error, f, type Methods } from "./backend.ts";
import { seededBy } from "./seed.ts";
import { longDict, type Shared } from "./shared.ts";
import { airportOfCity, airports, exchangeRates, routes } from "./travel-tables.ts";

/** The flight whose cost was computed last. */
interface PricedFlight {
  readonly from: Value;
  readonly to: Value;
  readonly travelClass: Value;
  readonly date: Value;
  readonly multiplier: number;
}

interface TravelState {
  _priced: PricedFlight | undefined;
  _random: PythonRandom;
  credit_card_list: Value;
  booking_record: Value;
  access_token: Value;
  token_type: Value;
  token_expires_in: Value;
  token_scope: Value;
  user_first_name: Value;
  user_last_name: Value;
  budget_limit: Value;
  long_context: Value;
}

const costOfRoute = new Map(routes.map(({ from, to, cost }) => [`${from}|${to}`, cost]));
const cities = Dict.of(airportOfCity);
const classes = new PySet(["economy", "business", "first"]);

/** Why a token is not accepted. Undefined if it is; a token that was never set counts as one that has not expired. */
function refusal(state: TravelState, token: Value): string | undefined {
  if (equal(state.token_expires_in, 0n)) return "Token expired";
  return equal(token, state.access_token) ? undefined : "Invalid access token";
}

/** Does something for the holder of a valid token. @param status the entry that a refusal begins with, such as "booking_status" */
function authorised(state: TravelState, token: Value, status: string | undefined, act: () => Value): Value {
  const reason = refusal(state, token);
  return reason === undefined ? act() : failure(status, reason);
}

function failure(status: string | undefined, reason: string): Dict {
  return status === undefined ? error(reason) : Dict.of({ [status]: false, error: reason });
}

function factorOf(travelClass: Value): number {
  if (equal(travelClass, "economy")) return 1;
  if (equal(travelClass, "business")) return 2;
  if (equal(travelClass, "first")) return 5;
  throw valueError("Invalid travel class. Options are: economy, business, first.");
}

/** Computes a flight's cost, and remembers it: in long_context that of all routes. */
function flightCosts(state: TravelState, from: Value, to: Value, date: Value, travelClass: Value): number[] {
  const base = baseCost(from, to);
  const factor = factorOf(travelClass);
  const multiplier = factor * (digitSumIsEven(date) ? 2 : 1);
  state._priced = { from, to, travelClass, date, multiplier };
  return truth(state.long_context) ? routes.map(({ cost }) => cost * multiplier) : [base * multiplier];
}

function digitSumIsEven(date: Value): boolean {
  if (typeof date !== "string" || !/^[\x20-\x7e]*$/.test(date)) {
    const digits = iterate(date).filter((character) => truth(callMethod(character, "isdigit")));
    return digits.reduce<bigint>((sum, digit) => sum + toInt(digit), 0n) % 2n === 0n;
  }
  let odd = 0;
  for (let i = 0; i < date.length; i++) {
    const code = date.charCodeAt(i);
    // The code of a digit is odd where the digit is.
    if (code >= 48 && code <= 57) odd ^= code & 1;
  }
  return odd === 0;
}

function baseCost(from: Value, to: Value): number {
  hashKey(new Tuple([from, to]));
  const base = typeof from === "string" && typeof to === "string" ? costOfRoute.get(`${from}|${to}`) : undefined;
  if (base === undefined) throw valueError("No available route for the given airports.");
  return base;
}

/** The original's table of costs, of which only the last flight's is ever read. */
function costLookup({ _priced, long_context }: TravelState): Dict {
  if (_priced === undefined) return new Dict();
  const { from, to, travelClass, date, multiplier } = _priced;
  const known = truth(long_context) ? routes : [{ from, to, cost: baseCost(from, to) }];
  return Dict.from(
    known.map((route) => [f`${route.from}|${route.to}|${travelClass}|${date}`, Dict.of({ cost: route.cost * multiplier })]),
  );
}

function balanceOf({ credit_card_list }: TravelState, card: Value): Value {
  return getItem(getItem(credit_card_list, card), "balance");
}

function setBalance({ credit_card_list }: TravelState, card: Value, balance: Value): void {
  setItem(getItem(credit_card_list, card), "balance", balance);
}

/** Only a text equals one of the codes. */
function isAirport(code: Value): boolean {
  return typeof code === "string" && airports.includes(code);
}

/** Why a flight cannot be booked, apart from its cost. */
function bookingProblem(
  state: TravelState,
  card: Value,
  date: Value,
  from: Value,
  to: Value,
  travelClass: Value,
): string | undefined {
  if (!contains(state.credit_card_list, card)) return "Card not registered";
  if (!contains(getItem(state.credit_card_list, card), "balance")) return "Balance not found";
  if (!isAirport(from)) return f`Invalid departure airport code: ${from}`;
  if (!isAirport(to)) return f`Invalid destination airport code: ${to}`;
  try {
    parseDate(date, "%Y-%m-%d");
  } catch (problem) {
    if (problem instanceof PyError && problem.kind === "ValueError") return "Invalid date format. Use YYYY-MM-DD.";
    throw problem;
  }
  return contains(classes, travelClass) ? undefined : `Invalid travel class. Must be one of ${repr(classes)}`;
}

function bookFlight(state: TravelState, card: Value, date: Value, from: Value, to: Value, travelClass: Value): Value {
  const fail = (reason: string) => failure("booking_status", reason);
  const problem = bookingProblem(state, card, date, from, to, travelClass);
  if (problem !== undefined) return fail(problem);
  let cost: number;
  try {
    flightCosts(state, from, to, date, travelClass);
    cost = baseCost(from, to) * (state._priced?.multiplier ?? 1);
  } catch (reason) {
    if (reason instanceof PyError && reason.kind === "ValueError") return fail(reason.message);
    throw reason;
  }
  if (compare(balanceOf(state, card), "<", cost)) return fail("Insufficient funds");
  if (state.budget_limit !== null && compare(balanceOf(state, card), "<", state.budget_limit))
    return fail("Balance is less than budget limit");
  setBalance(state, card, subtract(balanceOf(state, card), cost, "-="));
  const booking = state._random.randint(1000000, 9999999).toString();
  const transaction = state._random.randint(10000000, 99999999).toString();
  const record = Dict.of({
    card_id: card,
    travel_date: date,
    travel_from: from,
    travel_to: to,
    travel_class: travelClass,
    travel_cost: cost,
    transaction_id: transaction,
  });
  setItem(state.booking_record, booking, record);
  const history = truth(state.long_context) ? state.booking_record : new Dict();
  return Dict.of({ booking_id: booking, transaction_id: transaction, booking_status: true, booking_history: history });
}

/** Adds entries of the long_context category that are not there. The entries themselves are shared. */
function extend(target: Value, extension: Dict): void {
  for (const [key, value] of extension.pairs()) if (!contains(target, key)) setItem(target, key, value);
}

function load(config: Dict, longContext: boolean, shared: Shared): TravelState {
  const state: TravelState = {
    _priced: undefined,
    _random: seededBy(config, 141053n),
    credit_card_list: configured(config, "credit_card_list", new Dict()),
    booking_record: configured(config, "booking_record", new Dict()),
    access_token: configured(config, "access_token", null),
    token_type: configured(config, "token_type", null),
    token_expires_in: configured(config, "token_expires_in", null),
    token_scope: configured(config, "token_scope", null),
    user_first_name: configured(config, "user_first_name", null),
    user_last_name: configured(config, "user_last_name", null),
    budget_limit: configured(config, "budget_limit", null),
    long_context: longContext,
  };
  if (longContext) {
    extend(state.credit_card_list, longDict(shared, "CREDIT_CARD_EXTENSION"));
    extend(state.booking_record, longDict(shared, "BOOKING_RECORD_EXTENSION"));
  }
  return state;
}

/** The age in whole years of somebody born on a date. @throws PyError ValueError if it is none */
function ageOf(birth: Value): number {
  const { year, month, day } = parseDate(birth, "%Y-%m-%d");
  const today = new Date();
  const before = today.getMonth() + 1 < month || (today.getMonth() + 1 === month && today.getDate() < day);
  return today.getFullYear() - year - (before ? 1 : 0);
}

function verify(state: TravelState, first: Value, last: Value, birth: Value, passport: Value): Value {
  const fail = (reason: string) => Dict.of({ verification_status: false, verification_failure: reason });
  if (!equal(state.user_first_name, first) || !equal(state.user_last_name, last))
    return fail(
      `Cannot book flight information for another user.${f`Expected ${state.user_first_name} ${state.user_last_name}, got ${first} ${last}`}`,
    );
  let age: number;
  try {
    age = ageOf(birth);
  } catch (problem) {
    if (problem instanceof PyError && problem.kind === "ValueError")
      return fail("Invalid date of birth format. Please use YYYY-MM-DD.");
    throw problem;
  }
  if (age < 18) return fail("Traveler must be at least 18 years old.");
  if (!truth(callMethod(passport, "startswith", "US"))) return fail("Passport must be issued by the United States.");
  return Dict.of({ verification_status: true });
}

const tools: Methods<TravelState> = {
  "authenticate_travel(client_id, client_secret, refresh_token, grant_type, user_first_name, user_last_name)": (
    state,
    _id,
    _secret,
    _refresh,
    grant,
    first,
    last,
  ) => {
    state.token_expires_in = 2n;
    state.access_token = state._random.randint(100000, 999999).toString();
    state.token_type = "Bearer";
    state.token_scope = grant;
    state.user_first_name = first;
    state.user_last_name = last;
    return Dict.of({ expires_in: 2n, access_token: state.access_token, token_type: "Bearer", scope: grant });
  },
  "travel_get_login_status()": ({ token_expires_in }) =>
    Dict.of({ status: token_expires_in !== null && !equal(token_expires_in, 0n) }),
  "get_budget_fiscal_year(lastModifiedAfter=None, includeRemoved=None)": () => Dict.of({ budget_fiscal_year: "2018" }),
  "register_credit_card(access_token, card_number, expiration_date, cardholder_name, card_verification_number)": (
    state,
    token,
    number,
    expires,
    holder,
    verification,
  ) => {
    if (state.token_expires_in === null) return error("Token not initialized");
    return authorised(state, token, undefined, () => {
      if (contains(state.credit_card_list, number)) return error("Card already registered");
      const id = state._random.randint(100000000000, 999999999999).toString();
      const card = Dict.of({
        card_number: number,
        expiration_date: expires,
        cardholder_name: holder,
        card_verification_number: verification,
        balance: state._random.randint(10000, 99999),
      });
      setItem(state.credit_card_list, id, card);
      return Dict.of({ card_id: id });
    });
  },
  "get_flight_cost(travel_from, travel_to, travel_date, travel_class)": (state, from, to, date, travelClass) =>
    Dict.of({ travel_cost_list: flightCosts(state, from, to, date, travelClass) }),
  "get_credit_card_balance(access_token, card_id)": (state, token, card) =>
    authorised(state, token, undefined, () => {
      if (contains(state.credit_card_list, card)) return Dict.of({ card_balance: balanceOf(state, card) });
      const ids = [...iterate(callMethod(state.credit_card_list, "keys"))];
      return error(`Card not registered. Here are a list of card_id's: ${repr(ids)}`);
    }),
  "book_flight(access_token, card_id, travel_date, travel_from, travel_to, travel_class)": (
    state,
    token,
    card,
    date,
    from,
    to,
    travelClass,
  ) => authorised(state, token, "booking_status", () => bookFlight(state, card, date, from, to, travelClass)),
  "retrieve_invoice(access_token, booking_id=None, insurance_id=None)": (state, token, booking) =>
    authorised(state, token, undefined, () => {
      if (!contains(state.booking_record, booking)) return error("Booking not found");
      const record = getItem(state.booking_record, booking);
      const parts = ["travel_date", "travel_from", "travel_to", "travel_class", "travel_cost", "transaction_id"];
      const invoice = Dict.from([["booking_id", booking], ...parts.map((part) => [part, getItem(record, part)] as const)]);
      return Dict.of({ invoice });
    }),
  "get_booking_history(access_token)": (state, token) =>
    authorised(state, token, undefined, () => Dict.of({ booking_history: deepCopy(state.booking_record) })),
  "list_all_airports()": () => [...airports],
  "cancel_booking(access_token, booking_id)": (state, token, booking) =>
    authorised(state, token, "cancel_status", () => {
      if (!contains(state.booking_record, booking)) return failure("cancel_status", "Booking not found");
      const record = getItem(state.booking_record, booking);
      const card = getItem(record, "card_id");
      const cost = getItem(record, "travel_cost");
      setBalance(state, card, add(balanceOf(state, card), cost, "+="));
      callMethod(state.booking_record, "pop", booking);
      return Dict.of({ cancel_status: true });
    }),
  "compute_exchange_rate(base_currency, target_currency, value)": (_, base, target, value) => {
    for (const [first, second, rate] of exchangeRates) {
      if (equal(base, first) && equal(target, second)) return Dict.of({ exchanged_value: toFloat(multiply(value, rate)) });
      if (equal(base, second) && equal(target, first)) return Dict.of({ exchanged_value: round(divide(value, rate), 2n) });
    }
    throw valueError("No available exchange rate for the given currencies.");
  },
  "verify_traveler_information(first_name, last_name, date_of_birth, passport_number)": verify,
  "set_budget_limit(access_token, budget_limit)": (state, token, limit) =>
    authorised(state, token, undefined, () => {
      state.budget_limit = toFloat(limit);
      return Dict.of({ budget_limit: state.budget_limit });
    }),
  "get_nearest_airport_by_city(location)": (_, location) => Dict.of({ nearest_airport: cities.get(location) ?? "Unknown" }),
  "purchase_insurance(access_token, insurance_type, booking_id, insurance_cost, card_id)": (
    state,
    token,
    _type,
    booking,
    cost,
    card,
  ) =>
    authorised(state, token, "insurance_status", () => {
      const fail = (reason: string) => failure("insurance_status", reason);
      if (state.budget_limit !== null && compare(state.budget_limit, "<", cost)) return fail("Exceeded budget limit");
      if (!contains(state.booking_record, booking)) return fail("Booking not found");
      if (!contains(state.credit_card_list, card)) return fail("Credit card not registered");
      setBalance(state, card, subtract(balanceOf(state, card), cost, "-="));
      const id = state._random.randint(100000000, 999999999).toString();
      return Dict.of({ insurance_id: id, insurance_status: true });
    }),
  "contact_customer_support(booking_id, message)": (state, booking) =>
    contains(state.booking_record, booking)
      ? Dict.of({
          customer_support_message:
            "Thank you for contacting customer support. Your message has been received and we will get back to you shortly.",
        })
      : error("Booking not found"),
  "get_all_credit_cards()": ({ credit_card_list }) => Dict.of({ credit_card_list }),
};

export const travelBackend = defineBackend<TravelState>("TravelAPI", load, tools, (state) => [
  ["_flight_cost_lookup", costLookup(state)],
]);
