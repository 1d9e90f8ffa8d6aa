import { expectTypeOf, test } from "vitest";
import { z } from "zod";
import * as algorithms from "../entries/algorithms.ts";
import * as engine from "../entries/engine.ts";
import * as retrograde from "../entries/index.ts";
import { defineConfig, type UserConfig } from "../entries/index.ts";

// The compiler checks these: `npm run typecheck` fails where what is inferred changes.

test("defineTool infers the arguments from the schema", () => {
  retrograde.defineTool({
    name: "add",
    description: "Adds",
    parameters: z.object({ a: z.number(), note: z.string().optional() }),
    execute: (args, context) => {
      expectTypeOf(args).toEqualTypeOf<{ a: number; note?: string | undefined }>();
      expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
      return args.a;
    },
  });
});

test("defineEnvironment infers the task from the list of tasks, and from the function that makes one up", () => {
  const listed = retrograde.defineEnvironment({
    name: "listed",
    tasks: { train: [{ prompt: "2 + 2?", sum: 4 }] },
    start: (task) => {
      expectTypeOf(task.sum).toEqualTypeOf<number>();
      return { tools: [], reward: ({ answer }) => Number(answer === String(task.sum)) };
    },
  });
  expectTypeOf<Awaited<ReturnType<typeof listed.task>>>().toHaveProperty("request");
  retrograde.defineEnvironment({
    name: "drawn",
    tasks: (random) => ({ prompt: "?", answer: random.integer(3) }),
    start: ({ answer }) => {
      expectTypeOf(answer).toEqualTypeOf<number>();
      return { tools: [], reward: () => 0 };
    },
  });
});

test("defineConfig takes shorthands, refuses unknown settings, and kinds keep their own settings", () => {
  expectTypeOf(defineConfig({ algorithm: "grpo", engine: { threads: 1 } })).toEqualTypeOf<UserConfig>();
  // @ts-expect-error: a misspelt setting
  defineConfig({ algorithm: "grpo", step: 3 });
  // @ts-expect-error: SeeUPO has no mini-batches
  defineConfig({ algorithm: { kind: "seeupo", miniBatches: 2 } });
  // @ts-expect-error: no such engine
  defineConfig({ engine: { kind: "remote" } });
});

test("sub-paths export what their pages promise", () => {
  expectTypeOf(engine.createLocalEngine).returns.resolves.toExtend<engine.Engine>();
  expectTypeOf(engine.enginePolicy).returns.toEqualTypeOf<algorithms.Policy>();
  expectTypeOf(algorithms.runUpdate).parameter(1).toEqualTypeOf<readonly algorithms.Group[]>();
  expectTypeOf(algorithms.resolveAlgorithm).returns.toEqualTypeOf<algorithms.AlgorithmConfig>();
  expectTypeOf(retrograde.createEnvironment).returns.toEqualTypeOf<retrograde.Environment>();
});
