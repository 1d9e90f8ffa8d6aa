import { expect, test } from "vitest";
import { ConfigError } from "./errors.ts";
import { requirePackage, withPackage } from "./optional-package.ts";

test("an absent package is named with the command that installs it; another error stays what it is", async () => {
  const absent = () => {
    throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
  };
  expect(() => requirePackage("left-pad", "long lines", absent)).toThrow(ConfigError);
  expect(() => requirePackage("left-pad", "long lines", absent)).toThrow("long lines need it. npm install left-pad.");
  await expect(withPackage("left-pad", "long lines", async () => absent())).rejects.toThrow("npm install left-pad");
  const broken = () => {
    throw new RangeError("broken");
  };
  expect(() => requirePackage("left-pad", "long lines", broken)).toThrow(RangeError);
});
