import { ConfigError } from "../../../src/core/errors.ts";

/** The wires that are spoken, and the schemes of their addresses. */
const schemes = {
  openenv: ["ws:", "wss:", "http:", "https:"],
  ors: ["http:", "https:"],
  verifiers: ["tcp:", "ipc:"],
  "nemo-gym": ["http:", "https:"],
} as const;

export type Wire = keyof typeof schemes;

/** Returns the address in an environment's name, without a slash at the end. @throws ConfigError naming the form that is expected */
export function parseRemoteName(name: string): string {
  const colon = name.indexOf(":");
  const wire = name.slice(0, colon) as Wire;
  const url = name.slice(colon + 1);
  const expected = `${wire}:${schemes[wire].map((scheme) => `${scheme}//HOST:PORT`).join(` or ${wire}:`)}`;
  let parsed: URL;
  try {
    parsed = new URL(url);
  } catch (cause) {
    throw new ConfigError("environment.name", name, { expected, cause });
  }
  const known: readonly string[] = schemes[wire];
  if (!known.includes(parsed.protocol)) throw new ConfigError("environment.name", name, { expected });
  if (parsed.username !== "" || parsed.password !== "")
    throw new ConfigError("environment.name", `${wire}:${parsed.protocol}//[hidden]@${parsed.host}`, {
      expected: "an address without a name and password: it is recorded with the run",
      hint: "Put the key into an environment variable and name it: environment.settings.keyVariable.",
    });
  return url.replace(/\/+$/, "");
}
