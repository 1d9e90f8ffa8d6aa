import { EnvError } from "../../src/core/errors.ts";
import { space } from "../python/characters.ts";
import { copyTree } from "../python/copy.ts";
import { evaluate, type Names } from "../python/evaluate.ts";
import type { Node } from "../python/nodes.ts";
import { parseExpression } from "../python/syntax.ts";
import { jsonText, str } from "../python/text.ts";
import { Dict, PyError, type Value } from "../python/values.ts";
import { Instance } from "./backends/backend.ts";
import { backends } from "./backends/backends.ts";
import { freshShared, type Shared } from "./backends/shared.ts";
import { copyState } from "./copy-state.ts";

/** The data that the instances of a session begin with. */
export interface SessionStart {
  readonly taskId: string;
  readonly involvedClasses: readonly string[];
  /** The state of each class by its name, as read from JSON. It is copied. */
  readonly initialConfig: Dict;
  readonly longContext: boolean;
  /** Part of the instances' names, which a model sees where its text arguments hold a tool's name and "(". Default "oracle". */
  readonly modelName?: string;
  /** The objects that several sessions of one evaluation have in common. Default fresh objects. */
  readonly shared?: Shared;
}

/**
 * The instances of one task, on which calls are executed from their text.
 * @throws EnvError if a class does not exist
 */
export class Session {
  readonly instances: ReadonlyMap<string, Instance>;
  private readonly start: SessionStart;
  private readonly shared: Shared;
  private named: { readonly nameOf: ReadonlyMap<string, string>; readonly byName: ReadonlyMap<string, Instance> } | undefined;

  constructor(start: SessionStart, instances?: ReadonlyMap<string, Instance>) {
    this.start = start;
    this.shared = start.shared ?? freshShared();
    this.instances = instances ?? createInstances(start, this.shared);
  }

  /** Executes calls one after the other. An error is a result, and the next calls still run. */
  execute(calls: readonly string[]): string[] {
    return calls.map((call) => this.executeOne(call));
  }

  private executeOne(call: string): string {
    try {
      return resultText(evaluate(this.parsed(call), this.names));
    } catch (error) {
      return `Error during execution: ${pythonError(error).message}`;
    }
  }

  /** The expression of a call, with instances before the methods' names. @throws PyError if it is none, or forbidden */
  private parsed(call: string): Node {
    const expression = this.withInstances(call);
    refuseForbidden(expression);
    return parseExpression(expression);
  }

  /** Puts the instance before each method's name, and drops white space before brackets, as the original does. */
  private withInstances(call: string): string {
    const { nameOf } = this.instanceNames;
    return call.replace(ascii.test(call) ? asciiNameBeforeBracket : nameBeforeBracket, (_, name: string) => {
      const owner = classOfMethod.get(name);
      const instance = owner === undefined ? undefined : nameOf.get(owner);
      return instance === undefined ? name : `${instance}.${name}`;
    });
  }

  private readonly names: Names = (name) => this.instanceNames.byName.get(name);

  /** The names of the instances in expressions, by class, and the instances by them. */
  private get instanceNames() {
    if (this.named !== undefined) return this.named;
    const { modelName, taskId } = this.start;
    const nameOf = new Map(
      [...this.instances.keys()].map((className) => [
        className,
        `${modelName ?? "oracle"}_${taskId}_${className}_instance`.replace(/[-./:]/g, "_"),
      ]),
    );
    const byName = new Map([...this.instances].map(([className, instance]) => [nameOf.get(className) ?? "", instance]));
    return (this.named = { nameOf, byName });
  }

  /** An independent copy in the same state. */
  clone(): Session {
    const memo = new Map<object, object>();
    const shared = copyState(this.shared, memo);
    const copies = new Map(
      [...this.instances].map(([name, { backend, state }]) => [name, new Instance(backend, copyState(state, memo))]),
    );
    return new Session({ ...this.start, shared }, copies);
  }
}

function createInstances({ involvedClasses, initialConfig, longContext }: SessionStart, shared: Shared): Map<string, Instance> {
  const instances = new Map<string, Instance>();
  for (const name of involvedClasses) {
    const backend = backends.get(name);
    if (backend === undefined) throw new EnvError("BFCL class", name, { expected: [...backends.keys()] });
    const config = copyTree(initialConfig.get(name) ?? new Dict());
    if (!(config instanceof Dict)) throw new EnvError(`initial_config.${name}`, str(config), { expected: "an object" });
    try {
      instances.set(name, new Instance(backend, backend.load(config, longContext, shared)));
    } catch (cause) {
      throw new EnvError(`initial_config.${name}`, str(config).slice(0, 200), {
        expected: "a state that the class can begin with",
        hint: `Python's own error would be: ${pythonError(cause).message}`,
        cause,
      });
    }
  }
  return instances;
}

/** A name before "(", anywhere in a text, string literals included: Unicode letters, digits and white space as Python's `re` has them. */
const nameBeforeBracket = new RegExp(`(?<![\\p{L}\\p{N}_])([a-zA-Z_][\\p{L}\\p{N}_]*)[${space}]*(?=\\()`, "gu");

/** The same for ASCII, which is faster. */
const asciiNameBeforeBracket = /\b([a-zA-Z_]\w*)\s*(?=\()/g;
/** No white space but that which JavaScript and Python agree on. */
const ascii = /^[\t-\r\x20-\x7e]*$/;

/** The class of each method: no name is in two of them. */
const classOfMethod = new Map(
  [...backends].flatMap(([name, { methods }]) => [...methods.keys()].map((method) => [method, name])),
);

const forbidden = new Set(["kill", "exit", "quit", "remove", "unlink", "popen", "Popen", "run"]);

function refuseForbidden(expression: string): void {
  const bracket = expression.indexOf("(");
  const head = bracket < 0 ? expression : expression.slice(0, bracket);
  const name = head.split(".")[1] ?? head;
  if (forbidden.has(name)) throw new PyError("Exception", `Function call ${name} is not allowed.`);
}

/** The text that a model reads: a text as it is, a dict as JSON if it can be, anything else as Python prints it. */
function resultText(value: Value): string {
  if (!(value instanceof Dict)) return str(value);
  try {
    return jsonText(value);
  } catch (error) {
    pythonError(error);
    return str(value);
  }
}

/** Limits of this machine as Python's own. @throws what is neither: a mistake in this code */
function pythonError(error: unknown): PyError {
  if (error instanceof PyError) return error;
  if (error instanceof RangeError)
    return error.message.includes("call stack")
      ? new PyError("RecursionError", "maximum recursion depth exceeded")
      : new PyError("MemoryError", "");
  // A list that all tasks share is frozen: the original's would change for all that follow.
  if (error instanceof TypeError && /not extensible|read only/.test(error.message))
    return new PyError("TypeError", "a constant list");
  throw error;
}
