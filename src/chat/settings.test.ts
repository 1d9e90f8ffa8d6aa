import { expect, test } from "vitest";
import { callFormatNames } from "../actions/formats/registry.ts";
import { chatSettingsSchema } from "./settings.ts";

const refuses = (settings: object) => !chatSettingsSchema.safeParse(settings).success;

test("the use of a chat template is what it says of itself, unless a setting says otherwise", () => {
  expect(chatSettingsSchema.parse({})).toEqual({ thinking: "template", template: {} });
  for (const format of callFormatNames) expect(chatSettingsSchema.parse({ format }).format).toBe(format);
  for (const tools of ["template", "system", "none"] as const) expect(chatSettingsSchema.parse({ tools }).tools).toBe(tools);
  for (const thinking of ["template", "keep", "drop"] as const)
    expect(chatSettingsSchema.parse({ thinking }).thinking).toBe(thinking);
  const template = { a: "x", b: 1, c: true, d: null };
  expect(chatSettingsSchema.parse({ template }).template).toEqual(template);
});

test("other values and other settings are refused", () => {
  const wrong = [{ format: "none" }, { tools: "user" }, { thinking: "none" }, { template: { a: [] } }, { templates: {} }];
  expect(wrong.map(refuses)).toEqual(wrong.map(() => true));
});
