import "../../test/office.ts";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { testChat } from "../../test/fixtures/chats.ts";
import { ConfigError } from "../core/errors.ts";
import { defineEnvironment } from "../environments/define.ts";
import { createRun } from "../runs/write.ts";
import { resolveConfig } from "../training/config/config.ts";
import { trainedIn } from "../training/config/known-models.ts";
import { checkShownTools } from "../training/config/shown-tools.ts";
import { environmentOf, resolvePlayed, withRunEnvironment } from "./run-environment.ts";

const shop = (system = "You help.") =>
  defineEnvironment({
    name: "shop",
    system,
    tasks: { train: [{ prompt: "Where is Tea?" }] },
    start: () => ({
      tools: [{ name: "find_item", description: "Finds.", parameters: { type: "object" }, execute: () => "" }],
      reward: () => 0,
    }),
  });
function runIn(environment: Parameters<typeof resolveConfig>[0]): string {
  const folder = join(mkdtempSync(join(tmpdir(), "retrograde-world-")), "run");
  createRun(folder, resolveConfig(environment));
  return folder;
}
const calculator = runIn({
  environment: { name: "calculator", settings: { difficulty: "small" } },
  rollout: { maxTokens: 128 },
});

test("a run's model is measured where it was trained, with its settings, unless a flag changes one", () => {
  const played = resolvePlayed({ steps: 7 }, { model: calculator });
  expect(played.environment).toEqual({ name: "calculator", settings: { difficulty: "small" } });
  expect(played.rollout.maxTokens).toBe(128);
  expect(played.steps).toBe(7);
  expect(resolvePlayed({}, { model: calculator, rollout: { maxTokens: 64 } }).rollout.maxTokens).toBe(64);
});

test("the configuration that is asked for is the one that is measured: the run's settings are below it, and another world is refused", () => {
  const user = { environment: "office", rollout: { maxTurns: 3 } };
  expect(() => resolvePlayed(user, { model: calculator })).toThrow(
    /environment.name is "office"; expected "calculator".*--env calculator/,
  );
  const named = resolvePlayed(user, { model: calculator, environment: { name: "calculator" } });
  expect(named.environment).toEqual({ name: "calculator", settings: { difficulty: "small" } });
  expect(named.rollout).toMatchObject({ maxTokens: 128, maxTurns: 3 });
  const harder = { name: "calculator", settings: { difficulty: "large" } };
  expect(resolvePlayed({ environment: harder }, { model: calculator }).environment).toEqual(harder);
  expect(resolvePlayed({ environment: "calculator" }, { model: calculator }).environment.settings).toEqual({
    difficulty: "small",
  });
});

test("another environment than the run's is an error that says what to do", () => {
  const asked = { model: calculator, environment: "office" };
  for (const refused of [() => resolvePlayed({}, asked), () => withRunEnvironment({}, asked)]) {
    expect(refused).toThrow(ConfigError);
    expect(refused).toThrow(
      /environment.name is "office"; expected "calculator", in which .*run was trained.*--model .*run\/model/,
    );
  }
  expect(() => withRunEnvironment({ environment: shop(), model: calculator })).toThrow('environment.name is "shop"');
  expect(withRunEnvironment({ model: calculator }).environment).toEqual({
    name: "calculator",
    settings: { difficulty: "small" },
  });
});

test("the run of an own environment says that its configuration file is needed", () => {
  const own = runIn({ environment: shop(), model: "bundled:calculator" });
  const config = resolvePlayed({}, { model: own });
  expect(() => environmentOf(config, {})).toThrow(/expected the environment in which .* was trained.*add --config FILE/);
  expect(environmentOf(config, { environment: shop() }).name).toBe("shop");
  const wrong = { name: "office", settings: { difficulty: "none" } };
  expect(() => environmentOf({ ...config, environment: wrong }, {})).toThrow('difficulty is "none"');
  expect(trainedIn(own, "shop")).toBe(true);
  expect(trainedIn(join(own, "model"), "shop")).toBe(true);
  expect(trainedIn(own, "office")).toBe(false);
});

test("a template that hides the tools of an own environment is refused, unless the model was trained there or the prompt names them", async () => {
  const config = resolveConfig({ environment: shop(), model: "some/model" });
  await expect(checkShownTools(testChat("qwen25"), shop(), config)).resolves.toBeUndefined();
  await expect(checkShownTools(testChat("plain"), shop(), config)).rejects.toThrow(ConfigError);
  await expect(checkShownTools(testChat("plain"), shop(), config)).rejects.toThrow(
    'the chat template of some/model is "the same prompt with and without tools"; expected a prompt that shows the tools of "shop": find_item',
  );
  await expect(checkShownTools(testChat("plain"), shop("Tools: find_item(name)."), config)).resolves.toBeUndefined();
  const allowed = resolveConfig({ environment: shop(), model: "some/model", rollout: { hiddenTools: "allow" } });
  await expect(checkShownTools(testChat("plain"), shop(), allowed)).resolves.toBeUndefined();
  const trained = resolveConfig({ environment: shop(), model: runIn({ environment: shop(), model: "bundled:calculator" }) });
  await expect(checkShownTools(testChat("plain"), shop(), trained)).resolves.toMatch('it has learned them in "shop"');
  const taught = resolveConfig({ environment: shop(), model: "some/model", algorithm: "sft" });
  await expect(checkShownTools(testChat("plain"), shop(), taught)).resolves.toMatch("learns them from the demonstrations");
});
