import "../../test/office.ts";
import { expect, test } from "vitest";
import { ConfigError } from "../core/errors.ts";
import { resolveConfig } from "../training/config/config.ts";
import { findPlayer } from "./player.ts";

const noDownload = () => expect.unreachable("an endpoint has no files");
const find = (player: object, env: Readonly<Record<string, string>> = {}, model = "wise") =>
  findPlayer(
    resolveConfig({ model, evaluation: { player: { baseUrl: "https://api.openai.com/v1", ...player } } }),
    env,
    noDownload,
  );

test("an endpoint plays under its own name of the model, and is identified without its key", async () => {
  const { name, identity } = await find({ model: "wiser" }, { OPENAI_API_KEY: " secret " });
  expect(name).toBe("wiser at https://api.openai.com/v1");
  expect(identity).toMatchObject({ model: "wiser", endpoint: { baseUrl: "https://api.openai.com/v1" } });
  expect(JSON.stringify(identity)).not.toContain("secret");
  expect((await find({}, { OPENAI_API_KEY: "secret" })).name).toBe("wise at https://api.openai.com/v1");
});

test("OpenAI's key is asked for at OpenAI alone, and one that is named everywhere", async () => {
  const missing = (variable: string) => new RegExp(`environment variable ${variable} is missing.*the API key of https`);
  await expect(find({})).rejects.toThrow(missing("OPENAI_API_KEY"));
  await expect(find({}, { OPENAI_API_KEY: "  " })).rejects.toThrow(missing("OPENAI_API_KEY"));
  await find({ apiKeyEnv: null });
  await find({ baseUrl: "https://api.openai.com.example/v1" });
  await find({ apiKeyEnv: "MY_KEY" }, { MY_KEY: "secret" });
  const elsewhere = { baseUrl: "https://models.example/v1", apiKeyEnv: "MY_KEY" };
  await expect(find(elsewhere, { OPENAI_API_KEY: "secret" })).rejects.toThrow(missing("MY_KEY"));
});

test("an endpoint without a model's name is refused", async () => {
  const unnamed = find({}, { OPENAI_API_KEY: "secret" }, "default");
  await expect(unnamed).rejects.toThrow(ConfigError);
  await expect(unnamed).rejects.toThrow(/evaluation\.player\.model .*the name of a model at https:\/\/api\.openai\.com/);
});
