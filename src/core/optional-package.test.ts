import { expect, test } from "vitest";
import { ConfigError } from "./errors.ts";
import { withPackage } from "./optional-package.ts";

test("an absent package is named with the command that installs it; another error stays what it is", async () => {
  const absent = () => {
    throw Object.assign(new Error("Cannot find module"), { code: "MODULE_NOT_FOUND" });
  };
  const load = withPackage("left-pad", "long lines", async () => absent());
  await expect(load).rejects.toThrow(ConfigError);
  await expect(load).rejects.toThrow("long lines need it. npm install left-pad.");
  const broken = () => {
    throw new RangeError("broken");
  };
  await expect(withPackage("left-pad", "long lines", async () => broken())).rejects.toThrow(RangeError);
});
