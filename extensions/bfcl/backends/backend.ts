import { present } from "../../../src/core/present.ts";
import { evaluate } from "../../python/evaluate.ts";
import { bind, type Signature } from "../../python/functions.ts";
import { callMethod } from "../../python/methods.ts";
import { Printed } from "../../python/objects.ts";
import { iterate } from "../../python/operators.ts";
import { parseExpression } from "../../python/syntax.ts";
import { str } from "../../python/text.ts";
import { Dict, PyObject, type Value } from "../../python/values.ts";
import type { Shared } from "./shared.ts";

/** The attributes of a backend's instance. Those whose name begins with "_" are private: no state check compares them. */
export type State = object;

/** Written as a method, so that a backend of one kind of state fits where any is expected: an instance keeps both together. */
type Method<S> = { of(state: S, ...args: Value[]): Value }["of"];

/** Methods by their signatures in Python's notation, such as "tail(file_name, lines=10)". */
export type Methods<S> = Readonly<Record<string, Method<S>>>;

/** A stateful backend: the tools of one class, and how its instances begin. */
export interface Backend<S extends State = State> {
  /** The class's name in the tasks. */
  readonly name: string;
  /** @param config the task's initial configuration of this class, which becomes part of the state */
  load(config: Dict, longContext: boolean, shared: Shared): S;
  /** Lists the private attributes as files of states show them. */
  privateAttributes(state: S): readonly (readonly [string, Value])[];
  /** The tools by name. */
  readonly methods: ReadonlyMap<string, { readonly signature: Signature; readonly body: Method<S> }>;
}

/** A default that the method chooses itself: written `=?` in a signature. */
export const unset = new Printed("unset", "unset");

/** Defines a backend. */
export function defineBackend<S extends State>(
  name: string,
  load: (config: Dict, longContext: boolean, shared: Shared) => S,
  methods: Methods<S>,
  privateAttributes: Backend<S>["privateAttributes"] = attributesWithUnderscore,
): Backend<S> {
  const entries = Object.entries(methods).map(([text, body]) => {
    const signature = parseSignature(name, text);
    return [signature.name.slice(name.length + 1), { signature, body }] as const;
  });
  return { name, load, privateAttributes, methods: new Map(entries) };
}

function attributesWithUnderscore(state: State): [string, Value][] {
  return Object.entries(state as Readonly<Record<string, Value>>).filter(
    ([name]) => name.startsWith("_") && name !== "_random" && name !== "_shared",
  );
}

function parseSignature(owner: string, text: string): Signature {
  const [, name, list] = /^(\w+)\((.*)\)$/.exec(text) ?? [];
  const parameters = present(list, "the list of parameters")
    .split(/, (?=\w+(?:=|,|$))/)
    .filter((part) => part !== "")
    .map((part) => {
      const [parameter = "", literal] = part.split("=");
      if (literal === undefined) return { name: parameter };
      const value = literal === "?" ? unset : evaluate(parseExpression(literal), () => undefined);
      return { name: parameter, default: () => value };
    });
  return { name: `${owner}.${name}`, parameters, method: true };
}

/** An instance of a backend as the executor sees it: an object whose methods are the tools. */
export class Instance extends PyObject {
  readonly typeName: string;
  readonly backend: Backend;
  readonly state: State;

  constructor(backend: Backend, state: State) {
    super();
    this.typeName = backend.name;
    this.backend = backend;
    this.state = state;
  }

  repr(): string {
    return `<${this.typeName} object>`;
  }

  /** Calls a tool. @throws PyError if the arguments do not fit, or the tool fails */
  callTool(name: string, positional: readonly Value[], keywords: Iterable<readonly [string, Value]>): Value {
    const method = this.backend.methods.get(name);
    if (method === undefined) throw new Error(`${name} is no method of ${this.typeName}`);
    return method.body(this.state, ...bind(method.signature, positional, keywords));
  }

  override attribute(name: string): Value | undefined {
    if (this.backend.methods.has(name)) return new BoundMethod(this, name);
    const attributes = this.state as Readonly<Record<string, Value>>;
    return Object.hasOwn(attributes, name) && !name.startsWith("_") ? attributes[name] : undefined;
  }
}

/** The original's modules, by class: part of some error sentences, and the names of the files of documents. */
export const moduleOfClass: Readonly<Record<string, string>> = {
  GorillaFileSystem: "gorilla_file_system",
  MathAPI: "math_api",
  MessageAPI: "message_api",
  TwitterAPI: "posting_api",
  TicketAPI: "ticket_api",
  TradingBot: "trading_bot",
  TravelAPI: "travel_booking",
  VehicleControlAPI: "vehicle_control",
};

class BoundMethod extends PyObject {
  readonly typeName = "method";
  private readonly instance: Instance;
  private readonly name: string;

  constructor(instance: Instance, name: string) {
    super();
    this.instance = instance;
    this.name = name;
  }

  get qualifiedName(): string {
    const { typeName } = this.instance;
    return `bfcl_eval.eval_checker.multi_turn_eval.func_source_code.${moduleOfClass[typeName]}.${typeName}.${this.name}`;
  }

  repr(): string {
    return `<bound method ${this.qualifiedName} of ${this.instance.repr()}>`;
  }

  override call(positional: Value[], keywords: Map<string, Value>): Value {
    return this.instance.callTool(this.name, positional, keywords);
  }
}

/** `{"error": message}`, the way in which most tools fail. */
export function error(message: string): Dict {
  return Dict.of({ error: message });
}

/** The pairs that `items()` of a Python value has. */
export function itemsOf(value: Value): readonly (readonly [Value, Value])[] {
  if (value instanceof Dict) return value.pairs();
  return iterate(callMethod(value, "items")).map((pair) => {
    const [key, item] = iterate(pair);
    return [present(key, "the key of an item"), present(item, "the value of an item")];
  });
}

/** A template whose values are written as Python's f-strings write them. */
export function f(texts: TemplateStringsArray, ...values: Value[]): string {
  return String.raw({ raw: texts }, ...values.map((value) => str(value)));
}

/** The value of a configuration, or a default. */
export function configured(config: Dict, name: string, fallback: Value): Value {
  const value = config.get(name);
  return value === undefined ? fallback : value;
}
